#!/usr/bin/env python3
"""Faults with known causes, injected under real loads: does Fenxi name them?

Each file in bench/faults/ is a fault: a load on a separate database server (`SERVERS`, `WORKLOAD`), or programs (`LOADS`: the words
of a command without and with the fault); what is done to it (`injected`), and what must be reported. Healthy runs and runs with the fault are
made in turn, so that a drift of the machine is in both. Then it is asked: does the first finding that is
new with the fault name the cause, does any, is a finding of a healthy run false, and is the part with the injected fault the largest
change of a transaction's latency, with what residual? `FINDINGS` are the findings that name it; where it has words for one, what is reported
must have the word. Where no finding is the right one, `SENTENCE` is a word that the first sentence of `fenxi explain` must have. Statements
about each run must not contradict each other (contradictions.py): a run that does ends the bench with status 1.
Settings: BENCH_REPEATS (1), BENCH_SECONDS (6), BENCH_FAULTS and BENCH_SERVERS (all, or names with commas), BENCH_EACH (0: each load of a
fault; 1: the first one, and so on), BENCH_PORT (17432),
BENCH_AGAIN (0; 1 judges the runs that are there once more; what others' tools wrote is imported again), BENCH_RULES (a folder of findings that are asked as well), BENCH_RECORDER
(fenxi; `others`: tools of the system write what they see during the fault, and that is imported), BENCH_PAGE (faults: the name of the page),
BENCH_CHECK (0; 1 ends with status 1 when in two tries a cause is not named, the part is not the largest change, or 15 % of the
latency are unexplained).
"""

import contextlib
import importlib
import pathlib
import shutil
import subprocess
import sys

import contradictions
import others
from common import DATA, FENXI, Skipped, fresh, json_lines, measure, need, output, report, setting

REPEATS = setting("BENCH_REPEATS", 1)
SECONDS = setting("BENCH_SECONDS", 6)
CHOSEN = setting("BENCH_FAULTS", "")
SERVERS = setting("BENCH_SERVERS", "")
MOST_LOADS = setting("BENCH_EACH", 0)
PORT = setting("BENCH_PORT", 17432)
CHECK = setting("BENCH_CHECK", 0)
AGAIN = setting("BENCH_AGAIN", 0)
RULES = setting("BENCH_RULES", "")
RECORDER = setting("BENCH_RECORDER", "fenxi")
PAGE = setting("BENCH_PAGE", "faults")
FOLDER = pathlib.Path(__file__).resolve().parent / "faults"
# The share of the latency that may stay unexplained.
MOST_RESIDUAL = 0.15
# What is reported for every run of such a test and names no cause of a change.
FACTS = ("information", "measurement")


def fenxi(store, *words):
    return [FENXI, "--store", store, *words]


def seen(store):
    """Where the texts of others' tools are kept: they can be imported again."""
    return store.parent / "seen" / store.name


class Database:
    """Runs of a load on a database server."""

    def __init__(self, case, store, name):
        self.case, self.store = case, store
        self.server = case.SERVERS[name](PORT)
        self.workload = self.server.folder / "load.toml"
        self.workload.write_text(getattr(case, "WORKLOADS", {}).get(name) or case.WORKLOAD)
        self.arguments = [*getattr(case, "ARGUMENTS", ()), *getattr(case, "ARGUMENTS_OF", {}).get(name, ())]
        try:
            measure(fenxi(store, "load", "prepare", self.server.url, "-w", self.workload))
        except BaseException:
            self.stop()
            raise

    def run(self, name, is_faulty):
        with self.case.injected(self.server) if is_faulty else contextlib.nullcontext(getattr(self.case, "HEALTHY", {})) as settings:
            words = [str(word) for key, value in (settings or {}).items() for word in ((key, value) if key.startswith("-") else ("--set", f"{key}={value}"))]
            if "-c" not in words:
                words += ["-c", str(self.case.CONNECTIONS)]
            argv = [*getattr(self.server, "within", ()), *fenxi(self.store, "load", "run", self.server.url, "-w", self.workload,
                    "--for", f"{getattr(self.case, 'SECONDS', SECONDS)}s", "--warmup", "1s", "--quiet", *self.arguments, *words)]
            if RECORDER == "others":
                others.watch(seen(self.store) / name, argv, self.server)
            else:
                measure([*argv, "--record", "--name", name])

    def stop(self):
        self.server.stop()


class Program:
    """Runs of a command."""

    def __init__(self, case, store, name):
        self.case, self.store, self.words = case, store, case.LOADS[name]

    def run(self, name, is_faulty):
        injected = getattr(self.case, "injected", contextlib.nullcontext)
        with injected() if is_faulty else contextlib.nullcontext():
            inside = getattr(self.case, "INSIDE", ())
            if RECORDER == "others":
                others.watch(seen(self.store) / name, [*inside, *self.words[is_faulty]()])
            else:
                measure([*inside, *fenxi(self.store, "record", "--name", name, "--quiet", "--", *self.words[is_faulty]())])

    def stop(self):
        pass


def findings(store, run):
    """Findings of a run in their order, without facts."""
    return [line for line in json_lines(fenxi(store, "findings", run, "--json")) if line.get("kind") not in FACTS]


def parts(store, healthy, faulty):
    """Changes of parts of the latency: name and milliseconds, the largest first; and the share of the residual in the latency with the
    fault."""
    answer = json_lines(fenxi(store, "compare", "--force", ",".join(healthy), ",".join(faulty), "--json"))
    split = next((line for line in answer if line.get("kind") == "split"), None)
    if split is None:
        return [], None
    changes = [(part["name"], part["change"]["value"]) for part in split["parts"] if part.get("change")]
    changes.sort(key=lambda change: -change[1])
    explained = json_lines(fenxi(store, "explain", *faulty, "--json"))
    mean = {line["part"]: line["mean"] for line in explained if line.get("what") == "latency"}
    whole = mean.get("latency") or 0
    residual = mean.get("other (residual)")
    return changes, None if residual is None or not whole else residual / whole


def names(case, finding):
    """Whether a finding names the cause: by its name, and where the fault has a word for it also by its sentence."""
    if finding["finding"] not in case.FINDINGS:
        return False
    word = case.FINDINGS[finding["finding"]] if isinstance(case.FINDINGS, dict) else ""
    return word.lower() in (finding["title"] + " " + finding["message"]).lower()


def said_first(store, run):
    """The first sentence about a run, with its details."""
    line = contradictions.answer_of(json_lines(fenxi(store, "explain", run, "--json"))) or {}
    return f"{line.get('text')} {line.get('detail')}".lower()


CONTRADICTIONS = []


def judge(case, store, healthy, faulty):
    """What Fenxi reports for the runs, as a row of the table, and whether the first finding names the cause."""
    # Once for all runs: what is found is kept.
    output(fenxi(store, "findings", *healthy, *faulty, "--json"))
    for run in [*healthy, *faulty]:
        CONTRADICTIONS.extend(f"{store.name}, {run}: {what}" for what in contradictions.of(lambda *words: json_lines(fenxi(store, *words)), run))
    usual = {finding["finding"] for run in healthy for finding in findings(store, run)}
    firsts, anywhere, named = 0, 0, []
    for run in faulty:
        new = findings(store, run)
        fresh_ones = [finding for finding in new if finding["finding"] not in usual] or new
        named.append([finding["finding"] for finding in fresh_ones[:3]])
        is_said = hasattr(case, "SENTENCE") and case.SENTENCE in said_first(store, run)
        firsts += is_said or bool(fresh_ones) and names(case, fresh_ones[0])
        anywhere += is_said or any(names(case, finding) for finding in new)
    false = {name for name in usual if name not in getattr(case, "USUAL", ())}
    changes, residual = parts(store, healthy, faulty) if hasattr(case, "PARTS") else ([], None)
    largest = changes[0] if changes else ("-", 0.0)
    wanted = getattr(case, "PARTS", None)
    is_part = wanted is None or largest[0] in wanted
    row = [case.TITLE, f"{firsts} of {len(faulty)}", f"{anywhere} of {len(faulty)}", " ".join(named[0]) or "-",
           "-" if wanted is None else f"{largest[0]} {largest[1]:+.2f} ms" + ("" if is_part else " (!)"),
           "-" if wanted is None or residual is None else f"{100 * residual:.0f} %", " ".join(sorted(false)) or "-"]
    is_explained = wanted is None or residual is not None and abs(residual) < MOST_RESIDUAL
    return row, anywhere == len(faulty) and is_part and is_explained


def try_one(name, case, load_name):
    folder = f"faults{'' if RECORDER == 'fenxi' else '-' + RECORDER}/{name}-{load_name.replace(' ', '-').replace(',', '')}"
    if AGAIN:
        kept = DATA / folder
        if not (kept if RECORDER == "fenxi" else seen(kept)).exists():
            raise Skipped("no runs of it are kept")
        store = kept if RECORDER == "fenxi" else fresh(folder)
        healthy, faulty = ([f"{kind}{turn}" for turn in range(REPEATS)] for kind in ("healthy", "faulty"))
    else:
        store, healthy, faulty = fresh(folder), [], []
        with getattr(case, "around", contextlib.nullcontext)():
            load = (Database if hasattr(case, "SERVERS") else Program)(case, store, load_name)
            run_in_turn(load, healthy, faulty)
    if RECORDER == "others":
        for run in [*healthy, *faulty]:
            others.bring_in(store, seen(store) / run)
    if RULES:
        shutil.copytree(RULES, store / "findings", dirs_exist_ok=True)
    row, named = judge(case, store, healthy, faulty)
    return [row[0], load_name, *row[1:]], named


def run_in_turn(load, healthy, faulty):
    try:
        for turn in range(REPEATS):
            for names, is_faulty in ((healthy, False), (faulty, True)):
                names.append(f"{'faulty' if is_faulty else 'healthy'}{turn}")
                load.run(names[-1], is_faulty)
    finally:
        load.stop()


def main():
    need(FENXI, "run `make build`")
    names = CHOSEN.split(",") if CHOSEN else sorted(path.stem for path in FOLDER.glob("*.py"))
    rows, missed = [], []
    sys.path.insert(0, str(FOLDER))
    for name in names:
        case = importlib.import_module(name)
        loads = list(getattr(case, "SERVERS", None) or case.LOADS)
        for load in loads[:MOST_LOADS or len(loads)]:
            if SERVERS and hasattr(case, "SERVERS") and load not in SERVERS.split(","):
                continue
            print(f"bench: {name}, {load}", file=sys.stderr)
            try:
                row, named = try_one(name, case, load)
                if CHECK and not named:  # one run each: what else this machine did can hide it
                    print("bench: once more, after", " | ".join(row), file=sys.stderr)
                    row, named = try_one(name, case, load)
            except Skipped as reason:
                print(f"SKIPPED: injected fault {name}, {load}: {reason}", file=sys.stderr)
                continue
            except (SystemExit, subprocess.CalledProcessError) as reason:  # of a command that failed; the others are tried all the same
                print(reason, file=sys.stderr)
                row, named = [case.TITLE, load, "failed", *["-"] * 5], False
            rows.append(row)
            print("bench:", " | ".join(row), file=sys.stderr)
            if not named:
                missed.append(f"{name} on {load}")
    header = ["fault", "load", "named first", "named", "first findings", "largest change of a part", "residual", "findings of healthy runs"]
    if not CHECK:
        report(PAGE, "Injected faults", header, rows,
               [f"{REPEATS} runs each, healthy and with the fault in turn, {SECONDS} s of load each."])
    for line in CONTRADICTIONS:
        print(f"bench: CONTRADICTION in {line}", file=sys.stderr)
    if missed:
        print(f"bench: not named: {', '.join(missed)}", file=sys.stderr)
    sys.exit(1 if CONTRADICTIONS or missed and CHECK else 0)


if __name__ == "__main__":
    main()
