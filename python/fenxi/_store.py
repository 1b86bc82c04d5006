"""Stores, runs and tables."""

import io
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from . import _selectors
from ._program import Program

FORMAT = 1


def open(path=None, program=None):  # noqa: A001, the module's own word
    """Opens the store at `path`; without one FENXI_STORE, or the default store."""
    return Store(path or os.environ.get("FENXI_STORE") or _default_path(), program)


def _default_path():
    data = os.environ.get("XDG_DATA_HOME")
    return Path(data) / "fenxi" if data and os.path.isabs(data) else Path.home() / ".local/share/fenxi"


def units(table):
    """The units of an Arrow table's columns, by name; columns without one are left out."""
    units = {field.name: (field.metadata or {}).get(b"unit", b"").decode() for field in table.schema}
    return {name: unit for name, unit in units.items() if unit}


def _as(table, to):
    if to == "arrow":
        return table
    if to == "polars":
        import polars

        return polars.from_arrow(table)
    if to == "pandas":
        return table.to_pandas()
    raise ValueError(f"`to` is arrow, polars or pandas, not {to!r}")


class Store:
    """A directory of runs."""

    def __init__(self, path, program=None):
        self.path = Path(path)
        if not (self.path / "store.json").is_file():
            raise FileNotFoundError(f"{self.path} is not a Fenxi store: it has no store.json")
        self.program = Program(str(self.path), program)
        self._runs = {}
        self._compacted = (None, {})

    def __repr__(self):
        return f"fenxi.open({str(self.path)!r})"

    def ids(self):
        """Ids of all runs."""
        names = (name for name in os.listdir(self.path / "runs") if name.startswith("run="))
        return [name[4:] for name in names]

    def run(self, id):
        """The run with this very id."""
        run = self._runs.get(id)
        if run is None:
            # A run never changes: its manifest is read once.
            run = self._runs[id] = Run(self, id)
        return run

    def runs(self):
        """All runs, newest first."""
        runs = [self.run(id) for id in self.ids()]
        return sorted(runs, key=lambda run: (run.manifest["start"], run.id), reverse=True)

    def select(self, selectors):
        """The runs that selectors name (a text, several in a list), each once."""
        selectors = [selectors] if isinstance(selectors, str) else selectors
        found = {}
        for selector in selectors:
            for run in [selector] if isinstance(selector, Run) else _selectors.select(self, selector):
                found.setdefault(run.id, run)
        return list(found.values())

    def __getitem__(self, selector):
        """The one run that a selector names; `select` gives several."""
        found = self.select(selector)
        if len(found) != 1:
            raise _selectors.Ambiguous(f"`{selector}` names {len(found)} runs: `select` gives all of them")
        return found[0]

    def table(self, name, runs=None, columns=None, to="arrow"):
        """A table of several runs (all without `runs`), with a column `run`; a column that a run lacks is null."""
        runs = self.runs() if runs is None else self.select(runs)
        parts = []
        for path, ids in self._files(name, runs):
            parts.append(self._read(path, ids, columns, keep_run=True))
        if not parts:
            raise KeyError(f"none of {len(runs)} runs has a table `{name}`")
        return _as(pa.concat_tables(parts, promote_options="default"), to)

    def sql(self, statement, runs=None, to="arrow"):
        """The answer to a SELECT, of all runs or of some."""
        return self._answer(["sql", statement], runs, to)

    def ask(self, question, runs="@1", params=None, to="arrow"):
        """The answer to a question, of the latest run or of others."""
        more = [word for name, value in (params or {}).items() for word in ("--param", f"{name}={value}")]
        return self._answer(["ask", question, *more], runs, to)

    def questions(self):
        """The questions there are."""
        return self.program.json("ask", "-f", "json")

    def findings(self, runs="@1"):
        """What is wrong or unusual in runs."""
        return self.program.json("findings", *[run.id for run in self.select(runs)], "--json", may_exit=(0, 1, 3))

    def compare(self, a, b, *, force=False, all=False, window=None, per=None):
        """Two groups of runs compared: what `fenxi compare --json` prints, a list of dictionaries."""
        groups = [",".join(run.id for run in self.select(group)) for group in (a, b)]
        options = [word for word, on in (("--force", force), ("--all", all)) if on]
        options += [word for name, value in (("--window", window), ("--per", per)) if value for word in (name, value)]
        return self.program.json("compare", *groups, *options, "--json", may_exit=(0, 1))

    def _answer(self, command, runs, to):
        chosen = [] if runs is None else [word for run in self.select(runs) for word in ("--run", run.id)]
        parquet = self.program.output(*command, *chosen, "-f", "parquet")
        return _as(pq.read_table(io.BytesIO(parquet)), to)

    def _files(self, table, runs):
        """Files that hold `table` of `runs`, each with the ids it is read for: None where it is a run's own."""
        packed = self._packed()
        shared = {}
        for run in runs:
            if table not in run.tables:
                continue
            path = packed.get((run.id, table))
            if path is None:
                yield self.path / "runs" / f"run={run.id}" / f"{table}.parquet", run.id
            else:
                shared.setdefault(path, []).append(run.id)
        yield from shared.items()

    def _packed(self):
        """Tables in files of many runs: path by run and table. The manifest of these alone decides."""
        manifest = self.path / "compacted" / "manifest.json"
        try:
            stat = manifest.stat()
        except FileNotFoundError:
            return {}
        stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if self._compacted[0] != stamp:
            found = json.loads(manifest.read_text())
            if found["format"] > FORMAT:
                raise ValueError(f"{manifest} has format {found['format']}, and {FORMAT} is known: use a newer package")
            places = {}
            for file in found["files"]:
                path = self.path / "compacted" / file["name"]
                for first, last in file["runs"]:
                    places.update(((id, file["table"]), path) for id in found["runs"][first : last + 1])
            self._compacted = (stamp, places)
        return self._compacted[1]

    def _read(self, path, ids, columns, keep_run):
        options = {"partitioning": None, "page_checksum_verification": True}
        if isinstance(ids, str):
            table = pq.read_table(path, columns=columns, **options)
            if keep_run:
                ids = pa.array([ids] * table.num_rows, pa.string())
                table = table.add_column(0, "run", ids)
            return table
        if columns is not None:
            columns = (["run"] if keep_run else []) + [name for name in columns if name != "run"]
        # Sorted by run: other row groups are left out by their statistics.
        table = pq.read_table(path, columns=columns, filters=[("run", "in", ids)], **options)
        if not keep_run:
            return table.drop_columns(["run"]) if "run" in table.column_names else table
        place = table.column_names.index("run")
        return table.set_column(place, "run", table.column("run").cast(pa.string()))


class Run:
    """One run: its manifest, its labels, its tables."""

    def __init__(self, store, id):
        self.store = store
        self.id = id
        path = self.path / "run.json"
        try:
            self.manifest = json.loads(path.read_text())
        except FileNotFoundError:
            raise _selectors.Unknown(f"there is no run {id} in {store.path}") from None
        if self.manifest["format"] > FORMAT:
            raise ValueError(f"{path} has format {self.manifest['format']}, and {FORMAT} is known: use a newer package")

    def __repr__(self):
        return f"<fenxi run {self.id} {self.name or ''}>".replace(" >", ">")

    @property
    def path(self):
        """The run's folder."""
        return self.store.path / "runs" / f"run={self.id}"

    @property
    def labels(self):
        """Name, tags, remarks, windows as they are now."""
        try:
            return json.loads((self.store.path / "labels" / f"{self.id}.json").read_text())
        except FileNotFoundError:
            return {"name": self.manifest.get("name"), "tags": self.manifest.get("tags", {})}

    @property
    def name(self):
        """Its name; None without one."""
        return self.labels.get("name")

    @property
    def tags(self):
        """Tags by key."""
        return self.labels.get("tags", {})

    @property
    def params(self):
        """Factors and settings of the experiment."""
        return self.manifest.get("params", {})

    @property
    def host(self):
        """The first host."""
        return next(iter(self.manifest.get("hosts", [])), None)

    @property
    def start(self):
        """When it began, as a pyarrow timestamp in UTC."""
        return pa.scalar(self.manifest["start"], pa.timestamp("us", tz="UTC"))

    @property
    def seconds(self):
        """How long it took."""
        return (self.manifest["end"] - self.manifest["start"]) / 1e6

    @property
    def tables(self):
        """Names of its tables."""
        return [file["table"] for file in self.manifest["files"] if file.get("table")]

    def table(self, name, columns=None, to="arrow"):
        """A table as pyarrow.Table, or `to` "polars" or "pandas"; `columns` are those to read."""
        if name not in self.tables:
            raise KeyError(f"run {self.id} has no table `{name}`: {', '.join(self.tables)}")
        # Tables may move between listing and reading: the second time they have moved.
        for last in (False, True):
            path, ids = next(iter(self.store._files(name, [self])))
            try:
                return _as(self.store._read(path, ids, columns, keep_run=False), to)
            except FileNotFoundError:
                if last:
                    raise
        return None
