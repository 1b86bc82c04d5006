#!/usr/bin/env python3
"""What an observed event costs: nanoseconds more than without an observer, ours beside a bpftrace script of the same use.

Each round runs the workload alone, under our observer and under bpftrace, in turn; of each the minimum of many batches
counts (a busy machine makes batches longer, never shorter). Needs root, bpftrace and a C compiler.

Settings: BENCH_ROUNDS (5), BENCH_BATCHES (300).
"""

import signal
import statistics
import subprocess
import time

from common import DATA, FENXI, ROOT, environment, measure, need, output, report, setting

SOFT = ("tracepoint:irq:softirq_entry { @begin[cpu] = nsecs; } tracepoint:irq:softirq_exit /@begin[cpu]/ { "
        "@ns[args->vec, pid] = sum(nsecs - @begin[cpu]); @n[args->vec, pid] = count(); }")

# What happens, how the workload is called, events of one of its steps, our observer, a bpftrace program.
CASES = [
    ("system call", "getppid", 2000, 1, ["trace", "procsystime"],
     "tracepoint:raw_syscalls:sys_enter { @begin[tid] = nsecs; } "
     "tracepoint:raw_syscalls:sys_exit /@begin[tid]/ { @calls[pid, args->id] = count(); "
     "@ns[pid, args->id] = sum(nsecs - @begin[tid]); delete(@begin[tid]); }"),
    ("context switch", "pipe", 500, 2, ["trace", "util"],
     "tracepoint:sched:sched_switch { @ns[args->prev_pid] = sum(nsecs - @begin[cpu]); @begin[cpu] = nsecs; }"),
    ("context switch", "pipe", 500, 2, ["trace", "pin"],
     "tracepoint:sched:sched_switch { @ns[cpu, args->prev_pid] = sum(nsecs - @begin[cpu]); @begin[cpu] = nsecs; "
     "if (args->prev_state == 0) { @left[args->prev_pid] = nsecs; } if (@left[args->next_pid]) { "
     "@waited[args->next_pid] = sum(nsecs - @left[args->next_pid]); delete(@left[args->next_pid]); } }"),
    ("soft interrupt", "datagram", 500, 1, ["trace", "pin"], SOFT),
    ("soft interrupt", "datagram", 500, 1, ["trace", "pin", "--light"], SOFT),
    ("pread from the page cache", "pread", 1000, 1, ["trace", "iopattern"],
     "tracepoint:syscalls:sys_enter_pread64 { @begin[tid] = nsecs; @last[args->fd] = args->pos; } "
     "tracepoint:syscalls:sys_exit_pread64 /@begin[tid]/ { @n[comm] = count(); @bytes[comm] = sum(args->ret); "
     "@ns = hist(nsecs - @begin[tid]); delete(@begin[tid]); }"),
    ("page fault", "fault", 4000, 1, ["trace", "iopattern"],
     "tracepoint:exceptions:page_fault_user { @n[comm, pid] = count(); @last[tid] = args->address; }"),
]


class Observer:
    """A process that observes while the body of a `with` runs."""

    def __init__(self, argv, ready=None):
        self.argv, self.ready = [str(a) for a in argv], ready

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if self.ready:
            for line in self.process.stdout:
                if self.ready in line:
                    break
        time.sleep(1.5)
        if self.process.poll() is not None:
            raise SystemExit(f"bench: {' '.join(self.argv)} ended: {self.process.stdout.read()}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)


def main():
    need(FENXI, "run `make build`")
    need("bpftrace", "install bpftrace")
    rounds, batches = setting("BENCH_ROUNDS", 5), setting("BENCH_BATCHES", 300)
    DATA.mkdir(parents=True, exist_ok=True)
    program = DATA / "observers"
    measure(["cc", "-O2", "-o", program, ROOT / "bench" / "observers.c"])
    rows = []
    for what, mode, per, events, ours, script in CASES:
        step = lambda: float(output([program, mode, batches, per])) / events
        costs = {"ours": [], "bpftrace": []}
        alone = []
        for _ in range(rounds):
            alone.append(step())
            with Observer([FENXI, *ours]):
                costs["ours"].append(step() - alone[-1])
            with Observer(["bpftrace", "-e", "BEGIN { printf(\"ready\\n\"); } " + script], ready="ready"):
                costs["bpftrace"].append(step() - alone[-1])
        our, peer = (statistics.median(costs[side]) for side in ("ours", "bpftrace"))
        rows.append([what, " ".join(ours[1:]), f"{statistics.median(alone):.0f}", f"{our:.0f}", f"{peer:.0f}",
                     f"{our / peer:.2f}" if peer > 0 else "-"])
    report("observers", "What an observed event costs",
           ["event", "observer", "alone, ns", "ours, ns more", "bpftrace, ns more", "ratio"], rows,
           [f"{rounds} rounds; of each run the minimum of {batches} batches; medians of the rounds.",
            "The bpftrace programs keep less than ours: they are what one would write for a first look."])


if __name__ == "__main__":
    main()
