"""Somebody traces a program: each of its system calls stops it twice."""

from programs import python

TITLE = "program under a tracer"
FINDINGS = {"program-stopped"}
# The parent traces its child as strace does (PTRACE_TRACEME, PTRACE_SYSCALL), or lets it run.
TRACER = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
traced, work = sys.argv[1] == "1", int(sys.argv[2])
child = os.fork()
if child == 0:
    if traced:
        libc.ptrace(0, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
    while time.monotonic() < end:
        os.getppid()
        sum(range(work))
    os._exit(0)
_, status = os.waitpid(child, 0)
while traced and not os.WIFEXITED(status):
    libc.ptrace(24, child, None, None)
    _, status = os.waitpid(child, 0)
"""

LOADS = {
    "calls": (lambda: python(TRACER, "0", "0"), lambda: python(TRACER, "1", "0")),
    "calls and work": (lambda: python(TRACER, "0", "100"), lambda: python(TRACER, "1", "100")),
}
