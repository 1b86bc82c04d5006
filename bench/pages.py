#!/usr/bin/env python3
"""Pages out of one recording of sadc: `fenxi report` against `sadf -g` and, where it is installed, pgCluu.

All get the same recording: sadf the binary file, Fenxi and pgCluu the text of `sar -A` on it. Fenxi reads that once, into a
run, and draws the run; both are reported.

Settings: BENCH_SECONDS (900) to record at one sample a second, or BENCH_SADC, a file that is there already;
BENCH_ROUNDS (5).
"""

import os
import pathlib
import shutil
import statistics

from common import FENXI, environment, fresh, measure, need, output, report, setting, size_of, spread

SADC = "/usr/lib/sysstat/sadc"


def recorded(folder):
    """The recording of sadc."""
    given = os.environ.get("BENCH_SADC")
    if given:
        return pathlib.Path(given)
    need(SADC, "install sysstat")
    path = folder / "sa"
    measure([SADC, "-S", "XALL", "1", setting("BENCH_SECONDS", 900), path])
    return path


def subjects(folder, recording):
    """Name, what it makes, and the commands that make it."""
    env = dict(environment(), LC_ALL="C", TZ="UTC")
    store, text, page, svg, site = (folder / name for name in ("store", "sar.txt", "report.html", "sadf.svg", "pgcluu"))
    fenxi = [FENXI, "--store", store, "--quiet"]
    text.write_text(output(["env", "LC_ALL=C", "TZ=UTC", "sar", "-A", "-f", recording]))
    measure([*fenxi, "import", text, "--zone", "UTC"])

    def draw():
        return measure([*fenxi, "report", "@1", "-o", page])

    def read():
        return measure([*fenxi, "import", text, "--zone", "UTC", "--force"])

    def sadf():
        with open(svg, "wb") as out:
            return measure(["sadf", "-g", recording, "--", "-A"], stdout=out, env=env)

    def pgcluu():
        shutil.rmtree(site, ignore_errors=True)
        site.mkdir()
        return measure(["pgcluu", "-i", text, "-o", site], env=env, cwd=folder)

    found = [("fenxi report", page, draw), ("fenxi import, before it", None, read), ("sadf -g -- -A", svg, sadf)]
    return found + ([("pgcluu -i", site, pgcluu)] if shutil.which("pgcluu") else [])


def main():
    need(FENXI, "run `make build`")
    need("sadf", "install sysstat")
    rounds, folder = setting("BENCH_ROUNDS", 5), fresh("pages")
    recording = recorded(folder)
    done = {}
    all_subjects = subjects(folder, recording)
    for turn in range(rounds + 1):
        for name, _, work in all_subjects:
            process = work()
            # The first round warms the caches for all alike.
            if turn > 0:
                done.setdefault(name, []).append(process)
    floor = statistics.median(p.cpu_s for p in done["fenxi report"])
    weight = size_of(folder / "report.html")
    rows = []
    for name, made, _ in all_subjects:
        cpu = [p.cpu_s for p in done[name]]
        size = f"{size_of(made) / 1e6:.2f}" if made else "-"
        times = f"{size_of(made) / weight:.2f}" if made else "-"
        rows.append([name, spread(cpu, 1, 2), f"{statistics.median(cpu) / floor:.2f}",
                     spread([p.wall_s for p in done[name]], 1, 2), size, times])
    samples = output(["env", "LC_ALL=C", "sar", "-q", "-f", recording]).count("\n") - 3
    report("pages", "Pages out of one recording of sadc",
           ["command", "CPU s, median (min–max)", "times fenxi report", "seconds", "MB", "times fenxi report"], rows,
           [f"About {samples} samples of everything that sadc knows (`-S XALL`), {size_of(recording) / 1e6:.2f} MB; "
            f"{rounds} rounds after one that is not counted, in turn. Where the machine was busy, believe the CPU times.",
            "Fenxi's page is one file that works without a network, with every question and finding that has an answer; "
            "`sadf -g` gives one SVG without interaction; pgCluu gives a folder of pages, of which those of PostgreSQL are "
            "empty here, together with the scripts that they need."])


if __name__ == "__main__":
    main()
