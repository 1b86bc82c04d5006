// How answers stand in tables: which columns are shown, what very small numbers read as, and what is called a trend.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ layout, charactersOf }, { plain }, { trendOf }, { timesOf, head, sharedAddress }] = await load([
  "table.tsx",
  "units.ts",
  "summary.tsx",
  "bins.ts",
]);

const column = (name, numeric = false, unit = "") => ({ name, unit, numeric, whole: false });
const STATEMENTS = {
  columns: [column("server"), column("calls", true), column("max", true, "ms"), column("share", true, "%"), column("statement")],
  rows: [
    ["db:5432", 10, null, 90, "select 1"],
    ["db:5432", 2, null, 9, "update item set stock = ?"],
    ["db:5432", 1, null, 1, null],
  ],
  total: 3,
};

test("a statement comes first, and what is the same or missing in all rows is shown once", () => {
  const { order, constant, empty } = layout(STATEMENTS);
  assert.deepEqual(
    order.map((i) => STATEMENTS.columns[i].name),
    ["statement", "calls", "share"],
  );
  assert.deepEqual(constant, [[0, "db:5432"]]);
  assert.deepEqual(empty, [2]);
});

test("every column of one row, of a small table and of one without anything else is shown", () => {
  const one = { ...STATEMENTS, rows: STATEMENTS.rows.slice(0, 1) };
  assert.equal(layout(one).order.length, 5);
  const small = {
    columns: [column("host"), column("n", true)],
    rows: [
      ["a", 1],
      ["a", 2],
      ["a", 3],
    ],
    total: 3,
  };
  assert.deepEqual(layout(small).order, [0, 1]);
  const nothing = { columns: [column("a", true)], rows: [[null], [null]], total: 2 };
  assert.deepEqual(layout(nothing), { order: [0], constant: [], empty: [] });
});

test("a long text counts as one line of it", () => {
  const long = { columns: [column("statement")], rows: [["x".repeat(500)], ["y"]], total: 2 };
  assert.equal(charactersOf(long), 62);
});

test("small numbers have the field's units, or say that they are small", () => {
  assert.equal(plain(2.7e-5, "s/s"), "27.0 µs/s");
  assert.equal(plain(1.5e-4, ""), "< 0.001");
  assert.equal(plain(-1.5e-4, "%"), "> -0.001%");
  assert.equal(plain(0, "%"), "0%");
  assert.equal(plain(0.0024, ""), "0.0024");
  assert.equal(plain(5e-7, "s"), "500 ns");
  assert.equal(plain(null, "s/s"), "–");
});

test("noise and bursts have no trend, and nothing falls by more than all of it", () => {
  assert.equal(trendOf([0, 0, 0, 100, 0, 0, 0, 0]), 0);
  assert.equal(trendOf([5, 5, 5]), 0);
  assert.equal(trendOf([100, 90, 80, 30, 10, 0, 0, 0]), -100);
  assert.ok(Math.abs(trendOf([10, 11, 12, 13, 14]) - 40) < 1e-9);
  assert.equal(trendOf([1, 2]), null);
});

test("the last bin ends with the run, with its length where it was short", () => {
  const time = { t0: 1, step: 1, n: 7 };
  assert.deepEqual(timesOf(time, [{ duration_s: 6.28 }]), [1, 2, 3, 4, 5, 6, 6.28]);
  assert.deepEqual(timesOf(time, [{ duration_s: 7 }]).at(-1), 7);
  assert.deepEqual(timesOf(time, [{ duration_s: 3 }]).at(-1), 7);
  const run = { start_ms: 0 };
  assert.match(head(6.28, 1, [run], undefined, 0.28), /^0:06\.28 · .*, of 280 ms only$/);
  assert.doesNotMatch(head(6, 1, [run], undefined, 1), /only/);
});

test("an address that all series begin with is left out, a word is not", () => {
  assert.equal(sharedAddress(["10.0.0.1:5432 7", "10.0.0.1:5432 8"]), "10.0.0.1:5432 ");
  assert.equal(sharedAddress(["10.0.0.1:5432 7", "10.0.0.2:5432 8"]), "");
  assert.equal(sharedAddress(["latency p50", "latency p99"]), "");
  assert.equal(sharedAddress(["10.0.0.1:5432 7"]), "");
});
