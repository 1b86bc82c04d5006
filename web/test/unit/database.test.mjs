// The page of databases without drawing: its address, its lists, its trees of blockers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [state, { tops }, { trees, behind }] = await load(["database/state.ts", "database/toplist.ts", "database/trees.ts"]);
const looked = (text) => state.looked(new URLSearchParams(text));

test("an address has what is selected, and what it cannot mean is as if it were not there", () => {
  assert.deepEqual(looked("run=r&by=weather&below=moon&at=soon&class="), looked("run=r"));
  const { by, filters, below, at } = looked("by=session&event=tuple&below=disk&at=12.5");
  assert.deepEqual([by, filters, below, at], ["session", { event: "tuple" }, "disk", 12.5]);
});

test("one that is chosen is kept, and the next is told apart, down to the process of a session", () => {
  assert.deepEqual(state.narrowed("class", "lock", looked("")), { class: "lock", by: "event", below: null });
  assert.deepEqual(state.narrowed("event", "tuple", looked("class=lock")), { event: "tuple", by: "statement", below: null });
  const last = state.narrowed("session", "7", looked("class=lock&event=tuple&statement=a"));
  assert.deepEqual(last, { session: "7", by: "session", below: "process" });
});

test("there is no list of what is chosen already, and none twice", () => {
  assert.deepEqual(state.listed(looked("")), ["class", "statement", "session"]);
  assert.deepEqual(state.listed(looked("by=session")), ["session", "statement"]);
  assert.deepEqual(state.listed(looked("by=user&statement=a")), ["user", "session"]);
});

test("a run has a page of databases when one of their tables has rows, and only then", () => {
  const run = (table, rows) => ({ tables: [{ table, rows }] });
  assert.ok(state.hasDatabase(run("db", 1)) && state.hasDatabase(run("db_session", 3)));
  assert.ok(!state.hasDatabase(run("db_session", 0)) && !state.hasDatabase(run("dbus", 3)) && !state.hasDatabase(run("cpu", 3)));
});

const table = (columns, rows) => ({
  columns: columns.map((name) => ({ name, unit: "", numeric: false, whole: false })),
  rows,
  total: rows.length,
});

test("a bar has the classes that are there, and other columns are none", () => {
  const columns = ["server", "who", "description", "active_sessions", "share_pct", "on_cpu", "lock_wait", "ipc"];
  const answer = table(columns, [
    ["s", "a1", "select ?", 2, 80, 0.5, 1.5, 0],
    ["s", "(none)", null, 0.5, 20, 0.5, null, 0],
  ]);
  const [first, second] = tops(answer, "statement");
  assert.deepEqual([first.who, first.name, first.sessions], ["a1", "select ?", 2]);
  assert.deepEqual(first.parts, [
    { part: "on CPU", sessions: 0.5 },
    { part: "lock", sessions: 1.5 },
  ]);
  assert.deepEqual([second.name, second.parts.length], ["no statement known", 1]);
  assert.equal(tops(table(columns, [["s", "user io", null, 1, 100, 0, 0, 0]]), "class")[0].name, "user I/O");
});

const edges = (...rows) =>
  table(
    ["server", "session", "waits_for", "root"],
    rows.map(([session, above]) => ["s", session, above, 1]),
  );

test("sessions stand below those that they wait for", () => {
  const [root, ...more] = trees(edges([1, null], [2, 1], [3, 2], [4, 1]));
  assert.equal(more.length, 0);
  assert.deepEqual(
    root.below.map((n) => [n.session, behind(n)]),
    [
      ["2", 1],
      ["4", 0],
    ],
  );
  assert.equal(behind(root), 3);
});

test("a cycle is opened, and a session that waits for one that is not there begins a tree", () => {
  const all = trees(edges([1, 2], [2, 3], [3, 1], [9, 8]));
  const count = (nodes) => nodes.reduce((sum, n) => sum + 1 + behind(n), 0);
  assert.equal(count(all), 4);
  assert.ok(all.some((n) => n.session === "9"));
});
