"""Runs the Python examples of docs/programs.md over a store: readers.py FENXI STORE [spark].

A block begins with a comment that names it; each leaves `rows` and `mean`, which must be what the program prints.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs/programs.md"


def main(fenxi, store, *parts):
    asked = subprocess.run([fenxi, "sql", "-f", "json", "SELECT count(*) AS rows, avg(usr) AS mean FROM cpu", "--store", store],
                           capture_output=True, check=True)
    wanted = json.loads(asked.stdout)
    blocks = dict(re.findall(r"```python\n# (\w+)[^\n]*\n(.*?)```", PAGE.read_text(), re.S))
    assert {"files", "duckdb", "pandas", "polars", "pyspark"} <= set(blocks), sorted(blocks)
    names = ["pyspark"] if "spark" in parts else ["duckdb", "pandas", "polars"]
    for name in names:
        namespace = {"store": store}
        exec(compile(blocks["files"], "files", "exec"), namespace)
        exec(compile(blocks[name], name, "exec"), namespace)
        assert namespace["rows"] == wanted["rows"], (name, namespace["rows"], wanted)
        assert abs(namespace["mean"] - wanted["mean"]) < 1e-9 * max(1, abs(wanted["mean"])), (name, namespace["mean"], wanted)
        print(f"{name}: {wanted['rows']} rows, the same mean")


main(*sys.argv[1:])
