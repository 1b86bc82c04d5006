#!/usr/bin/env python3
"""Importing text: `fenxi import` end to end against `jc` and a pandas script, on the same files.

End to end is reading, recognising, parsing, Parquet, statistics, keeping the input, sealing. jc
only parses, and is given a slice that it can handle in bounded time and memory; its rate is taken
per line. The pandas script reads the same columns with `read_csv` (C engine) and writes Parquet.

Settings: BENCH_HOURS (8) of one-second samples, BENCH_CPUS (64), BENCH_JC_LINES (20000),
BENCH_ROUNDS (3). BENCH_GIB (0): also imports that many GiB of mpstat text, for its memory.
BENCH_FILES (10000): also imports a tar.zst of that many files of about 4 KiB, of mpstat and of vmstat
in turn, and one file of mpstat of that size.
"""

import io
import random
import shutil
import statistics
import subprocess
import sys
import tarfile

from common import CACHE, DATA, FENXI, fresh, interleaved, measure, need, report, setting, size_of, spread

VENV = CACHE / "bench-venv-1.5.6"
PYTHON = VENV / "bin" / "python"
DISKS = ["nvme0n1", "nvme1n1", "sda", "dm-0"]

MPSTAT = """
import sys, pandas as pd
names = ["time","cpu","usr","nice","sys","iowait","irq","soft","steal","guest","gnice","idle"]
df = pd.read_csv(sys.argv[1], sep=r"\\s+", names=names, skiprows=2, engine="c", low_memory=False)
df = df[df["cpu"] != "CPU"]
for name in names[2:]:
    df[name] = pd.to_numeric(df[name])
df["time"] = pd.to_datetime("2026-11-21 " + df["time"])
df.to_parquet(sys.argv[2], compression="zstd")
"""
VMSTAT = """
import sys, pandas as pd
names = ["r","b","swpd","free","buff","cache","si","so","bi","bo","in","cs","us","sy","id","wa","st","date","time"]
df = pd.read_csv(sys.argv[1], sep=r"\\s+", names=names, skiprows=2, engine="c", low_memory=False)
df = df[~df["r"].isin(["procs", "r"])]
for name in names[:17]:
    df[name] = pd.to_numeric(df[name])
df["time"] = pd.to_datetime(df["date"] + " " + df["time"])
df.to_parquet(sys.argv[2], compression="zstd")
"""


def numbers(seed, n, make):
    source = random.Random(seed)
    return [make(source) for _ in range(n)]


def clock(second):
    second %= 86400
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def cpu_line(r):
    usr, sys_, wait, soft = r.random() * 60, r.random() * 20, r.random() * 5, r.random() * 2
    values = [usr, 0, sys_, wait, 0, soft, 0, 0, 0, 100 - usr - sys_ - wait - soft]
    return "".join(f"{v:8.2f}" for v in values) + "\n"


def mpstat(out, seconds, cpus):
    pool = numbers(1, 4096, cpu_line)
    out.write(f"Linux 6.1.0-18-amd64 (db1) \t11/21/26 \t_x86_64_\t({cpus} CPU)\n")
    header = "     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
    for t in range(seconds):
        now = clock(t + 1)
        out.write(f"\n{clock(t)}{header}{now}     all{pool[t % 4096]}")
        out.write("".join(f"{now} {c:7}{pool[(t * 67 + c * 31) % 4096]}" for c in range(cpus)))


def vmstat(out, seconds, _, seed=2, first=0):
    r = random.Random(seed)
    header = ("procs -----------memory---------- ---swap-- -----io---- -system-- -------cpu------- -----timestamp-----\n"
              " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC\n")
    for t in range(first, first + seconds):
        if (t - first) % 50 == 0:
            out.write(header)
        us, sy = r.randrange(60), r.randrange(30)
        out.write(f"{r.randrange(20):2} {r.randrange(3):2}      0 {r.randrange(10**7)} {r.randrange(10**6)} {r.randrange(10**8)}"
                  f"    0    0 {r.randrange(9999):5} {r.randrange(9999):5} {r.randrange(99999)} {r.randrange(99999)}"
                  f" {us:2} {sy:2} {100 - us - sy:2}  0  0 2026-11-{1 + t // 86400:02} {clock(t)}\n")


def iostat(out, seconds, _):
    r = random.Random(3)
    out.write("Linux 6.1.0-18-amd64 (db1) \t11/21/26 \t_x86_64_\t(8 CPU)\n\n")
    for t in range(seconds):
        out.write(f"11/21/26 {clock(t)}\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
                  f"        {r.random() * 60:7.2f}    0.00 {r.random() * 20:7.2f}    0.10    0.00   50.00\n\n"
                  "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await"
                  " wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n")
        for disk in DISKS:
            v = [r.random() * 1000 for _ in range(12)] + [0.0] * 6 + [1.5, 0.25, r.random() * 9, r.random() * 100]
            out.write(f"{disk:<12}" + "".join(f" {x:9.2f}" for x in v) + "\n")
        out.write("\n\n")


def sar(out, seconds, cpus):
    r = random.Random(4)
    out.write(f"Linux 6.1.0-18-amd64 (db1) \t11/21/26 \t_x86_64_\t({cpus} CPU)\n")
    pool = numbers(5, 4096, cpu_line)
    out.write("\n00:00:00        CPU      %usr     %nice      %sys   %iowait    %steal      %irq     %soft    %guest    %gnice     %idle\n")
    for t in range(1, seconds):
        now = clock(t)
        out.write(f"{now}        all{pool[t % 4096]}")
        out.write("".join(f"{now} {c:10}{pool[(t * 67 + c) % 4096]}" for c in range(cpus)))
    for header, width in [("proc/s   cswch/s", 2), ("pswpin/s pswpout/s", 2),
                          ("kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached  kbcommit   %commit  kbactive   kbinact   kbdirty", 11)]:
        out.write(f"\n00:00:00     {header}\n")
        for t in range(1, seconds):
            out.write(f"{clock(t)}" + "".join(f" {r.random() * 9999:9.2f}" for _ in range(width)) + "\n")
    out.write("\n00:00:00        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil\n")
    for t in range(1, seconds):
        for name in ("lo", "eth0", "eth1"):
            out.write(f"{clock(t)} {name:>12}" + "".join(f" {r.random() * 9999:9.2f}" for _ in range(8)) + "\n")


def text(name, make, seconds, cpus):
    """The file of a made-up recording, made once and kept in the cache."""
    path = DATA / f"import-{name}-{seconds}s-{cpus}cpu.txt"
    if not path.exists():
        print(f"making {path.name}", file=sys.stderr)
        part = path.with_suffix(".part")
        with open(part, "w", buffering=1 << 20) as out:
            make(out, seconds, cpus)
        part.rename(path)
    return path


def small(i):
    """The content of a small file: 4 KiB of one tool, cut at a line, unlike that of the others."""
    out = io.StringIO()
    if i % 2:
        vmstat_part(out, i)
    else:
        mpstat_part(out, i)
    return out.getvalue()[:4096].rpartition("\n")[0] + "\n"


def mpstat_part(out, i, pool=numbers(6, 4096, cpu_line)):
    out.write(f"Linux 6.1.0-18-amd64 (db{i % 20}) \t11/21/26 \t_x86_64_\t(4 CPU)\n")
    header = "     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n"
    for t in range(i, i + 10):
        now = clock(t + 1)
        out.write(f"\n{clock(t)}{header}{now}     all{pool[t * 7 % 4096]}")
        out.write("".join(f"{now} {c:7}{pool[(i * 67 + t + c * 31) % 4096]}" for c in range(4)))


def vmstat_part(out, i):
    whole = io.StringIO()
    vmstat(whole, 60, 0, seed=i, first=i * 8 % 80000)
    out.write(whole.getvalue())


def archive(files):
    """A tar.zst of many small files, made once; as many bytes as one file of mpstat, and as one file of each tool."""
    packed, plain, two = (DATA / f"import-many-{files}{end}" for end in (".tar.zst", ".txt", "-two"))
    if not packed.exists() or not plain.exists() or not two.exists():
        print(f"making {packed.name}", file=sys.stderr)
        size, tar = 0, packed.with_suffix("")
        with tarfile.open(tar, "w") as out:
            for i in range(files):
                content = small(i).encode()
                member = tarfile.TarInfo(f"db{i % 20}/{'vmstat' if i % 2 else 'mpstat'}-{i}.txt")
                member.size, member.mtime = len(content), 1795000000
                out.addfile(member, io.BytesIO(content))
                size += len(content)
        subprocess.run(["zstd", "-q", "-f", "--rm", tar, "-o", packed], check=True)
        two.mkdir(exist_ok=True)
        for path, make, bytes_, second in [(plain, mpstat, size, 900), (two / "mpstat.txt", mpstat, size // 2, 900), (two / "vmstat.txt", vmstat, size // 2, 110)]:
            whole = io.StringIO()
            make(whole, bytes_ // second + 2, 8)
            path.write_text(whole.getvalue()[:bytes_].rpartition("\n")[0] + "\n")
    return packed, plain, two


def many(files, rounds, rows):
    """A tar.zst of many small files against one file of as many bytes."""
    packed, plain, two = archive(files)
    runs = {packed: [], plain: [], two: []}
    times = interleaved(rounds, [(path, lambda path=path: ours(path, runs[path], "--no-answers")) for path in (plain, two, packed)])
    walls = {path: statistics.median(times[path]) for path in runs}
    size = size_of(plain) / 1e6
    for path, label in [(plain, f"mpstat, one file of {size:.0f} MB"), (two, f"mpstat and vmstat, a file of {size / 2:.0f} MB each"), (packed, f"tar.zst of {files:,} files, {size:.0f} MB of mpstat and vmstat")]:
        cpu = statistics.median(r.cpu_s for r in runs[path])
        memory = max(r.max_rss_bytes for r in runs[path])
        rows.append([f"{label}: fenxi import", spread(times[path], 1, 2), f"{size / walls[path]:.0f}", f"{size / cpu:.0f}",
                     f"{memory / 1e6:.0f}", f"{walls[plain] / walls[path]:.2f}"])


def peers():
    probe = "import jc, pandas, pyarrow; print(jc.__version__, pandas.__version__)"
    found = subprocess.run([PYTHON, "-c", probe], capture_output=True, text=True) if PYTHON.exists() else None
    if not found or found.returncode:
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin" / "pip", "install", "--quiet", "jc", "pandas", "pyarrow"], check=True)
        found = subprocess.run([PYTHON, "-c", probe], capture_output=True, text=True, check=True)
    return found.stdout.split()


def ours(path, results, *words):
    store = fresh("import-store")
    done = measure([FENXI, "--store", store, "import", path, "--zone", "UTC", "--interval", "1", "--start", "2026-11-21T00:00:00Z", "-q", *words])
    results.append(done)
    shutil.rmtree(store)


def jc(path, tool, lines):
    with open(path) as source, open(DATA / "import-slice.txt", "w") as out:
        for _, line in zip(range(lines), source):
            out.write(line)
    with open(DATA / "import-slice.txt") as source:
        return measure([VENV / "bin" / "jc", f"--{tool}"], stdin=source)


def one(name, make, seconds, cpus, rounds, script, jc_lines, rows):
    path = text(name, make, seconds, cpus)
    size = size_of(path)
    with open(path, "rb") as source:
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: source.read(1 << 20), b""))
    runs, subjects = [], []
    subjects.append(("fenxi", lambda: ours(path, runs, "--no-answers")))
    if script:
        (DATA / "import-peer.py").write_text(script)
        subjects.append(("pandas", lambda: measure([PYTHON, DATA / "import-peer.py", path, DATA / "import-peer.parquet"])))
    if jc_lines:
        subjects.append(("jc", lambda: jc(path, name, jc_lines)))
    times = interleaved(rounds, subjects)
    wall = statistics.median(times["fenxi"])
    cpu = statistics.median(r.cpu_s for r in runs)
    memory = max(r.max_rss_bytes for r in runs)
    label = f"{name}, {lines:,} lines, {size / 1e6:.0f} MB"
    rows.append([f"{label}: fenxi import", spread(times["fenxi"], 1, 2), f"{size / 1e6 / wall:.0f}",
                 f"{size / 1e6 / cpu:.0f}", f"{memory / 1e6:.0f}", "1"])
    if script:
        middle = statistics.median(times["pandas"])
        rows.append([f"{name}: pandas read_csv", spread(times["pandas"], 1, 2), f"{size / 1e6 / middle:.1f}", "", "", f"{middle / wall:.1f}"])
    if jc_lines:
        per_line = statistics.median(times["jc"]) / jc_lines
        rows.append([f"{name}: jc, {jc_lines:,} lines", spread(times["jc"], 1, 2), f"{size / lines / per_line / 1e6:.2f}", "", "",
                     f"{per_line / (wall / lines):.0f}"])


def large(gib, cpus, rows):
    path = text("mpstat", mpstat, 28800, cpus)
    times = int(gib * (1 << 30) / size_of(path)) + 1
    store = fresh("import-store")
    feed = subprocess.Popen(["cat"] + [path] * times, stdout=subprocess.PIPE)
    done = measure([FENXI, "--store", store, "import", "-", "--zone", "UTC", "--interval", "1", "-q"], stdin=feed.stdout)
    feed.wait()
    size = times * size_of(path)
    rows.append([f"mpstat, {size / (1 << 30):.1f} GiB from a pipe: fenxi import", f"{done.wall_s:.0f}", f"{size / 1e6 / done.wall_s:.0f}",
                 f"{size / 1e6 / done.cpu_s:.0f}", f"{done.max_rss_bytes / 1e6:.0f}", ""])
    shutil.rmtree(store)


def main():
    need(FENXI, "run `make build`")
    DATA.mkdir(parents=True, exist_ok=True)
    seconds, cpus = int(setting("BENCH_HOURS", 8.0) * 3600), setting("BENCH_CPUS", 64)
    rounds, lines = setting("BENCH_ROUNDS", 3), setting("BENCH_JC_LINES", 20000)
    versions = peers()
    rows = []
    one("mpstat", mpstat, seconds, cpus, rounds, MPSTAT, lines, rows)
    one("vmstat", vmstat, seconds * 40, cpus, rounds, VMSTAT, lines, rows)
    one("iostat", iostat, seconds * 6, cpus, rounds, None, lines, rows)
    one("sar", sar, seconds, cpus, rounds, None, 0, rows)
    if setting("BENCH_FILES", 10000) > 0:
        many(setting("BENCH_FILES", 10000), rounds, rows)
    if setting("BENCH_GIB", 0.0) > 0:
        large(setting("BENCH_GIB", 0.0), cpus, rows)
    whole = []
    ours(text("mpstat", mpstat, seconds, cpus), whole)
    report("imports", "Importing text",
           ["what", "seconds, median (min–max)", "MB/s", "MB per CPU second", "memory, MB", "fenxi is faster by"], rows,
           [f"{rounds} rounds, programs in turn; jc {versions[0]}, pandas {versions[1]} with pyarrow.",
            "MB/s is by the clock, with all threads; MB per CPU second counts the CPU time of all threads.",
            "All with `--no-answers`. The answers that the page of a large run begins with are asked once, when it is imported: for the "
            f"mpstat of the first line it is {whole[0].wall_s:.1f} s with them.",
            "The tar.zst is compared with the one file of as many bytes above it, not against a peer.",
            "jc is compared per line: it parses a slice and writes JSON, nothing else."])


if __name__ == "__main__":
    main()
