//go:build linux

package archive

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkAgainstTar prints how long a tree like a small repository's takes,
// and how that compares with the system's tar.
func BenchmarkAgainstTar(b *testing.B) {
	src, plain, zipped := tempDir(b), tempDir(b)+"/plain.tar", tempDir(b)+"/z.tar.zst"
	for i := range 12800 {
		write(b, fmt.Sprintf("%s/%d/%d/f%d", src, i%40, i%1000/40, i), words(i, 10400))
	}
	save := func(path string, zstd bool) func() {
		return func() {
			d := openForPack(b, src)
			defer d.Close()
			f, err := os.Create(path)
			must(b, err)
			defer f.Close()
			_, err = Pack(context.Background(), d, f, PackOptions{Zstd: zstd, MaxBytes: -1})
			must(b, err)
		}
	}
	load := func(path string, zstd bool) func() {
		return func() {
			f, err := os.Open(path)
			must(b, err)
			defer f.Close()
			d := openForPack(b, tempDir(b))
			defer d.Close()
			_, err = Unpack(context.Background(), d, io.Reader(f), UnpackOptions{Zstd: zstd, MaxBytes: -1, MaxFiles: -1})
			must(b, err)
		}
	}
	run := func(args ...string) func() {
		return func() { must(b, exec.Command(args[0], args[1:]...).Run()) }
	}
	for b.Loop() {
		tarOut := timed(run("tar", "-C", src, "--format=pax", "-cf", plain, "."))
		out, outZ := timed(save(plain, false)), timed(save(zipped, true))
		tarIn := timed(run("tar", "-C", tempDir(b), "-xf", plain))
		in, inZ := timed(load(plain, false)), timed(load(zipped, true))
		b.Logf("out: tar %v, ours %v (%.2f), zstd %v (%.2f)", tarOut, out, ratio(out, tarOut), outZ, ratio(outZ, tarOut))
		b.Logf("in:  tar %v, ours %v (%.2f), zstd %v (%.2f)", tarIn, in, ratio(in, tarIn), inZ, ratio(inZ, tarIn))
	}
}

func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start).Round(time.Millisecond)
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// words is text that compresses about as source code does.
func words(seed, size int) string {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	text := make([]byte, 0, size+16)
	for len(text) < size {
		text = fmt.Appendf(text, "w%d ", r.IntN(2000))
	}
	return string(text[:size])
}
