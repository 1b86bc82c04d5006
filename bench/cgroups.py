"""Control groups that injected faults limit, of either version of the kernel's interface."""

import contextlib
import pathlib
import time

from common import Skipped

ROOT = pathlib.Path("/sys/fs/cgroup")


def group(name, controller, limit, first=None):
    """The folder of a group: `controller` (in version 1 `first`) gives it the file `limit` in version 2."""
    second = (ROOT / "cgroup.controllers").exists()
    folder = (ROOT if second else ROOT / (first or controller)) / f"fenxi-bench-{name}.service"
    try:
        folder.mkdir(exist_ok=True)
        if second and not (folder / limit).exists():
            (ROOT / "cgroup.subtree_control").write_text(f"+{controller}")
    except OSError as error:
        raise Skipped(f"no control group can be made: {error}") from error
    return folder


def remove(folder):
    """A group that nothing is in any more."""
    for _ in range(50):
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)


def serving(start, group_of):
    """Starts a server in the group that `group_of` gives for its port, as `server.group`: all of its processes are in it."""

    def started(port):
        folder = group_of(port)
        server = start(port)
        server.group = folder
        children = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        for pid in [str(server.process.pid), *children]:
            # One of the children may have ended by now.
            with contextlib.suppress(ProcessLookupError):
                (folder / "cgroup.procs").write_text(pid)
        server.at_end.append(lambda: remove(folder))
        return server

    return started


def inside(folder, words):
    """Words that run others in a group."""
    return ["bash", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "bash", *words]
