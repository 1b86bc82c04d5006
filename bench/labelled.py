#!/usr/bin/env python3
"""Recordings of other people's servers with labelled causes: does `fenxi explain --window` name the cause first?

Reads the data set of DBSherlock (Yoon, Niu and Mozafari, SIGMOD 2016): TPC-C on MySQL, 110 recordings with one cause each and 66 with
several, in which the seconds of the anomaly are known. Each is written as CSV, imported through bench/labelled/dbsherlock.toml into a
separate store, and explained for those seconds. The file is dbsherlock_dataset_tpcc_16w.mat of the project dbsherlock-reproducibility;
it is not part of this repository. Needs scipy.

    bench/labelled.py dbsherlock_dataset_tpcc_16w.mat [--fenxi PROGRAM]     some 4 minutes on two CPUs
"""

import argparse
import collections
import concurrent.futures
import csv
import itertools
import json
import os
import subprocess
import tempfile

import scipy.io

# Findings that name a cause. A cause with two names is both, and either is right.
NAMES = {
    "Poorly Written Query": ["plan-or-scan-change", "cpu-busier"],
    "Poor Physical Design": ["index-write-cost"],
    "Workload Spike": ["more-arrivals"],
    "I/O Saturation": ["outside-disk", "disk-slower"],
    "DB Backup": ["backup-or-dump"],
    "Table Restore": ["bulk-load"],
    "CPU Saturation": ["outside-load"],
    "Flush Log/Table": ["table-flush", "server-stalls"],
    "Network Congestion": ["network-slower"],
    "Lock Contention": ["locks-more"],
}
ALSO = {"CPU,IO,Network Saturation": ["CPU Saturation", "I/O Saturation", "Network Congestion"], "Network Saturation": ["Network Congestion"]}


def names(cause):
    parts = ALSO.get(cause) or [name for part in cause.split(" + ") for name in ALSO.get(part, [part])]
    return {finding for part in parts for finding in NAMES[part]}


def recordings(data, kind):
    """Name, cause, columns, rows, and the first and last second of the anomaly."""
    causes, sets, regions = {
        "one cause": ("causes", "test_datasets", "abnormal_regions"),
        "several causes": ("compound_causes", "compound_datasets", "abnormal_regions_compound"),
    }[kind]
    rows, columns = data[sets].shape
    for row, column in itertools.product(range(rows), range(columns)):
        recording, region = data[sets][row, column][0, 0], data[regions][row, column].flatten()
        titles = [str(name[0]) for name in recording.field_names.flatten()]
        seconds = recording.data[:, 0]
        yield f"{row}-{column}", str(data[causes].flatten()[row][0]), titles, recording.data, seconds[region[0] - 1] - 1, seconds[region[-1] - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--fenxi", default="fenxi")
    options = parser.parse_args()
    mapping = os.path.join(os.path.dirname(os.path.abspath(__file__)), "labelled", "dbsherlock.toml")
    data = scipy.io.loadmat(options.file, struct_as_record=False)
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("one cause", "several causes"):
            store = os.path.join(folder, kind.split()[0])
            call = lambda *words: subprocess.run([options.fenxi, "--store", store, *words], capture_output=True, text=True, check=True).stdout

            def judged(of):
                name, cause, _, _, begin, end = of
                answer = json.loads(call("explain", name, "--window", f"{begin:.0f}..{end:.0f}", "--json").split("\n")[0])
                return name, cause, answer

            every = list(recordings(data, kind))
            for name, _, columns, rows, _, _ in every:
                path = os.path.join(folder, f"{name}.csv")
                with open(path, "w", newline="") as file:
                    csv.writer(file).writerows([columns, *rows.tolist()])
                call("import", path, "--map", mapping, "--start", "2015-07-10 12:00:00", "--name", name, "--no-answers")
            right, of = collections.Counter(), collections.Counter()
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                for name, cause, answer in pool.map(judged, every):
                    is_right = answer["finding"] in names(cause)
                    right[cause] += is_right
                    of[cause] += 1
                    if not is_right:
                        print(f"{name} {cause}: {answer['text']} {answer['detail'][:160]}", flush=True)
            print(f"\n| {kind} | named first |\n|---|---:|")
            for cause in of:
                print(f"| {cause} | {right[cause]} of {of[cause]} |")
            print(f"| all | {sum(right.values())} of {sum(of.values())} |\n", flush=True)


if __name__ == "__main__":
    main()
