"""What the measurements share: the folders, one measured process, medians, and the pages of results."""

import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("FENXI_CACHE") or pathlib.Path.home() / ".cache" / "fenxi")
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or subprocess.run(
    ["bash", "-c", '. scripts/env && printf %s "$CARGO_TARGET_DIR"'], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout)
ENGINE = pathlib.Path(os.environ.get("DUCKDB_LIB_DIR") or CACHE / "duckdb-1.5.6")
FENXI = pathlib.Path(os.environ.get("FENXI") or TARGET / "debug" / "fenxi")
DATA = CACHE / "bench"

# Settings come by the environment: who asks for help, or writes an option, gets an error and nothing is measured.
if sys.argv[1:]:
    asked = sys.argv[1:] in (["-h"], ["--help"])
    print(sys.modules["__main__"].__doc__, file=sys.stdout if asked else sys.stderr)
    sys.exit(0 if asked else f"bench: unexpected argument `{sys.argv[1]}`")


def environment():
    """The environment for everything that is started: the engine's library can be found."""
    env = dict(os.environ, DUCKDB_LIB_DIR=str(ENGINE), CARGO_TARGET_DIR=str(TARGET))
    env["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(ENGINE), env.get("LD_LIBRARY_PATH")]))
    return env


class Process:
    """A started process whose CPU time and elapsed time are known when it ends."""

    def __init__(self, argv, **kwargs):
        self.argv = [str(a) for a in argv]
        kwargs.setdefault("env", environment())
        kwargs.setdefault("stdout", subprocess.DEVNULL)
        kwargs.setdefault("stderr", subprocess.PIPE)
        self.began = time.monotonic()
        self.process = subprocess.Popen(self.argv, **kwargs)

    def wait(self):
        """Waits; gives the process with cpu_s, wall_s, max_rss_bytes, status."""
        stderr = self.process.stderr.read() if self.process.stderr else b""
        _, status, usage = os.wait4(self.process.pid, 0)
        self.wall_s = time.monotonic() - self.began
        self.process.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.max_rss_bytes = usage.ru_maxrss * 1024
        self.stderr = stderr.decode(errors="replace")
        return self


def measure(argv, **kwargs):
    """Runs a process to its end, which must be a good one."""
    done = Process(argv, **kwargs).wait()
    if done.status != 0:
        sys.exit(f"bench: {' '.join(done.argv)}: status {done.status}\n{done.stderr}")
    return done


def output(argv, **kwargs):
    """Runs a process and gives what it printed."""
    return subprocess.run([str(a) for a in argv], env=environment(), check=True, text=True,
                          stdout=subprocess.PIPE, **kwargs).stdout


def need(path, what):
    """Ends when something that is to be measured is missing."""
    if not shutil.which(str(path)) and not pathlib.Path(path).exists():
        sys.exit(f"bench: {path} is missing: {what}")


def json_lines(argv, **kwargs):
    """What a program printed as a line of JSON each."""
    return [json.loads(line) for line in output(argv, **kwargs).splitlines()]


class Skipped(Exception):
    """Something that this machine does not allow, with the reason."""


def setting(name, default):
    """A size, from the environment or the small default."""
    return type(default)(os.environ.get(name, default))


def size_of(path):
    """Bytes of a file, or of all files below a folder."""
    path = pathlib.Path(path)
    if path.is_file():
        return path.stat().st_size
    return sum(f.stat().st_size for f in path.rglob("*") if f.is_file())


def fresh(name):
    """An empty folder for one measurement, in the cache."""
    folder = DATA / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def interleaved(rounds, subjects):
    """Times each subject (a name and a function) `rounds` times, in turn; gives seconds by name.

    One round before is not counted: it warms the caches for all alike.
    """
    seconds = {name: [] for name, _ in subjects}
    for turn in range(rounds + 1):
        for name, work in subjects:
            began = time.perf_counter()
            work()
            if turn > 0:
                seconds[name].append(time.perf_counter() - began)
    return seconds


def cost_of_samples(pairs, samples, rounds):
    """What a sample costs each of `pairs` (a name, our words, the peer's): rows of a page, and its note.

    All of them watch the same seconds, printing to nowhere, once for few and once for many samples, one a second:
    the difference is what samples cost, without the start.
    """
    few, figures = 2, []
    for _ in range(rounds):
        spent = {}
        for n in (few, few + samples):
            started = {(what, side): Process([*argv, "1", str(n)])
                       for what, ours, peer in pairs for side, argv in enumerate((ours, peer))}
            for key, process in started.items():
                done = process.wait()
                if done.status != 0:
                    sys.exit(f"bench: {' '.join(done.argv)}: status {done.status}\n{done.stderr}")
                spent.setdefault(key, []).append(done.cpu_s)
        figures.append(spent)
    rows = []
    for what, _, _ in pairs:
        cost = [statistics.median(f[what, side][1] - f[what, side][0] for f in figures) / samples * 1e6 for side in (0, 1)]
        begin = [statistics.median(f[what, side][0] for f in figures) * 1e3 for side in (0, 1)]
        ratio = f"{cost[0] / cost[1]:.2f}" if cost[1] > 0 else "-"
        rows.append([what, *(f"{v:.0f}" for v in cost), ratio, *(f"{v:.1f}" for v in begin)])
    note = (f"{samples} samples more than {few}, one a second, {rounds} round(s), all processes at the same time. CPU is "
            f"user and system time. The last two columns are a whole run with {few} samples: the start of the process, mostly.")
    return rows, note


def spread(values, scale=1.0, digits=1):
    """The median, minimum and maximum, as text."""
    low, middle, high = (scale * f(values) for f in (min, statistics.median, max))
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def synth(name, runs, seconds, cpus, full=False, rolled=None):
    """A store of made-up runs, made once and kept in the cache; gives its folder. With `rolled` seconds between samples, the
    runs follow one another."""
    store = DATA / f"{name}-{runs}x{seconds}s-{cpus}cpu"
    done = store / ".complete"
    if not done.exists():
        shutil.rmtree(store, ignore_errors=True)
        DATA.mkdir(parents=True, exist_ok=True)
        print(f"making {runs} runs of {seconds} s with {cpus} CPUs in {store}", file=sys.stderr)
        # With the features that everything else is built with: nothing is compiled twice.
        measure(["cargo", "build", "--locked", "--quiet", "--workspace", "--tests", "--bins", "--example", "synth"], cwd=ROOT, stderr=None)
        argv = [TARGET / "debug" / "examples" / "synth", store, runs, seconds, cpus]
        argv += (["full"] if full else []) + (["rolled", rolled] if rolled else [])
        measure(argv, cwd=ROOT, stderr=None)
        done.touch()
    return store


def machine():
    """One line about where this was measured."""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.machine())
    memory = int(open("/proc/meminfo").readline().split()[1]) / 1048576
    return f"{os.cpu_count()} × {model}, {memory:.0f} GiB, Linux {platform.release()}"


def report(name, title, header, rows, notes):
    """Prints the table and writes bench/results/NAME.md."""
    load = " ".join(f"{v:.2f}" for v in os.getloadavg())
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], text=True, capture_output=True)
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    lines = [f"# {title}", "", f"Measured {when} at commit {commit.stdout.strip() or '?'} by `{command()}`.  ",
             f"Machine: {machine()}; load average at the end {load}.", ""]
    lines.append("| " + " | ".join(header) + " |")
    lines.append("|" + "|".join("---" if i == 0 else "---:" for i in range(len(header))) + "|")
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    lines += [""] + [f"* {note}" for note in notes]
    text = "\n".join(lines) + "\n"
    page = ROOT / "bench" / "results" / f"{name}.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(text)
    print(text)
    print(f"written to {page.relative_to(ROOT)}", file=sys.stderr)


def command():
    """How this measurement was started, with the sizes that were set."""
    sizes = [f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith("BENCH_")]
    return " ".join(sizes + ["bench/" + pathlib.Path(sys.argv[0]).name])
