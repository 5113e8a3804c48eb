"""What a service manager forbids a service, forbidden here without one."""
import ctypes
import os
import resource
import struct

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
ALLOW, REFUSE = 0x7fff0000, 0x00050000 | 1  # EPERM
WRITE_EXECUTE, EXECUTE = 6, 4
# <linux/bpf_common.h>
LOAD, AND, IF_EQUAL, IF_SET, RETURN = 0x20, 0x54, 0x15, 0x45, 0x06
NUMBER, FAMILY, RESOURCE, PROTECTION = 0, 16, 24, 32  # in struct seccomp_data: the call, the low halves of its arguments
CALLS = {"x86_64": (9, 10), "aarch64": (222, 226)}  # mmap, mprotect
LIMITS = {"x86_64": 302, "aarch64": 261}  # prlimit64, which is all that libraries call
SOCKETS, NETLINK = {"x86_64": 41, "aarch64": 198}, 16  # socket, AF_NETLINK
PRETEND = 0x00050000  # errno 0


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


_libc = ctypes.CDLL(None, use_errno=True)


def no_writable_code():
    """MemoryDenyWriteExecute= of systemd.exec(5), for this process and its children; a preexec_fn."""
    mmap, mprotect = CALLS[os.uname().machine]
    lines = [
        (LOAD, 0, 0, NUMBER), (IF_EQUAL, 2, 0, mprotect), (IF_EQUAL, 4, 0, mmap), (RETURN, 0, 0, ALLOW),
        (LOAD, 0, 0, PROTECTION), (IF_SET, 4, 0, EXECUTE), (RETURN, 0, 0, ALLOW),
        (LOAD, 0, 0, PROTECTION), (AND, 0, 0, WRITE_EXECUTE), (IF_EQUAL, 0, 1, WRITE_EXECUTE),
        (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW),
    ]
    _obey(lines)


def no_netlink():
    """RestrictAddressFamilies= without AF_NETLINK; a preexec_fn."""
    _obey([(LOAD, 0, 0, NUMBER), (IF_EQUAL, 1, 0, SOCKETS[os.uname().machine]), (RETURN, 0, 0, ALLOW),
           (LOAD, 0, 0, FAMILY), (IF_EQUAL, 1, 0, NETLINK), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)])


def unlimited_cores():
    """Whatever it does to the limit of its cores, it believes, and has no effect; a preexec_fn."""
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    _obey([(LOAD, 0, 0, NUMBER), (IF_EQUAL, 1, 0, LIMITS[os.uname().machine]), (RETURN, 0, 0, ALLOW),
           (LOAD, 0, 0, RESOURCE), (IF_EQUAL, 1, 0, resource.RLIMIT_CORE), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, PRETEND)])


def _obey(lines):
    program = Program(len(lines), b"".join(struct.pack("HBBI", *line) for line in lines))
    if _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or _libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program)) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
