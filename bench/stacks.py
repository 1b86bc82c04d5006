#!/usr/bin/env python3
"""Which share of the user stacks of ordinary programs reach their outermost function (`_start`, or where a thread begins), by
`fenxi trace profile`: PostgreSQL, MariaDB, Python, node, programs in C, Rust and Go, none of them built for it; and of another build of
fenxi, in the seconds before. What profiling two full CPUs costs, of all processes.

Starts its own servers. Needs root. Settings: BENCH_SECONDS (6), BENCH_PROGRAMS (all; or names of them), FENXI_OTHER (PROGRAM).
"""

import os
import pathlib
import shutil
import signal
import subprocess
import time

from common import FENXI, ROOT, environment, fresh, need, report, setting
from servers import mariadb, postgres

SECONDS = setting("BENCH_SECONDS", 6)
OTHER = setting("FENXI_OTHER", "")
CHOSEN = setting("BENCH_PROGRAMS", "").split()
BEGINS = {"_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "clone", "clone3", "__clone",
          "__clone3", "start_thread", "_dl_start_user", "main", "runtime.goexit", "runtime.goexit.abi0", "runtime.mstart",
          "runtime.rt0_go", "runtime.rt0_go.abi0"}

PYTHON = """
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def sort(n): return sorted((str(i * 7919 % 10007) for i in range(n)), key=lambda s: s[::-1])
while True: fib(18); sort(3000)
"""
NODE = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
for (;;) { fib(25); JSON.parse(JSON.stringify(Array.from({length: 2000}, (_, i) => ({i, s: 'x' + i})))); }
"""
RUST = """
use std::collections::BTreeMap;
#[inline(never)] fn fill(n: u64) -> BTreeMap<u64, String> { (0..n).map(|i| (i * 7919 % 10007, format!("{i}"))).collect() }
#[inline(never)] fn sum(m: &BTreeMap<u64, String>) -> usize { m.values().map(|v| v.len()).sum() }
fn main() { let mut n = 0; loop { n += sum(&fill(2000)); if n == 1 { println!("{n}"); } } }
"""
GO = """package main
import ("fmt"; "sort"; "strings")
func work(n int) string { s := []string{}; for i := 0; i < n; i++ { s = append(s, fmt.Sprint(i*7919%10007)) }; sort.Strings(s); return strings.Join(s, ",") }
func main() { n := 0; for { n += len(work(3000)); if n == 1 { fmt.Println(n) } } }
"""


def compiled(folder, name, text, argv, need_program):
    """A program that is compiled here; None without its compiler."""
    if not shutil.which(need_program):
        return None
    source = folder / name
    source.write_text(text)
    env = dict(os.environ, GOCACHE=str(folder / "go"), GO111MODULE="off")
    subprocess.run([*argv, "-o", folder / name.split(".")[0], source], check=True, env=env, cwd=folder)
    return [folder / name.split(".")[0]]


def programs():
    """Name, whose threads are named how, and what begins its load: it gives a process to observe, and what ends it."""
    folder = fresh("stacks")

    def plain(argv):
        process = subprocess.Popen([str(a) for a in argv], stdout=subprocess.DEVNULL)
        return process.pid, lambda: (process.kill(), process.wait())

    def of_postgres():
        server = postgres(15455)
        psql = server.client[0].parent
        connect = ["-h", "127.0.0.1", "-p", "15455", "-U", "postgres", "postgres"]
        subprocess.run([psql / "pgbench", "-i", "-q", "-s", "5", *connect], check=True, capture_output=True)
        client = subprocess.Popen([psql / "pgbench", "-n", "-c", "4", "-T", "600", *connect], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return server.process.pid, lambda: (client.kill(), client.wait(), server.stop())

    def of_mariadb():
        server = mariadb(15456)
        client = subprocess.Popen(["mariadb-slap", "-h", "127.0.0.1", "-P", "15456", "-u", server.user, "--auto-generate-sql",
                                   "--auto-generate-sql-load-type=mixed", "--number-of-queries=100000000", "-c", "4"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return server.process.pid, lambda: (client.kill(), client.wait(), server.stop())

    nested = (ROOT / "crates/ebpf/tests/it/programs/nested.c").read_text()
    c = compiled(folder, "nested.c", nested, ["cc", "-O2", "-fomit-frame-pointer"], "cc")
    rust = compiled(folder, "tree.rs", RUST, ["rustc", "-O"], "rustc")
    go = compiled(folder, "words.go", GO, ["go", "build"], "go")
    (folder / "node.js").write_text(NODE)
    yield "postgres (pgbench)", of_postgres
    yield "mariadbd (mariadb-slap)", of_mariadb
    yield "python3", lambda: plain(["/usr/bin/python3", "-c", PYTHON])
    yield "node", lambda: plain(["/usr/bin/node", folder / "node.js"])
    if c:
        yield "C, -O2 -fomit-frame-pointer", lambda: plain([*c, 3000 * SECONDS])
    if rust:
        yield "Rust, -O", lambda: plain(rust)
    if go:
        yield "Go", lambda: plain(go)


def is_whole(frames, program):
    """Whether the outermost frame is where a program or a thread begins; of a stripped one, its file calls the library's start."""
    begins = [frame.split("@")[0] for frame in frames[:2]]
    return begins[0] in BEGINS or begins[0] == f"[{program}]" and len(begins) > 1 and begins[1].startswith("__libc_start")


def profiled(program, *options):
    """What the profiler prints, and its CPU seconds."""
    argv = [program, "trace", "profile", *options, SECONDS, 1]
    process = subprocess.Popen([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit(f"bench: {' '.join(map(str, argv))}: {err}")
    return out, err, usage.ru_utime + usage.ru_stime


def counted(profiler, pid):
    """Samples with a user stack, those that are whole, frames, CPU seconds of the profiler."""
    out, err, cpu_s = profiled(profiler, "--folded", "-p", pid)
    samples, whole, depth, cut = 0, 0, 0, {}
    program = pathlib.Path(os.readlink(f"/proc/{pid}/exe")).name if os.path.exists(f"/proc/{pid}/exe") else "?"
    for line in out.splitlines():
        stack, n = line.rsplit(" ", 1)
        frames = [frame for frame in stack.split(";")[1:] if not frame.endswith("_[k]")]
        if not frames or frames == ["[no stack]"]:
            continue
        samples += int(n)
        depth += int(n) * len(frames)
        if is_whole(frames, program):
            whole += int(n)
        else:
            cut[";".join(frames[:2])] = cut.get(";".join(frames[:2]), 0) + int(n)
    return samples, whole, depth, cpu_s, sorted(cut.items(), key=lambda c: -c[1])[:3], err


def main():
    need(FENXI, "run `make build`")
    rows, notes = [], ["A stack is whole when its outermost frame is where a program or a thread begins. Samples in the kernel count, "
                       "with the user stack below them. CPU is that of the profiler, its start included, in builds that are not optimised.",
                       f"{SECONDS} s each, 97 samples a second and CPU; seen first by the profiler in these seconds."]
    for name, begin in programs():
        if CHOSEN and not any(chosen in name for chosen in CHOSEN):
            continue
        pid, end = begin()
        rows.append([name])
        try:
            time.sleep(1.5)
            for profiler in filter(None, [OTHER, FENXI]):
                samples, whole, depth, cpu_s, cut, err = counted(profiler, pid)
                share = f"{100 * whole / samples:.1f} %" if samples else "-"
                rows[-1] += [samples, share, f"{depth / max(samples, 1):.1f}", f"{cpu_s:.2f}"]
                print(rows[-1], cut, err.strip(), flush=True)
        finally:
            end()
    busy = [subprocess.Popen(["/usr/bin/python3", "-c", PYTHON], stdout=subprocess.DEVNULL) for _ in range(2)]
    try:
        time.sleep(1)
        for profiler in filter(None, [OTHER, FENXI]):
            out, _, cpu_s = profiled(profiler, "-F", 99)
            observing = next((line for line in out.splitlines() if line.startswith("observing:")), "")
            notes.append(f"Two Python programs and all others at 99 Hz, by {'the other' if profiler == OTHER else 'this'} build: "
                         f"{cpu_s:.2f} CPU s of the profiler in {SECONDS} s, its start included; {observing}.")
    finally:
        for process in busy:
            process.kill()
            process.wait()
    header = ["samples", "whole", "frames", "CPU s"]
    header = ["program", *(f"{word}, other build" for word in header if OTHER), *header]
    report("stacks", "Whole user stacks", header, rows, notes)


if __name__ == "__main__":
    main()
