// Charts, lists and trees of databases as they work.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ chartOf, figuresOf, takeAll, topsOf, treesOf, within, worst }] = await load(["database/readings.ts"]);

const share = (session, name, statement, sessions, more = {}) => ({
  session,
  class: name,
  event: "",
  statement,
  pid: session,
  user: "u",
  application: null,
  client: null,
  database: "shop",
  sessions,
  ...more,
});
const lock = (waiter, blocker, more = {}) => ({
  waiter,
  blocker,
  root: 1,
  depth: 1,
  direct: true,
  lock: "tuple",
  mode: null,
  relation: null,
  waited_s: 2,
  application: null,
  statement: "d",
  blocker_state: "idle in transaction",
  blocker_transaction_age_s: 9,
  blocker_application: "clerk",
  blocker_statement: null,
  ...more,
});
const reading = (sessions, more = {}) => ({
  dt: 1,
  vendor: "PostgreSQL",
  version: "15",
  cpus: 2,
  classes: { cpu: 1, lock: 2 },
  figures: { transactions_per_s: 10, deadlocks: 1 },
  sessions,
  left_out: 0,
  locks: [],
  texts: { d: "update t set n = ?" },
  notes: [],
  ...more,
});

function watched() {
  const servers = new Map();
  takeAll(servers, [
    {
      server: "s",
      t_ms: 1000,
      reading: reading([share(1, "lock", "d", 2), share(2, "cpu", null, 0.5), share(3, "idle in transaction", "d", 1)]),
    },
    {
      server: "s",
      t_ms: 2000,
      reading: reading([share(1, "lock", "d", 1)], { locks: [lock(2, 1), lock(3, 2, { depth: 2 }), lock(3, 1, { direct: false })] }),
    },
    { server: "t", t_ms: 2000, trouble: "connection lost" },
  ]);
  return { servers, s: servers.get("s") };
}

test("servers are apart, and one that is lost is marked", () => {
  const { servers, s } = watched();
  assert.equal(s.readings.length, 2);
  assert.equal(servers.get("t").trouble, "connection lost");
});

test("classes of all sessions are those that were measured best, others come from samples", () => {
  const { s } = watched();
  assert.deepEqual(chartOf(s, "class", {}).ids, ["cpu", "lock"]);
  const byStatement = chartOf(s, "statement", {});
  assert.deepEqual(byStatement.ids, ["d", "(none)"]);
  assert.deepEqual(byStatement.streams[0].values, [2, 1]);
  assert.equal(byStatement.streams[0].label, "update t set n = ?");
  assert.deepEqual(chartOf(s, "session", { class: "idle in transaction" }).ids, ["3"]);
});

test("lists are means over the time range, idle sessions are no work", () => {
  const { s } = watched();
  const rows = topsOf(s, s.readings, "session", {});
  assert.deepEqual(
    rows.map((r) => [r.who, r.sessions]),
    [
      ["1", 1.5],
      ["2", 0.25],
    ],
  );
  assert.equal(Math.round(rows[0].share), 86);
  const second = within(s.readings, [1.5, 2]);
  assert.deepEqual(
    topsOf(s, second, "session", {}).map((r) => r.who),
    ["1"],
  );
  assert.deepEqual(figuresOf(s.readings), [
    ["transactions_per_s", 10],
    ["deadlocks", 2],
  ]);
});

test("each session is listed once, below its holder", () => {
  const { s } = watched();
  const [root, ...others] = treesOf(s, worst(s.readings));
  assert.equal(others.length, 0);
  assert.equal(root.session, "1");
  assert.deepEqual(
    root.below.map((n) => n.session),
    ["2"],
  );
  assert.deepEqual(
    root.below[0].below.map((n) => n.session),
    ["3"],
  );
  assert.match(root.details.join(), /idle in transaction.*clerk/);
});
