#!/usr/bin/env python3
"""How long a check of `fenxi lsync` takes, against the bare `rsync -n` of the same homes.

Two homes of BENCH_FILES files below this machine's cache folder, with a stand-in for ssh that starts the other rsync at once: a network
would hide the difference. Checks and rsync take turns, which of them is first changes, and the ratio is that of each pair. Once nothing
differs; then files have changed, and of these the states at the receiver are asked for. Settings: BENCH_FILES (50000), BENCH_ROUNDS (11).
"""

import os
import shutil
import statistics
import subprocess
import time

from common import FENXI, environment, fresh, need, report, setting

FILES = setting("BENCH_FILES", 50000)
ROUNDS = setting("BENCH_ROUNDS", 11)
RSH = "#!/bin/sh\nshift\ncd {0} && HOME={0} exec sh -c \"$*\"\n"


def homes():
    """A laptop's and a master's home, the same files in both, and the words of both subjects."""
    folder = fresh("lsync")
    laptop, master = folder / "laptop", folder / "master"
    config = laptop / ".config/fenxi"
    config.mkdir(parents=True)
    for n in range(FILES):
        path = laptop / f"p{n // 100 % 20}" / f"d{n // 100}"
        if n % 100 == 0:
            path.mkdir(parents=True)
        (path / f"file{n}.txt").write_bytes(b"x" * (n * 37 % 2000))
    rsh = folder / "rsh"
    rsh.write_text(RSH.format(master))
    rsh.chmod(0o755)
    (config / "lsync.toml").write_text(f"master = 'master.test'\nrsh = '{rsh}'\n")
    shutil.copytree(laptop, master)
    env = dict(environment(), HOME=str(laptop))
    env.pop("XDG_CONFIG_HOME", None)
    bare = ["rsync", "-n", "-rlpt", "--delete", "-i", "--filter=- /.lsync", "--filter=- /.lsync-trash", "-e", str(rsh), f"{laptop}/", "master.test:./"]
    return laptop, env, [str(FENXI), "lsync", "l"], bare


def seconds(argv, env):
    began = time.perf_counter()
    subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def pairs(ours, bare, env):
    """Seconds of both, in turn; the first pair warms the caches and does not count."""
    found = []
    for turn in range(ROUNDS + 1):
        order = [ours, bare] if turn % 2 else [bare, ours]
        by = {id(argv): seconds(argv, env) for argv in order}
        if turn:
            found.append((by[id(ours)], by[id(bare)]))
    return found


def main():
    need(FENXI, "run `make build`")
    need("rsync", "install the package rsync")
    laptop, env, ours, bare = homes()
    subprocess.run([*ours[:2], "L"], env=env, check=True, stdout=subprocess.DEVNULL, input=b"")
    rows = []
    for n in (0, 10, 1000):
        for path in sorted(laptop.glob("p*/d*/*"))[:n]:
            path.write_bytes(b"changed")
            os.utime(path, (1, 1))
        found = pairs(ours, bare, env)
        ratios = [a / b for a, b in found]
        quartiles = statistics.quantiles(ratios, n=4)
        rows.append([n, f"{statistics.median(a for a, _ in found):.2f}", f"{statistics.median(b for _, b in found):.2f}",
                     f"{statistics.median(ratios):.3f}", f"{quartiles[0]:.3f} … {quartiles[2]:.3f}"])
    report("lsync", f"A check of two homes of {FILES:,} files", ["changed files", "fenxi, s", "rsync -n, s", "median of ratios", "quartiles"], rows,
           ["Both ends are on this machine, with a stand-in for ssh: connections cost nothing."])


if __name__ == "__main__":
    main()
