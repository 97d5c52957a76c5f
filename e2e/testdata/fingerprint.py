# Prints one line for each path below the current directory: everything that a
# snapshot must keep, and nothing that it cannot.
import hashlib, os, stat

links = {}
for folder, dirs, files in os.walk(b"."):
    for name in sorted(dirs + files):
        path = os.path.join(folder, name)
        s = os.lstat(path)
        extra = ""
        if stat.S_ISLNK(s.st_mode):
            extra = repr(os.readlink(path))
        elif stat.S_ISREG(s.st_mode):
            mode = stat.S_IMODE(s.st_mode)
            os.chmod(path, 0o600)
            with open(path, "rb") as f:
                digest = hashlib.file_digest(f, "sha256").hexdigest() if s.st_size < 1 << 28 else "large"
            os.chmod(path, mode)
            first = links.setdefault(s.st_ino, path)
            extra = f"{digest} {s.st_nlink} {first!r}"
            extra += repr(sorted((x, os.getxattr(path, x)) for x in os.listxattr(path)))
        size = 0 if stat.S_ISDIR(s.st_mode) else s.st_size
        print(repr(path), oct(s.st_mode), f"{s.st_uid}:{s.st_gid}", size, s.st_mtime_ns, extra)
    dirs.sort()
