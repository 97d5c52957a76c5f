package archive

// MaxWindow is the largest zstd window that [Unpack] takes, in bytes: it bounds
// what a compressed stream can make the guest allocate, beside the programs in
// its memory limit. Whoever compresses a tar for it must stay within.
const MaxWindow = 1 << 20
