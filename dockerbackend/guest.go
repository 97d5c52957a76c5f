package dockerbackend

import (
	"context"
	"io"
	"time"

	"github.com/mcp-sandbox/mcp-sandbox/guest/client"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
	"github.com/mcp-sandbox/mcp-sandbox/manager"
	"github.com/mcp-sandbox/mcp-sandbox/schemas"
)

// guest is a [manager.Guest]: the channel's client in the manager's words.
type guest struct {
	container string // under Backend.mu: Adopt renames it
	client    *client.Client
	watch     *watch
}

var _ manager.Guest = (*guest)(nil)

func (b *Backend) newGuest(name string, c *client.Client) *guest {
	g := &guest{container: name, client: c}
	g.watch = &watch{
		hello:   func(ctx context.Context) error { _, err := c.Hello(ctx); return err },
		inspect: func(ctx context.Context) error { return b.checkAlive(ctx, b.nameOf(g)) },
		lost:    func() { c.Close() },
	}
	b.mu.Lock()
	b.guests[g] = struct{}{}
	b.mu.Unlock()
	go func() {
		<-c.Done()
		b.mu.Lock()
		delete(b.guests, g)
		b.mu.Unlock()
	}()
	return g
}

func (b *Backend) nameOf(g *guest) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return g.container
}

// closeGuests ends this server's connections to a container. Docker passes the
// guest's output to all that are attached, and what any of them writes to the
// guest: two at a time would garble each other's sessions.
func (b *Backend) closeGuests(container string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for g := range b.guests {
		if g.container == container {
			go g.client.Close()
			<-g.client.Done()
		}
	}
}

func (g *guest) Exec(ctx context.Context, c manager.Command, emit func(schemas.Stream, []byte) error) (manager.Exit, error) {
	ctx, end := g.watch.begin(ctx)
	defer end()
	if c.Background != nil {
		return g.start(ctx, c, emit)
	}
	result, err := g.client.Exec(ctx, execParams(c), c.Stdin, emitter(emit))
	return exitOf(result), guestError(err)
}

func execParams(c manager.Command) protocol.ExecParams {
	return protocol.ExecParams{
		Argv: c.Argv, Dir: []byte(c.Dir), Env: c.Env, HasStdin: c.Stdin != nil,
		Timeout: c.Timeout, MaxStdout: c.MaxStdout, MaxStderr: c.MaxStderr,
	}
}

func exitOf(r protocol.ExecResult) manager.Exit {
	return manager.Exit{
		Running: r.Running, Code: r.ExitCode, Signal: r.Signal, TimedOut: r.TimedOut, OOMKilled: r.OOMKilled,
		StdoutBytes: r.StdoutBytes, StderrBytes: r.StderrBytes, Duration: r.Duration,
	}
}

func emitter(emit func(schemas.Stream, []byte) error) func(protocol.Stream, []byte) error {
	return func(s protocol.Stream, chunk []byte) error { return emit(streamOf(s), chunk) }
}

func streamOf(s protocol.Stream) schemas.Stream {
	if s == protocol.Stderr {
		return schemas.Stderr
	}
	return schemas.Stdout
}

func (g *guest) Read(ctx context.Context, path string, offset, length int64) (manager.File, io.ReadCloser, error) {
	ctx, end := g.watch.begin(ctx)
	info, content, err := g.client.Read(ctx, protocol.ReadParams{Path: []byte(path), Offset: offset, Length: length})
	if err != nil {
		end()
		return manager.File{}, nil, guestError(err)
	}
	return fileOf(info), &reading{content, end}, nil
}

func (g *guest) Write(ctx context.Context, path string, o manager.WriteOptions, content io.Reader) (manager.File, error) {
	ctx, end := g.watch.begin(ctx)
	defer end()
	info, err := g.client.Write(ctx, protocol.WriteParams{Path: []byte(path), Mode: o.Mode, MaxBytes: o.MaxBytes}, content)
	return fileOf(info), guestError(err)
}

func (g *guest) Stat(ctx context.Context, path string) (manager.File, error) {
	ctx, end := g.watch.begin(ctx)
	defer end()
	info, err := g.client.Stat(ctx, protocol.StatParams{Path: []byte(path)})
	return fileOf(info), guestError(err)
}

func (g *guest) List(ctx context.Context, path string, limit int, after string) ([]manager.File, bool, error) {
	ctx, end := g.watch.begin(ctx)
	defer end()
	page, err := g.client.List(ctx, protocol.ListParams{Path: []byte(path), Limit: limit, After: []byte(after)})
	if err != nil {
		return nil, false, guestError(err)
	}
	entries := make([]manager.File, len(page.Entries))
	for i, e := range page.Entries {
		entries[i] = fileOf(e)
	}
	return entries, page.More, nil
}

func (g *guest) Mkdir(ctx context.Context, path string, mode *uint32) (manager.File, error) {
	ctx, end := g.watch.begin(ctx)
	defer end()
	info, err := g.client.Mkdir(ctx, protocol.MkdirParams{Path: []byte(path), Mode: mode})
	return fileOf(info), guestError(err)
}

func (g *guest) Move(ctx context.Context, from, to string) (manager.File, error) {
	ctx, end := g.watch.begin(ctx)
	defer end()
	info, err := g.client.Move(ctx, protocol.MoveParams{From: []byte(from), To: []byte(to)})
	return fileOf(info), guestError(err)
}

func (g *guest) Delete(ctx context.Context, path string, recursive bool) error {
	ctx, end := g.watch.begin(ctx)
	defer end()
	return guestError(g.client.Delete(ctx, protocol.DeleteParams{Path: []byte(path), Recursive: recursive}))
}

func (g *guest) Pack(ctx context.Context, o manager.PackOptions, w io.Writer) (manager.ArchiveStats, error) {
	ctx, end := g.watch.begin(ctx)
	defer end()
	stats, err := g.client.Pack(ctx, protocol.PackParams{Path: []byte(o.Path), Zstd: o.Zstd, MaxBytes: o.MaxBytes, Pause: o.Pause, Check: o.Check}, w)
	return manager.ArchiveStats(stats), guestError(err)
}

func (g *guest) Unpack(ctx context.Context, o manager.UnpackOptions, r io.Reader) (manager.ArchiveStats, error) {
	ctx, end := g.watch.begin(ctx)
	defer end()
	stats, err := g.client.Unpack(ctx, protocol.UnpackParams{
		Path: []byte(o.Path), Zstd: o.Zstd, Replace: o.Replace, MaxBytes: o.MaxBytes, MaxFiles: o.MaxFiles,
	}, r)
	return manager.ArchiveStats(stats), guestError(err)
}

func (g *guest) SetDeadline(ctx context.Context, remaining time.Duration) error {
	ctx, end := g.watch.begin(ctx)
	defer end()
	return guestError(g.client.SetDeadline(ctx, remaining))
}

func (g *guest) Done() <-chan struct{} { return g.client.Done() }
func (g *guest) Close() error          { return g.client.Close() }

func fileOf(i protocol.FileInfo) manager.File {
	return manager.File{
		Name: string(i.Name), Path: string(i.Path), Type: schemas.FileType(i.Type), Size: i.Size,
		Mode: i.Mode, ModTime: i.ModTime, LinkTarget: string(i.LinkTarget),
	}
}

// reading is the content of a file; the call lasts until it is closed.
type reading struct {
	io.ReadCloser
	end func()
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = guestError(err)
	}
	return n, err
}

func (r *reading) Close() error {
	defer r.end()
	return r.ReadCloser.Close()
}
