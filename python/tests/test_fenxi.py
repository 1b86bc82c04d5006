"""Tests of the package over a real store: FENXI names the program, FENXI_STORE a store of at least three runs.

Run by `scripts/test-programs python`, which makes the store. Plain asserts and unittest: nothing else has to be installed.
"""

import json
import os
import unittest
from pathlib import Path

import fenxi
import pyarrow as pa

STORE = os.environ["FENXI_STORE"]
NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


class Selectors(unittest.TestCase):
    def setUp(self):
        self.store = fenxi.open(STORE)

    def listed(self, *selectors):
        return [line["run"] for line in self.store.program.json("runs", *selectors, "--json")]

    def test_runs_are_named_as_on_the_command_line(self):
        newest = self.listed()
        self.assertEqual([run.id for run in self.store.runs()], newest)
        self.assertEqual([self.store[f"@{n}"].id for n in (1, 2, 3)], newest[:3])
        run = self.store["@2"]
        self.assertEqual(self.store[run.id].id, run.id)
        self.assertEqual(self.store[run.id[:-1]].id, run.id)
        self.assertEqual(self.store[run.name].id, run.id)
        for key, value in self.store["@3"].tags.items():
            chosen = [run.id for run in self.store.select(f"{key}={value}")]
            self.assertEqual(chosen, self.listed(f"{key}={value}"))

    def test_what_names_no_run_or_several_says_so(self):
        for wrong in ("@9999", "@0", "nothing-like-this", "no=tag"):
            with self.assertRaises(fenxi.Unknown):
                self.store[wrong]
        with self.assertRaises(fenxi.Ambiguous):
            self.store["20"]


class Tables(unittest.TestCase):
    def setUp(self):
        self.store = fenxi.open(STORE)

    def test_a_table_has_the_rows_that_the_program_counts(self):
        counted = {row["run"]: row for row in self.store.sql(
            "SELECT run, count(*) AS n, sum(usr) AS usr FROM cpu GROUP BY run").to_pylist()}
        for run in self.store.runs():
            if "cpu" not in run.tables:
                continue
            cpu = run.table("cpu")
            self.assertNotIn("run", cpu.column_names)
            self.assertEqual(cpu.num_rows, counted[run.id]["n"])
            usr = sum(value for value in cpu["usr"].to_pylist() if value is not None)
            self.assertAlmostEqual(usr, counted[run.id]["usr"], places=6)

    def test_several_runs_are_told_apart(self):
        runs = self.store.runs()[:3]
        both = self.store.table("cpu", [run.id for run in runs], columns=["t", "usr"])
        self.assertEqual(set(both["run"].to_pylist()), {run.id for run in runs})
        self.assertEqual(both.column_names, ["run", "t", "usr"])
        self.assertEqual(both.num_rows, sum(run.table("cpu").num_rows for run in runs))

    def test_units_and_other_forms(self):
        run = self.store["@1"]
        self.assertEqual(fenxi.units(run.table("cpu"))["usr"], "%")
        with self.assertRaises(KeyError):
            run.table("cpuu")
        with self.assertRaises(ValueError):
            run.table("cpu", to="numpy")
        for to in ("polars", "pandas"):
            try:
                __import__(to)
            except ImportError:
                print(f"SKIPPED tables as {to}: it is not installed")
                continue
            self.assertEqual(len(run.table("cpu", to=to)), run.table("cpu").num_rows)


class Answers(unittest.TestCase):
    def setUp(self):
        self.store = fenxi.open(STORE)

    def test_the_program_answers(self):
        self.assertEqual(self.store.sql("SELECT 7 AS n").to_pylist(), [{"n": 7}])
        self.assertIsInstance(self.store.ask("cpu-summary"), pa.Table)
        self.assertTrue(any(q["question"] == "cpu-summary" for q in self.store.questions()))
        self.assertIsInstance(self.store.findings("@1"), list)
        self.assertTrue(fenxi.compare("@2", "@1", store=self.store, force=True, all=True))
        with self.assertRaises(fenxi.ProgramError) as raised:
            self.store.sql("SELECT nothing FROM cpu")
        self.assertIn("nothing", str(raised.exception))


class Notebooks(unittest.TestCase):
    def test_every_cell_runs(self):
        """As Jupyter would, without it: cell after cell in one namespace; the last expression is shown."""
        self.assertTrue(NOTEBOOKS)
        for path in NOTEBOOKS:
            namespace = {}
            for cell in json.loads(path.read_text())["cells"]:
                if cell["cell_type"] == "code":
                    exec(compile("".join(cell["source"]), f"{path.name}: {cell['id']}", "exec"), namespace)


if __name__ == "__main__":
    unittest.main()
