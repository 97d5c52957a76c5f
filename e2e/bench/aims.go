package main

// aim is what a figure should at most be, as a share of another one, or by
// itself when there is no other.
type aim struct {
	name   string
	of, to pick
	atMost float64
	p99    bool // of's 99th percentile counts
}

type pick struct {
	what, side string
	atOnce     int
}

// verdict is whether an aim is met.
type verdict struct {
	Aim    string  `json:"aim"`
	AtMost float64 `json:"at_most"`
	Is     float64 `json:"is"`
	Met    bool    `json:"met"`
}

var aims = []aim{
	{"exec by /v1, of Docker's exec", pick{"exec true", v1, 1}, pick{"exec true", api, 1}, 1. / 25, false},
	{"exec by /v1: p99, of its median", pick{"exec true", v1, 1}, pick{"exec true", v1, 1}, 10, true},
	{"exec by MCP stdio, of Docker's exec", pick{"exec true", mcp, 1}, pick{"exec true", api, 1}, 1. / 20, false},
	{"create from the pool, of docker run -d", pick{"create a sandbox", v1Pool, 1}, pick{"create a sandbox", cli, 1}, 1. / 20, false},
	{"create and first exec without the pool, of the API's create and start", pick{"create and first exec", v1Cold, 1}, pick{"create and first exec", apiBare, 1}, 1.10, false},
	{"first byte of a stream, in ms", pick{"from written to received", v1, 0}, pick{}, 5, false},
	{"100 MB of output by /v1, of Docker's exec", pick{"100 MB of output", v1, 1}, pick{"100 MB of output", api, 1}, 1, false},
	{"put 10 MB, of Docker's archive", pick{"put 10 MB", v1, 1}, pick{"put 10 MB", api, 1}, 1, false},
	{"get 10 MB, of Docker's archive", pick{"get 10 MB", v1, 1}, pick{"get 10 MB", api, 1}, 1, false},
	{"put 100 MB, of Docker's archive", pick{"put 100 MB", v1, 1}, pick{"put 100 MB", api, 1}, 1, false},
	{"get 100 MB, of Docker's archive", pick{"get 100 MB", v1, 1}, pick{"get 100 MB", api, 1}, 1, false},
	{"snapshot of 12 000 files, of Docker's archive", pick{"save 12000 files", v1, 1}, pick{"save 12000 files", api, 1}, 1, false},
	{"restore of 12 000 files, of Docker's archive", pick{"restore 12000 files", v1, 1}, pick{"restore 12000 files", api, 1}, 1, false},
	{"stored bytes of 12 000 files, of the tar", pick{"stored, 12000 files", v1, 0}, pick{"stored, 12000 files", api, 0}, 1. / 3, false},
	{"fork of 1 000 files, of docker run -d", pick{"fork 1000 files", v1Pool, 1}, pick{"fork 1000 files", cli, 1}, 1. / 3, false},
	{"rollback of 1 000 files, of docker run -d", pick{"restore 1000 files", v1, 1}, pick{"restore 1000 files", cli, 1}, 1. / 3, false},
	{"destroy: the answer, of Docker's removal", pick{"destroy a sandbox", v1, 1}, pick{"destroy a sandbox", api, 1}, 1. / 10, false},
	{"guest's own memory, idle, in MB", pick{"guest, anonymous memory", v1, 0}, pick{}, 4, false},
	{"server's memory at 100 sandboxes, in MB", pick{"server, resident at 100", v1, 0}, pick{}, 60, false},
}

// judge holds what was measured against the aims; the rest is left out.
func (r *report) judge() {
	r.Aims = nil
	for _, a := range aims {
		of := r.find(a.of.what, a.of.side, a.of.atOnce)
		to := r.find(a.to.what, a.to.side, a.to.atOnce)
		if of == nil || a.to.what != "" && to == nil {
			continue
		}
		is, base := of.P50, 1.
		if a.p99 {
			is = of.P99
		}
		if to != nil {
			base = to.P50
		}
		r.Aims = append(r.Aims, verdict{a.name, a.atMost, is / base, is/base <= a.atMost})
	}
}
