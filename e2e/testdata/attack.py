"""Tries everything that one process can do to another, on PID 1 and its threads.

Prints a line for each thing that worked and must not.
"""
import ctypes, fcntl, os, resource, signal, socket, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
arm = os.uname().machine == "aarch64"
nr = dict(
    ptrace=117 if arm else 101, process_vm_readv=270 if arm else 310, process_vm_writev=271 if arm else 311,
    rt_sigqueueinfo=138 if arm else 129, rt_tgsigqueueinfo=240 if arm else 297, tgkill=131 if arm else 234, tkill=130 if arm else 200,
    pidfd_open=434, pidfd_getfd=438, pidfd_send_signal=424, process_madvise=440, process_mrelease=448,
    kcmp=272 if arm else 312, move_pages=239 if arm else 279, migrate_pages=238 if arm else 256, get_robust_list=100 if arm else 274,
    setns=268 if arm else 308, unshare=97 if arm else 272, clone=220 if arm else 56,
    setpgid=154 if arm else 109, ioprio_set=30 if arm else 251, sched_setattr=274 if arm else 314, sched_setparam=118 if arm else 142,
    add_key=217 if arm else 248, request_key=218 if arm else 249, keyctl=219 if arm else 250,
    mount=40 if arm else 165, pivot_root=41 if arm else 155, chroot=51 if arm else 161, umount2=39 if arm else 166,
    open_by_handle_at=265 if arm else 304, bpf=280 if arm else 321, perf_event_open=241 if arm else 298,
    kexec_load=104 if arm else 246, init_module=105 if arm else 175, reboot=142 if arm else 169, swapon=224 if arm else 167,
    settimeofday=170 if arm else 164, acct=89 if arm else 163, quotactl=60 if arm else 179, sethostname=161 if arm else 170,
    setuid=146 if arm else 105, setgroups=159 if arm else 116,
    fsopen=430, fsmount=432, open_tree=428, move_mount=429, mount_setattr=442,
)
PID1 = sorted(map(int, os.listdir("/proc/1/task")))
WORKED = []


def call(name, *args):
    ctypes.set_errno(0)
    r = libc.syscall(nr[name], *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return r if r >= 0 else -ctypes.get_errno()


def never(what, r):
    """A call that must fail."""
    if r >= 0:
        WORKED.append(what)


def attempt(what, f):
    """Something that must raise OSError, or give nothing."""
    try:
        if f() not in (b"", "", [], None):
            WORKED.append(what)
    except (OSError, ValueError):
        pass


def signals():
    info = ctypes.create_string_buffer(128)
    for sig in range(1, 65):
        struct.pack_into("iii", info, 0, sig, 0, -1)  # SI_QUEUE
        for tid in PID1:
            if tid == os.getpid():
                continue
            call("rt_sigqueueinfo", tid, sig, info)
            call("rt_tgsigqueueinfo", 1, tid, sig, info)
            call("tgkill", 1, tid, sig)
            call("tkill", tid, sig)
    fd = call("pidfd_open", 1, 0)
    for sig in range(1, 65):
        call("pidfd_send_signal", fd, sig, None, 0)
    for fd in range(0, 32):
        never("take descriptor %d by pidfd_getfd" % fd, call("pidfd_getfd", call("pidfd_open", 1, 0), fd, 0))
    # The kernel sends these on behalf of a descriptor, and they look like faults.
    for sig in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGSYS, signal.SIGTRAP, signal.SIGKILL, signal.SIGSTOP, 34):
        a, b = socket.socketpair()
        try:
            fcntl.fcntl(a, fcntl.F_SETOWN, 1)
            fcntl.fcntl(a, 10, int(sig))  # F_SETSIG
            fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            b.send(b"x")
        except OSError:
            pass


def memory():
    class iovec(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]

    buf = ctypes.create_string_buffer(16)
    local, remote = iovec(ctypes.addressof(buf), 16), iovec(0x400000, 16)
    for tid in (1, 2, 3, 5):
        for request in (16, 0x4206):  # ATTACH, SEIZE
            never("ptrace %d" % request, call("ptrace", request, tid, 0, 0))
        never("process_vm_readv", call("process_vm_readv", tid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))
        never("process_vm_writev", call("process_vm_writev", tid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))
    never("kcmp", call("kcmp", 1, os.getpid(), 0, 0, 0))
    never("move_pages", call("move_pages", 1, 1, ctypes.byref(ctypes.c_void_p(0x400000)), None, ctypes.byref(ctypes.c_int()), 0))
    never("migrate_pages", call("migrate_pages", 1, 64, ctypes.byref(ctypes.c_ulong(1)), ctypes.byref(ctypes.c_ulong(1))))
    never("get_robust_list", call("get_robust_list", 1, ctypes.byref(ctypes.c_void_p()), ctypes.byref(ctypes.c_size_t())))
    pidfd = call("pidfd_open", 1, 0)
    page = iovec(0x400000, 4096)
    never("process_madvise", call("process_madvise", pidfd, ctypes.byref(page), 1, 20, 0))
    never("process_mrelease", call("process_mrelease", pidfd, 0))


def proc():
    closed = ["mem", "environ", "maps", "smaps", "numa_maps", "auxv", "pagemap", "stack", "syscall", "io", "personality", "fd/0", "fd/1", "fd/2", "fd/3",
              "fdinfo/0", "root/etc", "cwd/etc", "exe", "map_files", "ns/user", "ns/pid", "ns/mnt", "task/1/mem", "task/2/environ", "task/2/fd/0", "patch_state"]
    for name in closed:
        path = "/proc/1/" + name
        attempt("read " + path, lambda: os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(16))
    for name in ["root", "cwd", "exe", "fd/0", "fd/1", "fd/5", "ns/net"]:
        attempt("follow /proc/1/" + name, lambda: os.readlink("/proc/1/" + name))
    for name in ["mem", "oom_score_adj", "oom_adj", "clear_refs", "comm", "coredump_filter", "timerslack_ns", "autogroup", "sched", "setgroups", "uid_map",
                 "gid_map", "projid_map", "loginuid", "make-it-fail", "attr/current", "attr/exec", "task/1/comm", "task/2/comm", "task/2/oom_score_adj", "fd/1", "fd/0", "fd/2"]:
        def put():
            with open("/proc/1/" + name, "wb", buffering=0) as f:
                return f.write(b"0")
        attempt("write /proc/1/" + name, put)
    for base, _, names in os.walk("/proc/sys"):
        for name in names:
            if os.access(base + "/" + name, os.W_OK):
                WORKED.append("write " + base + "/" + name)
    for path in ["/proc/sysrq-trigger", "/proc/kcore", "/proc/kmsg", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/fuse", "/dev/kvm", "/dev/net/tun"]:
        attempt("open " + path, lambda: os.close(os.open(path, os.O_RDONLY)) or path)


def limits():
    for tid in PID1:
        if tid == os.getpid():
            continue
        for which in range(16):
            try:
                resource.prlimit(tid, which, (0, 0))
                WORKED.append("prlimit %d of %d" % (which, tid))
            except OSError:
                pass
        attempt("setaffinity", lambda: os.sched_setaffinity(tid, {0}) or "set")
        attempt("setscheduler", lambda: os.sched_setscheduler(tid, os.SCHED_IDLE, os.sched_param(0)) or "set")
        attempt("setparam", lambda: os.sched_setparam(tid, os.sched_param(0)) or "set")
        attempt("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, tid, 19) or "set")
        attr = struct.pack("IIQiIQQQ", 48, 3, 0, 0, 0, 0, 0, 0)
        never("sched_setattr of %d" % tid, call("sched_setattr", tid, attr, 0))
        never("ioprio_set of %d" % tid, call("ioprio_set", 1, tid, 3 << 13))
    attempt("setpriority of the group", lambda: os.setpriority(os.PRIO_PGRP, 1, 19) or "set")
    attempt("setpriority of the user", lambda: os.setpriority(os.PRIO_USER, 1000, 19) or "set")
    attempt("setpriority of oneself", lambda: os.setpriority(os.PRIO_USER, 0, 19) or "set")
    never("ioprio_set of the group", call("ioprio_set", 2, 1, 3 << 13))
    never("ioprio_set of the user", call("ioprio_set", 3, 1000, 3 << 13))
    never("setpgid", call("setpgid", 1, 0))
    attempt("more descriptors", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20)) or "set")
    attempt("another mark", lambda: resource.setrlimit(12, (7, 7)) or "set")


def spaces():
    for name, flag in dict(ns=0x20000, cgroup=0x2000000, uts=0x4000000, ipc=0x8000000, user=0x10000000, pid=0x20000000, net=0x40000000, time=0x80).items():
        if flag != 0x80:  # in clone's word that is part of the signal
            r = call("clone", flag | signal.SIGCHLD, 0, 0, 0, 0)
            if r == 0:
                os._exit(0)
            never("clone a space " + name, r)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if call("unshare", flag) >= 0 else 1)
        never("unshare a space " + name, 0 if os.waitpid(pid, 0)[1] == 0 else -1)
        never("setns " + name, call("setns", call("pidfd_open", 1, 0), flag))
    never("mount", call("mount", b"x", b"/tmp", b"tmpfs", 0, None))
    never("umount", call("umount2", b"/tmp", 2))
    never("pivot_root", call("pivot_root", b"/tmp", b"/tmp"))
    never("chroot", call("chroot", b"/tmp"))
    never("fsopen", call("fsopen", b"tmpfs", 0))
    never("open_tree", call("open_tree", -100, b"/tmp", 1))
    never("open_by_handle_at", call("open_by_handle_at", -100, ctypes.create_string_buffer(b"\x08\0\0\0\x01\0\0\0" + b"\x02" + b"\0" * 32), 0))
    for name, args in dict(bpf=(0, b"\0" * 64, 64), perf_event_open=(b"\0" * 128, 0, -1, -1, 0), kexec_load=(0, 0, 0, 0), init_module=(b"", 0, b""), reboot=(0xfee1dead, 672274793, 0, 0),
                           swapon=(b"/tmp/x", 0), settimeofday=(b"\0" * 16, 0), acct=(0,), sethostname=(b"x", 1), setuid=(0,), setgroups=(1, b"\0" * 4)).items():
        never(name, call(name, *args))
    for name, args in dict(add_key=(b"user", b"k", b"v", 1, -2), request_key=(b"user", b"k", None, -2), keyctl=(0, -3, 1)).items():
        never(name, call(name, *args))


def forge():
    """Says to every descriptor and to what might be the guest's channel that all is over."""
    frame = b'\x03\0\0\0\x2d{"exit_code":0,"stdout_bytes":0,"duration":1}'
    for fd in range(3, 256):
        attempt("write to descriptor %d" % fd, lambda: os.write(fd, frame) and "written")
    for path in ["/proc/1/fd/0", "/proc/1/fd/1", "/proc/1/fd/2"]:
        attempt("write to " + path, lambda: os.write(os.open(path, os.O_WRONLY), frame) and "written")
    for path in ["/dev/console", "/dev/tty", "/dev/pts/0"]:
        attempt("nothing", lambda: os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), frame) and "")


def cgroups():
    for base, dirs, names in os.walk("/sys/fs/cgroup"):
        attempt("make a cgroup in " + base, lambda: os.mkdir(base + "/mine") or "made")
        for name in names:
            attempt("write " + base + "/" + name, lambda: os.close(os.open(base + "/" + name, os.O_WRONLY)) or "opened")
    for path in ["/sys/kernel/uevent_helper", "/sys/power/state"]:
        attempt("write " + path, lambda: os.close(os.open(path, os.O_WRONLY)) or "opened")


globals()[sys.argv[1]]()
print("\n".join(sorted(set(WORKED))))
