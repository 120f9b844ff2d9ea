"""Tables of system calls. An entry is a name, a number on x86-64 and a number on aarch64 (`-`: no such call)."""

from __future__ import annotations

ALLOWED = """
    read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, close 3 57, fstat 5 80,
    stat 4 -, lstat 6 -, newfstatat 262 79, statx 332 291, lseek 8 62, mmap 9 222,
    mprotect 10 226, munmap 11 215, mremap 25 216, madvise 28 233, brk 12 214,
    rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132,
    access 21 -, faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78,
    getcwd 79 17, getdents64 217 61, statfs 137 43, fstatfs 138 44, dup 32 23, dup2 33 -,
    dup3 292 24, futex 202 98, set_robust_list 273 99, rseq 334 293, set_tid_address 218 96,
    getpid 39 172, gettid 186 178, getppid 110 173, getuid 102 174, geteuid 107 175,
    getgid 104 176, getegid 108 177, getgroups 115 158, getrandom 318 278, clock_gettime 228 113,
    clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101, gettimeofday 96 169,
    time 201 -, times 100 153, getrusage 98 165, getrlimit 97 163, sched_yield 24 124,
    sched_getaffinity 204 123, sched_getparam 143 121, sched_getscheduler 145 120,
    sched_get_priority_max 146 125, sched_get_priority_min 147 126, sysinfo 99 179, uname 63 160,
    epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -,
    epoll_pwait 281 22, eventfd2 290 19, poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72,
    pipe 22 -, pipe2 293 59, recvfrom 45 207, getsockname 51 204, getpeername 52 205,
    getsockopt 55 209, shutdown 48 210, setitimer 38 103, getitimer 36 102, alarm 37 -,
    pause 34 -, exit 60 93, exit_group 231 94, membarrier 324 283, restart_syscall 219 128,
    arch_prctl 158 -, close_range 436 436, ftruncate 77 46, umask 95 166
"""
"""Calls allowed with any arguments. None of them can write to a host file, or reach another process or the network."""

CHECKED = """
    open 2 -, openat 257 56, clone 56 220, fcntl 72 25, ioctl 16 29, socketpair 53 199,
    sendto 44 206, prlimit64 302 261, memfd_create 319 279
"""
"""Calls allowed with only some arguments; see `seccomp`."""

ABSENT = """
    clone3 435 435, openat2 437 437
"""
"""Calls that fail as if the kernel lacked them: their arguments are in memory, where a filter cannot check them."""

_COLUMN = {"x86_64": 0, "aarch64": 1}


def numbers(table: str, machine: str) -> dict[str, int]:
    """Return the numbers of a table's calls by name. Raises KeyError if the machine is not `x86_64` or `aarch64`."""
    column = _COLUMN[machine]
    entries = (entry.split() for entry in table.split(","))
    return {name: int(places[column]) for name, *places in entries if places[column] != "-"}
