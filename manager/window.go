package manager

// MaxWindow is the largest zstd window, in bytes, of a compressed tar that a
// [Guest] packs or is given to unpack: what it may make either side allocate.
const MaxWindow = 1 << 20
