package guest

import (
	"net/http"
	"runtime/debug"

	"github.com/mcp-sandbox/mcp-sandbox/guest/archive"
	"github.com/mcp-sandbox/mcp-sandbox/guest/protocol"
)

// pack serves PathPack. Processes that are paused for it go on when it ends, in
// whatever way.
func (f *fileCalls) pack(w http.ResponseWriter, r *http.Request) error {
	var params protocol.PackParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	if params.Pause {
		resume, err := f.guest.pause(r.Context())
		if err != nil {
			return err
		}
		defer resume()
	}
	defer freeLater()
	procs.add(1)
	defer procs.add(-1)
	stats, err := onDisk(f, func() (stats protocol.ArchiveStats, err error) {
		dir, err := f.files.OpenDir(params.Path)
		if err != nil {
			return stats, err
		}
		defer dir.Close()
		return archive.Pack(r.Context(), dir, &offDisk{f.guest.disk, nil, w}, archive.PackOptions{
			Zstd:     params.Zstd,
			MaxBytes: params.MaxBytes,
			Check:    params.Check,
		})
	})
	if err == nil {
		w.Header().Set(http.TrailerPrefix+protocol.StatsTrailer, asciiJSON(stats))
	}
	return err
}

// unpack serves PathUnpack. A snapshot waits for it, and the other way round.
func (f *fileCalls) unpack(w http.ResponseWriter, r *http.Request) error {
	var params protocol.UnpackParams
	if err := decodeParams(r, &params); err != nil {
		return err
	}
	leave, err := f.guest.gate.enter(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	defer freeLater()
	procs.add(1)
	defer procs.add(-1)
	stats, err := onDisk(f, func() (stats protocol.ArchiveStats, err error) {
		dir, err := f.files.OpenTarget(params.Path)
		if err != nil {
			return stats, err
		}
		defer dir.Close()
		return archive.Unpack(r.Context(), dir, &offDisk{f.guest.disk, r.Body, nil}, archive.UnpackOptions{
			Zstd:     params.Zstd,
			Replace:  params.Replace,
			MaxBytes: params.MaxBytes,
			MaxFiles: params.MaxFiles,
		})
	})
	if err != nil {
		return err
	}
	return answer(w, stats)
}

// freeLater gives back what compressors leave behind, and keeps no answer waiting.
func freeLater() { go debug.FreeOSMemory() }
