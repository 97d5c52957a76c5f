package manager

// openFlags: Windows has neither FIFOs nor device nodes to wait for.
const openFlags = 0
