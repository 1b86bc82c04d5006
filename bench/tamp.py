#!/usr/bin/env python3
"""How fast `fenxi tamp` compresses and decompresses, and how small, against lz4, zstd, pigz, pbzip2 and gzip.

Samples: pages of a PostgreSQL table, CSV, text of mpstat, sar and others as `imports.py` makes it (or else counters of this
machine, again and again), a tar of /usr, random bytes, zeros. They are in /dev/shm, and
what is made goes to /dev/null, so that no disk is measured. Tools take turns, and medians over the rounds count. The peer of
zstd mode is the zstd library of the same version with its own threads, through the Python wheel `zstandard`; Debian's zstd
is shown beside it. Settings: BENCH_MIB (64), BENCH_ROUNDS (3), BENCH_LZ4: another `lz4`, of 1.10 or newer, which has threads;
no package of Debian 12 has one.
"""

import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv

from common import DATA, FENXI, Process, need, output, report, setting, size_of

MIB = setting("BENCH_MIB", 64)
ROUNDS = setting("BENCH_ROUNDS", 3)
LZ4 = os.environ.pop("BENCH_LZ4", "")  # a path of this machine, which the page does not repeat
SHM = pathlib.Path("/dev/shm")
WHEEL = "zstandard==0.25.0"  # has zstd 1.5.7
LIBRARY = """
import sys, zstandard
source = open(sys.argv[2], "rb")
target = open("/dev/null", "wb")
if sys.argv[1] == "-d":
    zstandard.ZstdDecompressor().copy_stream(source, target)
else:
    zstandard.ZstdCompressor(level=1, threads=-1, write_checksum=True).copy_stream(
        source, open(sys.argv[3], "wb"), size=-1, read_size=1 << 20, write_size=1 << 20)
"""


def postgres_pages(path):
    """Files of a pgbench database, as they are on disk; false where there is no PostgreSQL."""
    found = sorted(pathlib.Path("/").glob("usr/lib/postgresql/*/bin/initdb")) + [pathlib.Path(shutil.which("initdb") or "/none")]
    if not found[0].exists():
        return False
    bin_dir = found[0].parent
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        folder.chmod(0o777)
        data = folder / "data"

        def run(*argv, **kwargs):
            subprocess.run([*user, *map(str, argv)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, **kwargs)

        run(bin_dir / "initdb", "-D", data, "--no-sync", "-A", "trust")
        run(bin_dir / "pg_ctl", "-D", data, "-w", "-o", f"-k {folder} -c listen_addresses= -c fsync=off", "start", "-l", folder / "log")
        try:
            run(bin_dir / "pgbench", "-h", folder, "-i", "-q", "-s", str(MIB // 14 + 1), "postgres")
            run(bin_dir / "pgbench", "-h", folder, "-T", "5", "-c", "4", "postgres")
            run(bin_dir / "psql", "-h", folder, "-c", "checkpoint", "postgres")
            with open(DATA / "tamp.csv", "wb") as csv:
                subprocess.run([*user, str(bin_dir / "psql"), "-h", str(folder), "-c",
                                "copy (select a.*, b.bid, now() + aid * interval '1 s', aid * random() from pgbench_accounts a "
                                "join pgbench_branches b using (bid)) to stdout csv", "postgres"], check=True, stdout=csv, cwd=folder)
        finally:
            run(bin_dir / "pg_ctl", "-D", data, "-m", "fast", "stop")
        files = sorted(data.glob("base/*/[0-9]*"), key=lambda f: -f.stat().st_size)
        concatenate(path, files)
    return True


def concatenate(path, files):
    left = MIB << 20
    with open(path, "wb") as target:
        for file in files:
            try:
                part = file.read_bytes()[:left]
            except OSError:
                continue
            target.write(part)
            left -= len(part)
            if left <= 0:
                return


def snapshots(path):
    """Text as tools print it: counters of this machine and its processes, again and again."""
    names = ["interrupts", "softirqs", "diskstats", "vmstat", "meminfo", "schedstat", "net/dev", "net/netstat", "net/snmp", "stat"]
    left = MIB << 20
    with open(path, "wb") as target:
        while left > 0:
            top = subprocess.run(["ps", "-eo", "user,pid,ppid,pcpu,pmem,vsz,rss,tty,stat,lstart,time,args"], stdout=subprocess.PIPE).stdout
            files = [pathlib.Path("/proc", name) for name in names]
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                files += [process / name for name in ("stat", "io", "schedstat")]
            parts = [top]
            for file in files:
                try:
                    parts.append(file.read_bytes())
                except OSError:
                    pass  # not on every kernel, or the process has ended
            part = b"".join(parts)[:left]
            target.write(part)
            left -= len(part)


def samples():
    """Makes the samples once; gives their names and paths."""
    DATA.mkdir(parents=True, exist_ok=True)
    made = {}
    folder = SHM / f"fenxi-tamp-{MIB}"
    folder.mkdir(exist_ok=True)
    pages = folder / "pages"
    if pages.exists() or postgres_pages(pages):
        made["database pages"] = pages
        csv = folder / "csv"
        if not csv.exists():
            concatenate(csv, [DATA / "tamp.csv"])
        made["csv"] = csv
    text = folder / "text"
    if not text.exists():
        printed = sorted(DATA.glob("import-*-64cpu.txt"))
        if printed:
            text.write_bytes(b"".join(open(file, "rb").read((MIB << 20) // len(printed)) for file in printed))
        else:
            snapshots(text)
    made["tool text"] = text
    usr = folder / "usr"
    if not usr.exists():
        tar = subprocess.Popen(["tar", "cf", "-", "-C", "/usr", "."], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        usr.write_bytes(tar.stdout.read(MIB << 20))
        tar.stdout.close()
        tar.wait()
    made["/usr tar"] = usr
    for name, content in (("random", lambda: random.Random(1).randbytes(MIB << 20)), ("zeros", lambda: bytes(MIB << 20))):
        path = folder / name
        if not path.exists():
            path.write_bytes(content())
        made[name] = path
    return made


def library():
    """A Python that has the wheel; None if it cannot be had."""
    folder = DATA / "tamp-venv"
    python = folder / "bin" / "python"
    try:
        if not python.exists():
            venv.create(folder, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "-q", WHEEL], check=True)
        subprocess.run([python, "-c", "import zstandard"], check=True)
        return python
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"without the library of the same version: {error}", file=sys.stderr)
        return None


def version(tool):
    """What a tool prints as its version, in one line."""
    return output([tool, "--version"]).strip().splitlines()[0].strip("* ")


def threaded_lz4():
    """The name of the peer of LZ4 mode that has threads; None where there is none."""
    number = re.search(r"v([0-9.]+)", version(LZ4)) if LZ4 else None
    return f"lz4 {number.group(1)} -1 -T0" if number else None


def tools():
    """Name, words to compress PATH to standard output, and to decompress it there."""
    tamp = [FENXI, "tamp", "-q"]
    found = [
        ("tamp --lz4", [*tamp, "--lz4", "-c"], [*tamp, "-dc"]),
        ("tamp", [*tamp, "-c"], [*tamp, "-dc"]),
        ("tamp --gzip", [*tamp, "--gzip", "-c"], [*tamp, "-dc"]),
        ("lz4 -1", ["lz4", "-1", "-qc"], ["lz4", "-dqc"]),
        ("zstd -1 -T0", ["zstd", "-1", "-T0", "-qc"], ["zstd", "-dqc"]),
        ("pigz --fast", ["pigz", "--fast", "-c"], ["pigz", "-dc"]),
        ("pbzip2 -1", ["pbzip2", "-1", "-c"], ["pbzip2", "-dc"]),
        ("gzip --fast", ["gzip", "--fast", "-c"], ["gzip", "-dc"]),
        ("gzip", ["gzip", "-c"], ["gzip", "-dc"]),
        ("cat", ["cat"], ["cat"]),
    ]
    if LZ4:
        found.append((threaded_lz4(), [LZ4, "-1", "-T0", "-qc"], [LZ4, "-T0", "-dqc"]))
    there = [tool for tool in found if shutil.which(str(tool[1][0]))]
    for tool in found:
        if tool not in there:
            print(f"without {tool[0]}: not installed", file=sys.stderr)
    return there


def timed(argv, path, to="/dev/null"):
    with open(to, "wb") as target:
        done = Process([*argv, path], stdout=target).wait()
    if done.status != 0:
        sys.exit(f"bench: {argv}: status {done.status}\n{done.stderr}")
    return done


def measured(sample, path, python):
    """Figures of every tool on a sample: size, and medians of elapsed and CPU seconds both ways."""
    folder = path.parent
    subjects = []
    for i, (name, compress, decompress) in enumerate(tools()):
        packed = folder / f"packed-{i}"
        timed(compress, path, packed)
        subjects.append((name, compress, path, decompress, packed))
    if python:
        packed = folder / "packed-library"
        words = [python, "-c", LIBRARY]
        subprocess.run([*words, "-c", path, packed], check=True)
        subjects.append(("zstd library", [*words, "-c"], path, [*words, "-d"], packed))
    seconds = {}
    for _ in range(ROUNDS):
        for name, compress, plain, decompress, packed in subjects:
            if name == "zstd library":
                one = Process([*compress, plain, "/dev/null"]).wait()
            else:
                one = timed(compress, plain)
            two = timed(decompress, packed)
            seconds.setdefault(name, []).append((one.wall_s, one.cpu_s, two.wall_s, two.cpu_s))
    figures = {}
    for name, *_, packed in subjects:
        medians = [statistics.median(values) for values in zip(*seconds[name])]
        figures[name] = (size_of(packed) / size_of(path), *medians)
        packed.unlink()
    return figures


def main():
    need(FENXI, "run `make build`")
    python = library()
    rows, promises = [], []
    for sample, path in samples().items():
        figures = measured(sample, path, python)
        mb = size_of(path) / 1e6
        for name, (ratio, compress, compress_cpu, decompress, decompress_cpu) in figures.items():
            rows.append([sample, name, f"{ratio:.3f}", f"{mb / compress:.0f}", f"{mb / compress_cpu:.0f}" if compress_cpu else "-",
                         f"{mb / decompress:.0f}", f"{mb / decompress_cpu:.0f}" if decompress_cpu else "-"])
        for ours, peer in (("tamp --lz4", "lz4 -1"), ("tamp --lz4", threaded_lz4()), ("tamp", "zstd library"), ("tamp", "zstd -1 -T0"), ("tamp --gzip", "pigz --fast"), ("tamp", "cat"), ("tamp --lz4", "cat")):
            if ours in figures and peer in figures:
                a, b = figures[ours], figures[peer]
                if peer == "cat" and sample not in ("random", "zeros"):
                    continue
                promises.append(f"{sample}: {ours} against {peer}: compresses {b[1] / a[1]:.2f}×, decompresses {b[3] / a[3]:.2f}×, "
                                f"output {100 * (a[0] / b[0] - 1):+.2f} %; per CPU second {b[2] / max(a[2], 1e-3):.2f}× and {b[4] / max(a[4], 1e-3):.2f}×")
    versions = ", ".join(version(tool) for tool in ("lz4", "zstd", *([LZ4] if LZ4 else [])))
    threaded = [] if LZ4 else ["lz4 with threads (1.10 and newer) is not among the tools: none was named by BENCH_LZ4."]
    report("tamp", "Compressing with every core",
           ["sample", "tool", "output ÷ input", "compress, MB/s", "per CPU second", "decompress, MB/s", "per CPU second"],
           rows, [f"{MIB} MiB of each sample, {ROUNDS} rounds, {os.cpu_count()} CPUs; {versions}; zstd library: {WHEEL}, which has 1.5.7 as tamp has.",
                  "cat is what writing to /dev/null without compression takes: for it `decompress` is the same again.", *threaded, *promises])


if __name__ == "__main__":
    main()
