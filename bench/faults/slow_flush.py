"""A slow flush: each fdatasync of the server takes 8 ms longer, as on a disk without a write cache that is safe. Its files are in
memory, so that a flush takes no time in healthy runs, whatever the disk of this machine."""

import contextlib
import pathlib
import shutil
import tempfile

import servers
from common import measure

TITLE = "commits wait for a slow flush"
CONNECTIONS = 8
FINDINGS = {"db-commit-wait", "flush-waits"}
PARTS = {"commit"}
DELAY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>
int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    if (access(SWITCH, F_OK) == 0) { struct timespec pause = {0, 8000000}; nanosleep(&pause, 0); }
    return real(fd);
}
"""
WORKLOAD = """
about = "inserts, each a commit"
[[table]]
name = "log"
rows = "10"
columns = [["id", "row + 1"], ["note", "letters(40)"]]
create = "CREATE TABLE log (id INTEGER, note VARCHAR(60))"
[[transaction]]
name = "insert"
[[transaction.step]]
sql = "INSERT INTO log (id, note) VALUES (:{uniform(1, 1000000)}, :{letters(40)})"
"""


def start(port):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fenxi-slow-flush-"))
    folder.chmod(0o755)
    source, library, switch = folder / "slow.c", folder / "slow.so", folder / "on"
    source.write_text(DELAY)
    measure(["cc", "-shared", "-fPIC", "-O2", f'-DSWITCH="{switch}"', "-o", library, source, "-ldl"])
    server = servers.postgres(port, env={"LD_PRELOAD": str(library)}, folder="/dev/shm")
    server.switch = switch
    stop = server.stop

    def stop_and_remove():
        stop()
        shutil.rmtree(folder, ignore_errors=True)

    server.stop = stop_and_remove
    return server


@contextlib.contextmanager
def planted(server):
    server.switch.touch()
    try:
        yield
    finally:
        server.switch.unlink()
