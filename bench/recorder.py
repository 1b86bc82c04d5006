#!/usr/bin/env python3
"""What recording costs: CPU seconds and bytes per N samples, against sadc (sysstat) and pmlogger (PCP).

All recorders run over the same seconds of the same machine with a comparable set of metrics, so
that whatever else happens there happens to all of them. sadc and pmlogger each take what fenxi's
system sources take: CPU, scheduler, pressure, memory, paging, disks, file systems, interfaces,
TCP, UDP and interrupts. A second fenxi records with every default source (processes, cgroups and
facts too), as a user would. Settings: BENCH_SAMPLES (60), BENCH_ROUNDS (1).
"""

import json
import os
import shutil
import statistics
import subprocess

from common import FENXI, Process, fresh, need, report, setting, size_of

SYSTEM = "cpu,sched,pressure,mem,vm,disk,fs,net,tcp,udp,irq,softirq"
SADC = next((p for p in ["/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc", "/usr/lib/sa/sadc"] if os.path.exists(p)), None)
PCP_NAMES = "/var/lib/pcp/pmns/root_linux"
# The metrics of SYSTEM in PCP's names.
PCP_METRICS = """
log mandatory on default {
    kernel.all.cpu kernel.percpu.cpu
    kernel.all.load kernel.all.runnable kernel.all.blocked kernel.all.pswitch kernel.all.sysfork kernel.all.intr
    kernel.all.pressure
    mem.util mem.vmstat swap
    disk.dev
    filesys.capacity filesys.used filesys.free filesys.avail filesys.maxfiles filesys.usedfiles
    network.interface
    network.tcp network.udp
    kernel.percpu.interrupts kernel.percpu.softirqs
}
"""


def fenxi(store, samples, *options):
    return Process([FENXI, "--store", store, "--quiet", "record", "--interval", "1s", "--for", f"{samples}s", *options])


def start_sadc(folder, samples):
    # One sample more: its first one is a beginning without an interval, as the others' is.
    return Process([SADC, "-S", "XALL", "1", samples + 1, folder / "sadc.data"])


def start_pmlogger(folder, samples):
    names = folder / "names"
    subprocess.run(["/usr/lib/pcp/bin/pmnsmerge", "-f", PCP_NAMES, names], check=True, capture_output=True)
    (folder / "pmlogger.conf").write_text(PCP_METRICS)
    # -o: its own local context, without a pmcd beside it, which is PCP's cheapest way.
    argv = ["pmlogger", "-o", "-c", folder / "pmlogger.conf", "-t", "1sec", "-T", f"{samples}sec",
            "-l", folder / "pmlogger.log", folder / "archive"]
    # Without derived metrics: they are not needed, and this version dumps its state for each in a log.
    return Process(argv, env=dict(os.environ, PMNS_DEFAULT=str(names), PCP_DERIVED_CONFIG=""))


def one_round(turn, samples):
    """Runs all recorders at once; gives (cpu seconds, bytes) by name."""
    folder = fresh(f"recorder-{turn}")
    started = {
        "fenxi, system sources": fenxi(folder / "system", samples, "--source", SYSTEM),
        "fenxi, every default source": fenxi(folder / "default", samples),
    }
    if SADC:
        started["sadc -S XALL"] = start_sadc(folder, samples)
    if shutil.which("pmlogger") and os.path.exists(PCP_NAMES):
        started["pmlogger -o"] = start_pmlogger(folder, samples)
    figures = {}
    for name, process in started.items():
        done = process.wait()
        if done.status != 0:
            raise SystemExit(f"bench: {name}: status {done.status}\n{done.stderr}")
        figures[name] = [done.cpu_s, 0]
    figures["fenxi, system sources"][1] = size_of(folder / "system" / "runs")
    figures["fenxi, every default source"][1] = size_of(folder / "default" / "runs")
    if SADC:
        figures["sadc -S XALL"][1] = size_of(folder / "sadc.data")
    if "pmlogger -o" in figures:
        figures["pmlogger -o"][1] = sum(size_of(p) for p in folder.glob("archive.*"))
    figures["split"] = own_cost(folder / "default")
    return figures


def own_cost(store):
    """Where the CPU time of a run went, by its own account: {source: seconds}, and sealing."""
    manifest = json.loads(next((store / "runs").glob("run=*/run.json")).read_text())
    cost = {c["source"]: c["cpu_s"] for c in manifest.get("costs", [])}
    cost["sealing"] = manifest.get("seal_cpu_s") or 0.0
    return cost


def main():
    need(FENXI, "run `make build`")
    samples, rounds = setting("BENCH_SAMPLES", 60), setting("BENCH_ROUNDS", 1)
    figures = [one_round(turn, samples) for turn in range(rounds)]
    splits = [f.pop("split") for f in figures]
    names = list(figures[0])
    cpu = {n: statistics.median(f[n][0] for f in figures) for n in names}
    size = {n: statistics.median(f[n][1] for f in figures) for n in names}
    peer = "sadc -S XALL" if SADC else None

    def ratio(values, name):
        return f"{values[name] / values[peer]:.2f}" if peer and values[peer] else "-"

    rows = [[n, f"{cpu[n]:.3f}", ratio(cpu, n), f"{100 * cpu[n] / samples:.2f}", f"{size[n]:,.0f}", ratio(size, n)]
            for n in names]
    heaviest = sorted(splits[-1].items(), key=lambda item: -item[1])[:6]
    notes = [f"{samples} samples, one a second, {rounds} round(s), all recorders at the same time.",
             "CPU is user and system time of the whole process: start, sampling and, for fenxi, sealing with statistics.",
             "pmlogger reads in its own process (local context); with a pmcd beside it, it costs more.",
             "Heaviest parts of fenxi with every default source, CPU s: "
             + ", ".join(f"{name} {seconds:.3f}" for name, seconds in heaviest) + "."]
    if "pmlogger -o" in cpu:
        notes.append(f"fenxi (system sources) / pmlogger: CPU {cpu['fenxi, system sources'] / cpu['pmlogger -o']:.2f}, "
                     f"bytes {size['fenxi, system sources'] / size['pmlogger -o']:.2f}.")
    else:
        notes.append("NOT measured: pmlogger (package pcp is not installed).")
    if not SADC:
        notes.append("NOT measured: sadc (package sysstat is not installed).")
    report("recorder", "What recording costs",
           ["recorder", "CPU s", "/ sadc", "% of a core", "bytes", "/ sadc"], rows, notes)


if __name__ == "__main__":
    main()
