package backendtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/mcp-sandbox/mcp-sandbox/manager"
)

func packAll(z bool) manager.PackOptions {
	return manager.PackOptions{Path: workspace, Zstd: z, MaxBytes: 1 << 30, Pause: true}
}

func unpackAll(replace bool) manager.UnpackOptions {
	return manager.UnpackOptions{Path: workspace, Replace: replace, MaxBytes: 1 << 30, MaxFiles: 1 << 20}
}

var archiveChecks = []check{
	{"pack and unpack keep everything", fidelity},
	{"what commands made is packed", func(e *env) {
		b := e.box()
		e.sh(b, "mkdir -p d/empty; echo x > d/f; ln d/f hard; ln -s ../d/f d/soft; ln -s none dangling; mkfifo p; echo y > .wh.f")
		c := e.create()
		copyTo(e, b, c)
		got := e.sh(c, "ls .; ls d; cat d/f d/soft hard .wh.f; echo more >> hard; cat d/f")
		if want := ".wh.f\nd\ndangling\nhard\np\nempty\nf\nsoft\nx\nx\nx\ny\nx\nmore\n"; strings.TrimPrefix(got, ".wh.f\n") != strings.TrimPrefix(want, ".wh.f\n") {
			e.Errorf("got %q\nwant %q", got, want)
		}
	}},
	{"a compressed tar is the same tar", func(e *env) {
		b := e.box()
		e.sh(b, "echo x > f; mkdir d")
		plain, stats := pack(e, b, packAll(false))
		packed, zstats := pack(e, b, packAll(true))
		z, err := zstd.NewReader(bytes.NewReader(packed))
		if err != nil {
			e.Fatal(err)
		}
		defer z.Close()
		unpacked, err := io.ReadAll(z)
		if err != nil || !bytes.Equal(unpacked, plain) || stats != zstats {
			e.Errorf("%d bytes (%+v) and %d bytes (%+v), %v", len(plain), stats, len(unpacked), zstats, err)
		}
		o := unpackAll(true)
		o.Zstd = true
		if _, err := b.Unpack(e.ctx, o, bytes.NewReader(packed)); err != nil {
			e.Errorf("unpack: %v", err)
		}
		if got := e.sh(b, "cat f; ls"); got != "x\nd\nf\n" {
			e.Errorf("got %q", got)
		}
	}},
	{"stats count uncompressed bytes and files", func(e *env) {
		b := e.box()
		e.sh(b, "echo x > f; mkdir d; ln f d/g; ln -s f s")
		data, stats := pack(e, b, packAll(false))
		if stats.Bytes != int64(len(data)) || stats.Files != 4 {
			e.Errorf("got %+v for %d bytes", stats, len(data))
		}
		got, err := b.Unpack(e.ctx, unpackAll(true), bytes.NewReader(data))
		if err != nil || got.Files != 4 {
			e.Errorf("unpack: %+v, %v", got, err)
		}
	}},
	{"replace leaves exactly the tar", func(e *env) {
		b := e.box()
		e.sh(b, "echo old > f; mkdir d; touch d/x; echo x > wasfile; mkdir wasdir")
		data := makeTar(file("f", "new"), dir("wasfile"), file("wasdir", "file"))
		if _, err := b.Unpack(e.ctx, unpackAll(true), bytes.NewReader(data)); err != nil {
			e.Fatalf("unpack: %v", err)
		}
		if got := e.sh(b, "ls; cat f wasdir; ls wasfile"); got != "f\nwasdir\nwasfile\nnewfile" {
			e.Errorf("got %q", got)
		}
	}},
	{"replace clears read-only directories", func(e *env) {
		b := e.box()
		e.sh(b, "mkdir -p ro/sub; echo x > ro/sub/f; chmod 444 ro/sub/f; chmod 555 ro/sub; chmod 555 ro")
		c := e.create()
		copyTo(e, b, c)
		data, _ := pack(e, b, packAll(false))
		if _, err := b.Unpack(e.ctx, unpackAll(true), bytes.NewReader(data)); err != nil {
			e.Errorf("onto itself: %v", err)
		}
		for _, at := range []*box{b, c} {
			info, err := at.Stat(e.ctx, "/workspace/ro")
			if err != nil || info.Mode != 0o555 || e.read(at, "/workspace/ro/sub/f") != "x\n" {
				e.Errorf("%+v, %v", info, err)
			}
		}
	}},
	{"without replace it is laid over", func(e *env) {
		b := e.box()
		e.sh(b, "echo old > f; echo kept > g; mkdir d; touch d/x")
		data := makeTar(file("f", "new"), dir("d"), file("d/y", ""), file("parents/made", ""))
		if _, err := b.Unpack(e.ctx, unpackAll(false), bytes.NewReader(data)); err != nil {
			e.Fatalf("unpack: %v", err)
		}
		if got := e.sh(b, "cat f g; ls d; ls parents"); got != "newkept\nx\ny\nmade\n" {
			e.Errorf("got %q", got)
		}
	}},
	{"a subdirectory is packed alone", func(e *env) {
		b := e.box()
		e.sh(b, "mkdir d; echo x > d/f; echo y > g")
		o := packAll(false)
		o.Path = "/workspace/d"
		data, stats := pack(e, b, o)
		if tree := readTar(e, data); stats.Files != 1 || tree["f"].Content != "x\n" {
			e.Errorf("got %+v, %v", stats, tree)
		}
	}},
	{"pack of what is no directory is refused", func(e *env) {
		b := e.box()
		e.write(b, "/workspace/f", "x")
		o := packAll(false)
		o.Path = "/workspace/none"
		_, err := b.Pack(e.ctx, o, io.Discard)
		e.wantKind("missing", err, manager.KindNotFound)
		o.Path = "/workspace/f"
		_, err = b.Pack(e.ctx, o, io.Discard)
		e.wantKind("file", err, manager.KindInvalid)
	}},
	{"unreadable files are packed", func(e *env) {
		b := e.box()
		e.sh(b, "echo secret > f; chmod 000 f")
		data, _ := pack(e, b, packAll(false))
		if f := readTar(e, data)["f"]; f.Content != "secret\n" || f.Mode != 0 {
			e.Errorf("got %+v", f)
		}
		if info, err := b.Stat(e.ctx, "/workspace/f"); err != nil || info.Mode != 0 {
			e.Errorf("mode is left %o, %v", info.Mode, err)
		}
	}},
	{"pack over the limit is KindTooLarge", func(e *env) {
		b := e.box()
		e.sh(b, "head -c 3000000 /dev/zero > f")
		for _, z := range []bool{false, true} {
			o := packAll(z)
			o.MaxBytes = 1_000_000
			_, err := b.Pack(e.ctx, o, io.Discard)
			e.wantKind("pack", err, manager.KindTooLarge)
		}
	}},
	{"with Check an error that can be foreseen comes before the first byte", func(e *env) {
		b := e.box()
		e.sh(b, "head -c 300000 /dev/zero > a; head -c 3000000 /dev/zero > b")
		o := packAll(false)
		o.Check, o.MaxBytes = true, 1_000_000
		var got bytes.Buffer
		_, err := b.Pack(e.ctx, o, &got)
		e.wantKind("pack", err, manager.KindTooLarge)
		if got.Len() > 0 {
			e.Errorf("%d bytes came before", got.Len())
		}
		o.MaxBytes = 4_000_000
		if _, err := b.Pack(e.ctx, o, &got); err != nil || got.Len() < 3_300_000 {
			e.Errorf("then %d bytes, %v", got.Len(), err)
		}
	}},
	{"unpack over a limit is KindTooLarge", func(e *env) {
		b := e.box()
		data := makeTar(file("f", strings.Repeat("x", 100_000)), file("g", ""), file("h", ""))
		o := unpackAll(true)
		o.MaxBytes = 50_000
		_, err := b.Unpack(e.ctx, o, bytes.NewReader(data))
		e.wantKind("bytes", err, manager.KindTooLarge)
		o = unpackAll(true)
		o.MaxFiles = 2
		_, err = b.Unpack(e.ctx, o, bytes.NewReader(data))
		e.wantKind("files", err, manager.KindTooLarge)
	}},
	{"a damaged tar is KindInvalid", func(e *env) {
		b := e.box()
		good := makeTar(file("f", strings.Repeat("x", 100_000)))
		for what, data := range map[string][]byte{"cut short": good[:50_000], "no tar": bytes.Repeat([]byte("x"), 5000)} {
			_, err := b.Unpack(e.ctx, unpackAll(true), bytes.NewReader(data))
			e.wantKind(what, err, manager.KindInvalid)
		}
		o := unpackAll(true)
		o.Zstd = true
		_, err := b.Unpack(e.ctx, o, bytes.NewReader(good))
		e.wantKind("not compressed", err, manager.KindInvalid)
	}},
	{"G17 a hostile tar stays in the directory", hostileTars},
	{"an error of the writer ends pack and is returned", func(e *env) {
		b := e.box()
		e.sh(b, "head -c 3000000 /dev/zero > f")
		mine := errors.New("mine")
		if _, err := b.Pack(e.ctx, packAll(false), failingWriter{mine}); !errors.Is(err, mine) {
			e.Errorf("got %v", err)
		}
		e.sh(b, "true")
	}},
	{"an error of the source ends unpack and is returned", func(e *env) {
		b := e.box()
		mine := errors.New("mine")
		in := io.MultiReader(bytes.NewReader(makeTar(file("f", "x"))[:512]), iotest.ErrReader(mine))
		if _, err := b.Unpack(e.ctx, unpackAll(true), in); !errors.Is(err, mine) {
			e.Errorf("got %v", err)
		}
	}},
	{"end of the context ends pack and unpack", func(e *env) {
		b := e.box()
		e.sh(b, "head -c 30000000 /dev/zero > f")
		ctx, cancel := context.WithCancel(e.ctx)
		_, err := b.Pack(ctx, packAll(false), writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }))
		if !errors.Is(err, context.Canceled) {
			e.Errorf("pack: %v", err)
		}
		ctx, cancel = context.WithCancel(e.ctx)
		r, w := io.Pipe()
		defer w.Close()
		go func() {
			w.Write(makeTar(file("f", "x"))[:512])
			cancel()
		}()
		e.promptly("unpack", func() {
			if _, err := b.Unpack(ctx, unpackAll(true), r); !errors.Is(err, context.Canceled) {
				e.Errorf("unpack: %v", err)
			}
		})
	}},
	{"paused processes go on afterwards", func(e *env) {
		b := e.box()
		e.sh(b, "(while :; do echo a >> tick; sleep 0.05; done) &")
		e.wantGrowing(b, "/workspace/tick")
		for range 3 {
			pack(e, b, packAll(true))
		}
		e.wantGrowing(b, "/workspace/tick")
	}},
}

func pack(e *env, b *box, o manager.PackOptions) ([]byte, manager.ArchiveStats) {
	e.Helper()
	var data bytes.Buffer
	stats, err := b.Pack(e.ctx, o, &data)
	if err != nil {
		e.Fatalf("pack: %v", err)
	}
	return data.Bytes(), stats
}

// copyTo gives c the workspace of b, as a fork does.
func copyTo(e *env, b, c *box) {
	e.Helper()
	data, _ := pack(e, b, packAll(true))
	o := unpackAll(true)
	o.Zstd = true
	if _, err := c.Unpack(e.ctx, o, bytes.NewReader(data)); err != nil {
		e.Fatalf("unpack: %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
