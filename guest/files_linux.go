package guest

import (
	"context"
	"io"
	"net/http"

	"github.com/mcp-sandbox/mcp-sandbox/guest/files"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// fileCalls serves files and archives. Package files does the work; what is
// added here is how it shares the guest: few calls are inside the kernel at a
// time, and nothing is put in its place while a snapshot is made.
type fileCalls struct {
	guest *guest
	files *files.Files
}

func newFileCalls(g *guest) (*fileCalls, error) {
	f, err := files.Open(g.workspace)
	if err != nil {
		return nil, err
	}
	f.Commit = g.commit
	return &fileCalls{g, f}, nil
}

// commit runs a change of the file tree as soon as no snapshot is being made.
// The caller holds the disk; while it waits, the snapshot needs that more.
func (g *guest) commit(change func() error) error {
	g.disk.release()
	leave, err := g.gate.enter(context.Background())
	g.disk.take()
	if err != nil {
		return err
	}
	defer leave()
	return change()
}

func (f *fileCalls) routes(mux *http.ServeMux) {
	mux.Handle(protocol.PathRead, handler(f.read))
	mux.Handle(protocol.PathWrite, handler(f.write))
	mux.Handle(protocol.PathStat, fileCall(f, f.files.Stat))
	mux.Handle(protocol.PathList, fileCall(f, f.files.List))
	mux.Handle(protocol.PathMkdir, fileCall(f, f.files.Mkdir))
	mux.Handle(protocol.PathMove, fileCall(f, f.files.Move))
	mux.Handle(protocol.PathDelete, handler(f.delete))
	mux.Handle(protocol.PathPack, handler(f.pack))
	mux.Handle(protocol.PathUnpack, handler(f.unpack))
}

// fileCall serves a function that takes parameters and gives a JSON answer.
func fileCall[P, A any](f *fileCalls, do func(P) (A, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var params P
		if err := decodeParams(r, &params); err != nil {
			return err
		}
		result, err := onDisk(f, func() (A, error) { return do(params) })
		if err != nil {
			return err
		}
		return answer(w, result)
	}
}

// onDisk runs a call that is inside the kernel most of the time.
func onDisk[A any](f *fileCalls, do func() (A, error)) (result A, err error) {
	if err := f.guest.calls.try(); err != nil {
		return result, err
	}
	defer f.guest.calls.release()
	f.guest.disk.take()
	defer f.guest.disk.release()
	return do()
}

func (f *fileCalls) write(w http.ResponseWriter, r *http.Request) error {
	var params protocol.WriteParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	info, err := onDisk(f, func() (protocol.FileInfo, error) {
		return f.files.Write(r.Context(), params, &offDisk{f.guest.disk, r.Body, nil})
	})
	if err != nil {
		return err
	}
	return answer(w, info)
}

func (f *fileCalls) delete(w http.ResponseWriter, r *http.Request) error {
	return fileCall(f, func(params protocol.DeleteParams) (struct{}, error) {
		return struct{}{}, f.files.Delete(r.Context(), params)
	})(w, r)
}

// read streams a file. A slow reader must not keep others from the disk, so it
// is held for each chunk only.
func (f *fileCalls) read(w http.ResponseWriter, r *http.Request) error {
	var params protocol.ReadParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	if err := f.guest.calls.try(); err != nil {
		return err
	}
	defer f.guest.calls.release()
	f.guest.disk.take()
	info, content, err := f.files.Read(params)
	if err != nil {
		f.guest.disk.release()
		return err
	}
	defer f.guest.disk.release()
	defer content.Close()
	w.Header().Set(protocol.InfoHeader, asciiJSON(info))
	return copyChunks(&offDisk{f.guest.disk, nil, w}, content)
}

func copyChunks(w io.Writer, r io.Reader) error {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := r.Read(buf[:])
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// offDisk gives the disk back while a call that holds it waits for the network.
type offDisk struct {
	disk slots
	r    io.Reader
	w    io.Writer
}

func (o *offDisk) Read(p []byte) (int, error) {
	o.disk.release()
	defer o.disk.take()
	return o.r.Read(p)
}

func (o *offDisk) Write(p []byte) (int, error) {
	o.disk.release()
	defer o.disk.take()
	return o.w.Write(p)
}
