#!/usr/bin/env python3
"""What recording many hosts costs the recorder, beside collecting the output of as many sadc.

Both have BENCH_HOSTS (64) hosts, which are this machine, for BENCH_SECONDS (30) at one sample a second: `fenxi record --on` with
an agent for each, and as many `sadc -S XALL 1` whose output one process each writes into a file, as over ssh. The transports are
plain processes, so that what is counted is the work and no encryption. Beside it one agent alone, and what it sends.
"""

import json
import os
import subprocess
import time

from common import FENXI, environment, fresh, need, output, report, setting

SADC = "/usr/lib/sysstat/sadc"
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_of(pid):
    """CPU seconds of a process, without its children."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:")), 0)


def recorded(hosts, seconds):
    store = fresh(f"hosts-{hosts}") / "store"
    on = [word for n in range(hosts) for word in ("--on", f"h{n}=env A={n}")]
    child = subprocess.Popen([FENXI, "--store", store, "--quiet", "record", "--for", f"{seconds}s", *on],
                             env=environment(), stderr=subprocess.PIPE)
    cpu, rss = 0.0, 0
    while child.poll() is None:
        time.sleep(0.2)
        try:
            cpu, rss = cpu_of(child.pid), max(rss, rss_of(child.pid))
        except (OSError, IndexError):
            break
    if child.wait() != 0:
        raise SystemExit(f"bench: {child.stderr.read().decode(errors='replace')}")
    sql = ("SELECT count(DISTINCT host) AS hosts, avg(sent) AS sent, avg(cpu) AS of_agent, sum(n) AS n FROM (SELECT host, wmean(sent_bytes_per_s, dt) "
           "AS sent, wmean(cpu_pct, dt) AS cpu, count(*) AS n FROM agent GROUP BY host)")
    seen = json.loads(output([FENXI, "--store", store, "sql", "-f", "json", sql]))
    return {"cpu": cpu, "rss": rss, **seen}


def collected(hosts, seconds):
    folder = fresh("hosts-sadc")
    children, readers = [], []
    for n in range(hosts):
        child = subprocess.Popen([SADC, "-S", "XALL", "1", str(seconds)], stdout=subprocess.PIPE, env=dict(os.environ, LC_ALL="C"))
        with open(folder / f"{n}", "wb") as file:
            readers.append(subprocess.Popen(["cat"], stdin=child.stdout, stdout=file))
        child.stdout.close()
        children.append(child)

    def used(processes):
        total = 0.0
        for process in processes:
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
            total += usage.ru_utime + usage.ru_stime
        return total

    cpu = used(children)
    return {"agents": cpu, "cpu": used(readers), "bytes": sum(file.stat().st_size for file in folder.iterdir()) / hosts / seconds}


def main():
    hosts, seconds = setting("BENCH_HOSTS", 64), setting("BENCH_SECONDS", 30)
    need(SADC, "it is in the package sysstat")
    rows = []
    one = recorded(1, seconds)
    many = recorded(hosts, seconds)
    for title, n, found in [("fenxi record --on, 1 host", 1, one), (f"fenxi record --on, {hosts} hosts", hosts, many)]:
        rows.append([title, f"{100 * found['cpu'] / seconds:.2f}", f"{found['of_agent']:.3f}",
                     f"{found['sent']:,.0f}", f"{found['rss'] / 2**20:.0f}", f"{found['n'] / max(1, found['hosts']) / seconds:.2f}"])
    sadc = collected(hosts, seconds)
    rows.append([f"{hosts} × sadc -S XALL and cat", f"{100 * sadc['cpu'] / seconds:.2f}", f"{100 * sadc['agents'] / hosts / seconds:.3f}",
                 f"{sadc['bytes']:,.0f}", "", ""])
    report("hosts", "What recording many hosts costs",
           ["", "recorder, % of a CPU", "each agent, % of a CPU", "bytes/s of a host", "recorder MiB", "samples/s of a host"], rows,
           [f"{seconds} s at one sample a second; all default sources. The recorder's share has its start, its own sampling and what is kept of all hosts.",
            "The hosts are one machine: agents beyond what its CPUs can do are late, which samples/s shows."])


if __name__ == "__main__":
    main()
