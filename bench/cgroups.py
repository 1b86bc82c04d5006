"""Control groups that injected faults limit, of either version of the kernel's interface."""

import pathlib

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


def inside(folder, words):
    """Words that run others in a group."""
    return ["bash", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "bash", *words]
