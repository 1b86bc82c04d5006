"""What is reported about one run in two places must agree: the sentence, the split, the findings and the tiles.

`of(ask, run)` gives each disagreement as a line, from `fenxi explain`, `fenxi findings` and `fenxi sql` of the run; none is as it should be. Only what
is surely wrong is reported: a share above the whole, parts that are not the whole, an order against the shares, a sentence that its own split refutes.

By itself it imports files, each alone, and reports the disagreements about each. Settings: BENCH_FOLDER (crates/formats/fixtures: where the
files are), BENCH_FILES (250: how many of them, spread evenly).
"""

import pathlib
import re
import subprocess
import sys

from common import FENXI, ROOT, environment, fresh, json_lines, need, setting

# How far two figures of one thing may lie apart: they are rounded, and some come from other moments.
CLOSE = 0.02
# The split leaves out the begin of a load until it is steady; its result does not.
STEADY = 0.1
# Where a sentence puts the time outside the server, these parts are outside.
OUTSIDE = ("round trips", "idle in transaction", "client, network", "waiting for the driver", "other (residual)")
INSIDE = ("on CPU", "run queue", "throttled", "user I/O", "block I/O", "system I/O", "commit", "concurrency", "lock", "ipc", "driver")
FACTS = ("information", "measurement")
SEVERITIES = ("critical", "warning", "info")


def of(ask, run):
    """Disagreements about `run`; `ask` gives the lines of JSON that fenxi prints for its words."""
    explained, found = ask("explain", run, "--json"), ask("findings", run, "--json")
    return [*split(explained), *shares(found), *order(found), *sentence(explained, found), *tiles(ask, explained, run)]


def wholes_of(explained):
    """The times that are split, the first one being that of the sentence."""
    return [line for line in explained if line.get("kind") == "whole"]


def answer_of(explained):
    """The first sentence of `fenxi explain` with its detail; None where it has none."""
    return next((line for line in explained if line.get("kind") == "answer"), None)


def parts_of(explained, what):
    return {line["part"]: line for line in explained if line.get("kind") == "part" and line["what"] == what}


def split(explained):
    """Parts lie between nothing and the whole, sum up to it, and their shares are theirs: of each time that is split."""
    for whole in wholes_of(explained):
        if whole.get("mean"):
            yield from split_of(parts_of(explained, whole["what"]), whole)


def split_of(parts, whole):
    for name, part in parts.items():
        share, mean = part["share"], part["mean"]
        if share is not None and mean is not None and abs(share - mean / whole["mean"]) > CLOSE / 2:
            yield f"part `{name}` has {share:.1%} of the split, and its mean is {mean / whole['mean']:.1%} of the whole"
        if "residual" not in name and share is not None and not -0.001 <= share <= 1.05:
            yield f"part `{name}` is {share:.1%} of the whole"
    total = sum(part["mean"] or 0 for part in parts.values())
    if any("residual" in name for name in parts) and abs(total - whole["mean"]) > CLOSE * whole["mean"]:
        yield f"the parts sum up to {total:.4g} {whole['unit']}, the whole is {whole['mean']:.4g}"


def shares(found):
    """No finding accounts for more than all."""
    for finding in found:
        impact = finding.get("impact") or {}
        if impact.get("share") is not None and not -0.001 <= impact["share"] <= 1.001:
            yield f"finding {finding['finding']} accounts for {impact['share']:.1%} of {impact['of']}"
        for name, value in finding.get("evidence", {}).items():
            if "share" in name and isinstance(value, (int, float)) and not -0.1 <= value <= 100.1:
                yield f"finding {finding['finding']} has {name} = {value:.4g} %"


def order(found):
    """What is reported first is of the worst kind, and among problems of one severity none behind it has a larger part of the same thing."""
    problems = [finding for finding in found if finding.get("kind") == "problem" and not finding.get("follows_from")]
    if not problems:
        return
    first = problems[0]
    least = min(problems, key=lambda finding: SEVERITIES.index(finding["severity"]))
    if SEVERITIES.index(least["severity"]) < SEVERITIES.index(first["severity"]):
        yield f"{first['finding']} ({first['severity']}) comes before {least['finding']} ({least['severity']})"
    mine = first.get("impact") or {}
    for other in problems[1:]:
        theirs = other.get("impact") or {}
        if other["severity"] == first["severity"] and mine.get("share") is not None and theirs.get("of") == mine.get("of") and theirs.get("share", 0) > mine["share"] + CLOSE:
            yield f"{first['finding']} with {mine['share']:.1%} of {mine['of']} comes before {other['finding']} with {theirs['share']:.1%}"


def sentence(explained, found):
    """The first sentence is the first finding with its share, and the split does not refute it."""
    sentence = answer_of(explained)
    if sentence is None:
        return
    text, whole = f"{sentence['text']} {sentence.get('detail') or ''}", next(iter(wholes_of(explained)), None)
    finding = next((line for line in found if line["finding"] == sentence.get("finding")), None)
    if sentence.get("finding") and finding is None:
        yield f"the sentence is of {sentence['finding']}, which is not among the findings"
    if finding:
        problems = [line for line in found if line.get("kind") not in FACTS]
        if problems and problems[0]["finding"] != sentence["finding"]:
            yield f"the sentence is of {sentence['finding']}, the first finding is {problems[0]['finding']}"
        stated = re.search(r"([\d.]+) ?% of ", sentence["text"])
        impact = (finding.get("impact") or {}).get("share")
        if stated and impact is not None and abs(float(stated[1]) / 100 - impact) > CLOSE:
            yield f"the sentence says {stated[0]}, finding {sentence['finding']} {impact:.1%}"
    full, mean = re.search(r"CPUs are full \(([\d.]+)%\)", text), re.search(r"\bCPU ([\d.]+)% \(at most", text)
    if full and mean and abs(float(full[1]) - float(mean[1])) > 100 * CLOSE:
        yield f"the CPUs are full with {full[1]} %, and their mean use is {mean[1]} %"
    if whole is None or whole.get("what") != "latency":
        return
    parts = parts_of(explained, "latency")
    inside = sum(part["share"] or 0 for name, part in parts.items() if name.startswith(INSIDE))
    largest = max((part for name, part in parts.items() if "residual" not in name), key=lambda part: part["share"] or 0, default={"share": 0})
    if "neither in the server nor in the driver" in text or sentence.get("finding") == "network-latency":
        outside = sum(parts[name]["share"] or 0 for name in OUTSIDE if name in parts)
        claimed = (finding or {}).get("impact") or {}
        if claimed.get("share", 0.5) > outside + 0.1:
            yield f"the sentence says that {claimed.get('share', 0.5):.0%} are between driver and server, the split has {outside:.0%} there and {inside:.0%} in them"
    waits = {name: part["share"] or 0 for name, part in parts.items() if not name.startswith(("on CPU", "other"))}
    if "No bottleneck" in text and waits and max(waits.values()) >= 0.5:
        yield f"no bottleneck is seen, and {max(waits, key=waits.get)} is {max(waits.values()):.0%} of the latency"
    if "not accounted for" in text and largest["share"] and largest["share"] > 1 - (parts.get("other (residual)") or {"share": 0})["share"] + 0.5:
        yield f"the sentence says that the time is unknown, and {largest['part']} is {largest['share']:.0%}"


def tiles(ask, explained, run):
    """The mean latency is the same as a result, over its series and as the whole of the split."""
    whole = next((whole for whole in wholes_of(explained) if whole["what"] == "latency"), None)
    if whole is None or not whole.get("mean"):
        return
    rows = ask("sql", "-r", run, "--format", "json", "SELECT (SELECT any_value(value) FROM result WHERE name = 'latency_mean') AS tile, "
               "sum(latency_mean_ms * transactions_per_s * dt) / sum(transactions_per_s * dt) AS series FROM load WHERE operation IS NULL AND latency_mean_ms IS NOT NULL")
    for name, value in (rows[0] if rows else {}).items():
        if value is not None and abs(value - whole["mean"]) > (STEADY if name == "tile" else CLOSE) * whole["mean"]:
            yield f"the mean latency is {value:.4g} ms as {name} and {whole['mean']:.4g} ms as the whole of the split"


def main():
    need(FENXI, "run `make build`")
    store, most = fresh("contradictions"), setting("BENCH_FILES", 250)
    files = sorted(path for path in pathlib.Path(setting("BENCH_FOLDER", str(ROOT / "crates/formats/fixtures"))).rglob("*") if path.is_file() and path.suffix not in (".rows", ".md"))
    imported, wrong = 0, 0
    chosen = files[:: max(1, len(files) // most)]
    for number, file in enumerate(chosen):
        fenxi, name = [FENXI, "--store", store], f"n{number}"
        # What is no known format is passed over.
        if subprocess.run([*fenxi, "import", file, "--name", name, "--quiet"], capture_output=True, env=environment()).returncode:
            continue
        imported += 1
        for line in of(lambda *words: json_lines([*fenxi, *words]), name):
            wrong += 1
            print(f"{file}: {line}", flush=True)
    print(f"{wrong} contradictions in {imported} imports of {len(chosen)} files")
    sys.exit(1 if wrong or not imported else 0)


if __name__ == "__main__":
    main()
