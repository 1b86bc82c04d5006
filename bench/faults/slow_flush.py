"""A slow flush: each fdatasync of the server takes 8 ms longer, as on a disk without a write cache that is safe. Its files are in
memory where that is allowed, so that a flush takes no time in healthy runs, whatever the disk of this machine."""

import contextlib
import pathlib
import shutil
import subprocess
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
static void pause_if_asked(void) {
    if (access(SWITCH, F_OK) == 0) { struct timespec pause = {0, 8000000}; nanosleep(&pause, 0); }
}
int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    pause_if_asked();
    return real(fd);
}
int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    pause_if_asked();
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


def slow(start):
    """Starts a server whose flushes can be made slow."""

    def started(port):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="fenxi-slow-flush-"))
        folder.chmod(0o755)
        source, library, switch, files = (folder / name for name in ("slow.c", "slow.so", "on", "files"))
        files.mkdir()
        files.chmod(0o777)
        source.write_text(DELAY)
        measure(["cc", "-shared", "-fPIC", "-O2", f'-DSWITCH="{switch}"', "-o", library, source, "-ldl"])
        # Not in /dev/shm, which MariaDB takes for memory that needs no flush.
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", files], capture_output=True)
        server = start(port, env={"LD_PRELOAD": str(library)}, folder=files)
        server.switch = switch
        if mount.returncode == 0:
            server.at_end.append(lambda: subprocess.run(["umount", files]))
        server.at_end.append(lambda: shutil.rmtree(folder, ignore_errors=True))
        return server

    return started


SERVERS = {"PostgreSQL": slow(servers.postgres), "MariaDB": slow(servers.mariadb)}


@contextlib.contextmanager
def injected(server):
    server.switch.touch()
    try:
        yield
    finally:
        server.switch.unlink()
