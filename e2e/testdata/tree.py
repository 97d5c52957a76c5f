# Makes a tree with one of everything that a snapshot has to keep.
import os, stat

def put(path, content="x\n", mode=0o644, ns=None):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as f:
        f.write(content)
    os.chmod(path, mode)
    if ns is not None:
        os.utime(path, ns=(ns, ns))

# Links: a pair, and symlinks of every sort.
put("links/first", "shared\n")
os.link("links/first", "links/second")
for name, to in {
    "relative": "first", "absolute": "/workspace/links/first", "dangling": "no/such",
    "loop": "loop", "slash": "first/", "venv-python": "/usr/bin/python3", "long": "t" * 300,
    "parent": "../../../../etc/passwd", "odd": "a\nb 'c' \\d",
}.items():
    os.symlink(to, "links/" + name)
os.utime("links/relative", ns=(981173106123456789, 981173106123456789), follow_symlinks=False)

# Modes.
for mode in (0o600, 0o755, 0o444, 0o000, 0o640):
    put(f"modes/file-{mode:o}", mode=mode)
for mode in (0o700, 0o770, 0o1777, 0o500):
    os.mkdir(f"modes/dir-{mode:o}")
    os.chmod(f"modes/dir-{mode:o}", mode)

# Times: fractions, long ago, before 1970, in the future.
put("times/ns", ns=1234567890123456789)
put("times/2001", ns=981173106000000000)
put("times/1965", ns=-150000000500000000)
put("times/2100", ns=4102444800000000001)
os.makedirs("times/dir/inner")
put("times/dir/f")
os.utime("times/dir", ns=(981173106000000007, 981173106000000007))

# Names and paths.
for name in ("new\nline", "tab\t", "#hash", "-dash", " lead", "trail ", "*", "é" * 127, ".hidden", "..dots", ".wh.whiteout", ".wh..wh..opq"):
    put("names/" + name)
with open(b"names/not-utf8-\xff\xfe", "w") as f:
    f.write("bytes\n")
for n in (99, 100, 101, 155, 256, 300, 1000):
    parts = ["p" * 50] * (n // 51)
    rest = n - 51 * len(parts)
    put("paths/" + "/".join(parts + ["f" * max(rest, 1)]), str(n))

# Everything else.
os.makedirs("empty/dir")
put("empty/file", "")
os.mkfifo("fifo")
put("xattr")
try:
    os.setxattr("xattr", "user.note", b"kept \x00 bytes")
except OSError:
    pass
put("big", "0123456789abcdef" * 65536)

# Read-only directories last: nothing can be made in them afterwards.
put("ro/sub/f", mode=0o444)
os.chmod("ro/sub", 0o555)
os.chmod("ro", 0o555)
