#!/usr/bin/env python3
"""How long one waits for the build: from nothing, after a change, beside a built clone, for the tests; and how large it is.

    bench/build.py [--only PART,…]      cold, touch, fresh, test, units: all of them without it

Everything is done in a clone of this one's last commit and in a separate cache folder; crates and the engine's library are fetched
before. `cold` makes both and is needed once before the others; what a part measured stays on the page until it is measured again.
Settings: BENCH_CRATES (model,formats,store,query,cli; `all`), BENCH_UNITS (a target folder, for `units`: without it that of `cold`).
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

PARTS = ["cold", "touch", "fresh", "test", "units"]
ONLY = PARTS
if sys.argv[1:2] == ["--only"] and len(sys.argv) == 3:
    ONLY = sys.argv[2].split(",")
    if set(ONLY) - set(PARTS):
        sys.exit(f"bench: there is no part {', '.join(sorted(set(ONLY) - set(PARTS)))}: {', '.join(PARTS)}")
    del sys.argv[1:]

from common import DATA, ENGINE, ROOT, machine, measure, need, output, setting, size_of  # noqa: E402

WORK = DATA / "build"
KEPT = DATA / "build.json"
CRATES = setting("BENCH_CRATES", "model,formats,store,query,cli")
UNITS = setting("BENCH_UNITS", "")
# Crates that take less are shown together.
FEW_SECONDS = 2.0


def environment():
    """Of a newcomer, but for the cache folder: nothing that this shell has set for another clone."""
    ours = ("CARGO_TARGET_DIR", "FENXI_TARGET", "DUCKDB_LIB_DIR", "LD_LIBRARY_PATH", "CARGO_INCREMENTAL", "FENXI_SEED")
    env = {name: value for name, value in os.environ.items() if name not in ours}
    return dict(env, FENXI_CACHE=str(WORK / "cache"), DEMO_SECONDS="10")


def timed(argv, clone):
    """Runs a command in a clone to a good end; gives wall and CPU time."""
    done = measure(argv, cwd=clone, env=environment(), stderr=None)
    return done.wall_s, done.cpu_s


def clone(name):
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    measure(["git", "clone", "--quiet", "--local", ROOT, folder])
    return folder


def built():
    folder = WORK / "one"
    need(folder, "run `bench/build.py --only cold` first")
    return folder


def target(folder):
    return pathlib.Path(output(["bash", "-c", f'cd {folder} && unset CARGO_TARGET_DIR && FENXI_CACHE={WORK}/cache . scripts/env && echo "$CARGO_TARGET_DIR"']).strip())


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min" if seconds >= 60 else f"{seconds:.1f} s"


def megabytes(size):
    return f"{size / 1e6:.0f} MB"


def cold():
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "cache").mkdir(parents=True)
    shutil.copytree(ENGINE, WORK / "cache" / ENGINE.name)
    one = clone("one")
    measure(["cargo", "fetch", "--locked", "--quiet"], cwd=one, env=environment(), stderr=None)
    wall, cpu = timed(["make", "demo"], one)
    rows = [["`make demo` from nothing", minutes(wall), minutes(cpu)]]
    folder = target(one)
    programs = [folder / "debug" / name for name in ("fenxi", "fenxi-engine")]
    installed = WORK / "installed"
    measure(["scripts/install", installed], cwd=one, env=environment())
    rows += [["target folder of `make demo`", megabytes(size_of(folder)), ""],
             ["programs as built", megabytes(sum(size_of(p) for p in programs)), ""],
             ["programs installed", megabytes(size_of(installed / "bin" / "fenxi") + size_of(installed / "libexec")), ""]]
    return rows


def touch():
    one, rows = built(), []
    folder = target(one)
    names = sorted(p.name for p in (one / "crates").iterdir()) if CRATES == "all" else CRATES.split(",")
    changes = [(f"one file of `{name}` touched", one / "crates" / name / "src" / "lib.rs") for name in names]
    changes.append(("a command of the CLI touched (`runs`)", one / "crates/cli/src/commands/runs.rs"))
    timed(["scripts/build"], one)
    for what, file in changes:
        file.touch()
        began, (_, cpu) = time.monotonic(), timed(["scripts/build"], one)
        measure([folder / "debug" / "fenxi", "--version"])
        rows.append([what + ", until it runs", minutes(time.monotonic() - began), minutes(cpu)])
    return rows


def fresh():
    built()
    two = clone("two")
    wall, cpu = timed(["make", "demo"], two)
    shutil.rmtree(target(two))
    shutil.rmtree(two)
    return [["`make demo` in a fresh clone beside a built one", minutes(wall), minutes(cpu)]]


def test():
    one = built()
    wall, cpu = timed(["make", "test"], one)
    again, cpu_again = timed(["make", "test"], one)
    return [["`make test` after `make demo`", minutes(wall), minutes(cpu)],
            ["`make test` with everything built", minutes(again), minutes(cpu_again)],
            ["target folder with the tests' programs", megabytes(size_of(target(one))), ""]]


def units():
    """Rows of what was compiled, and seconds by crate: what cargo notes at the beginning and at the end of each unit."""
    folder = pathlib.Path(UNITS) if UNITS else target(built())
    fingerprints = folder / "debug" / ".fingerprint"
    need(fingerprints, "a target folder in which `make demo` has built")
    count, seconds = 0, {}
    for unit in fingerprints.glob("*/*.json"):
        if unit.name.startswith(("test-", "example-")):
            continue
        count += 1
        if not unit.name.startswith("run-"):
            name = unit.parent.name.rsplit("-", 1)[0]
            took = unit.with_suffix("").stat().st_mtime - (unit.parent / "invoked.timestamp").stat().st_mtime
            seconds[name] = seconds.get(name, 0) + max(took, 0)
    tree = output(["cargo", "tree", "--locked", "-p", "fenxi-cli", "-e", "normal,build", "--prefix", "none"], cwd=ROOT)
    crates = {line.split(" (")[0] for line in tree.splitlines() if line}
    rows = [["units of fenxi-cli", count, ""], ["crates of fenxi-cli", len(crates), ""],
            ["seconds of all units together", f"{sum(seconds.values()):.0f}", ""]]
    return rows, sorted(seconds.items(), key=lambda crate: -crate[1])


def page(results):
    lines = ["# The build", "", "Measured by `bench/build.py`, which describes each part.  ", f"Machine: {machine()}.", "",
             "| what | wall | CPU | at commit |", "|---|---:|---:|---|"]
    for part in PARTS:
        if part in results:
            lines += [f"| {what} | {wall} | {cpu} | {results[part]['commit']} |" for what, wall, cpu in results[part]["rows"]]
    lines += ["", "Seconds of one compiler for each crate, two or more compilers at a time: `scripts/build` estimates by them what is left, and",
              "`xtask tidy` limits them.", "", "| crate | s |", "|---|---:|"]
    crates = results.get("units", {}).get("crates", [])
    lines += [f"| `{name}` | {took:.1f} |" for name, took in crates if took >= FEW_SECONDS]
    lines.append(f"| all others | {sum(took for _, took in crates if took < FEW_SECONDS):.1f} |")
    text = "\n".join(lines) + "\n"
    (ROOT / "bench/results/build.md").write_text(text)
    print(text)


def main():
    results = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    DATA.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], text=True, capture_output=True).stdout.strip()
    # Units before the tests add theirs.
    for part in sorted(ONLY, key=["cold", "units", "fresh", "touch", "test"].index):
        measured = globals()[part]()
        rows, crates = measured if part == "units" else (measured, [])
        results[part] = {"commit": commit, "rows": rows, "crates": crates}
        KEPT.write_text(json.dumps(results))
        page(results)


if __name__ == "__main__":
    main()
