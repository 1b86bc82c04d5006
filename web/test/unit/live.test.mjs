// Which series the live page shows of a question.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ pick, take }, { busiest }] = await load(["live/data.ts", "live/processes.tsx"]);

const stream = (table, column, label, values) => ({ key: `${table}.${column}[${label}]`, table, column, label, values });
const columns = (...names) => names.map((name) => ({ name, complement: false }));
const question = (live, chart = "line") => ({ id: "q", title: "Q?", chart, live });
const named = (streams) => streams.map((s) => `${s.label}/${s.column}`);

const CPU = [
  stream("cpu", "usr", "", [5]),
  stream("cpu", "idle", "10", [80, null]),
  stream("cpu", "idle", "2", [60]),
  stream("mem", "usr", "", [1]),
];

test("series of all, of the whole, or of each key", () => {
  const of = (series, ...names) => named(pick(CPU, question({ table: "cpu", series, columns: columns(...names) })));
  assert.deepEqual(of("all", "usr", "idle"), ["/usr", "2/idle", "10/idle"]);
  assert.deepEqual(of("total", "usr", "idle"), ["/usr"]);
  assert.deepEqual(of("each", "usr", "idle"), ["2/idle", "10/idle"]);
});

test("what is missing to 100 percent, and no value stays none", () => {
  const live = { table: "cpu", series: "each", columns: [{ name: "idle", complement: true }] };
  assert.deepEqual(
    pick(CPU, question(live)).map((s) => s.values),
    [[40], [20, null]],
  );
});

test("a stacked chart keeps the order of the columns", () => {
  const streams = [stream("cpu", "sys", "", [1]), stream("cpu", "usr", "", [2])];
  const live = { table: "cpu", series: "total", columns: columns("usr", "sys") };
  assert.deepEqual(named(pick(streams, question(live, "stacked"))), ["/usr", "/sys"]);
});

test("of very many series the largest are shown", () => {
  const streams = Array.from({ length: 30 }, (_, i) => stream("process", "cpu", `p${i}`, [i, null]));
  const shown = named(pick(streams, question({ table: "process", series: "all", columns: columns("cpu") })));
  assert.equal(shown.length, 12);
  assert.deepEqual([shown[0], shown[11]], ["p18/cpu", "p29/cpu"]);
});

test("a tick has the number of values left out", () => {
  const data = { times: [], streams: new Map(), leftOut: 0 };
  take(data, { t_ms: 1000, values: { "cpu.usr[0]": 1 }, left_out: 7 });
  assert.deepEqual([data.leftOut, data.streams.get("cpu.usr[0]").label], [7, "0"]);
  take(data, { t_ms: 2000, values: {} });
  assert.deepEqual([data.leftOut, data.streams.get("cpu.usr[0]").values], [0, [1, null]]);
});

test("the past that comes again after a break is not taken twice", () => {
  const data = { times: [], streams: new Map(), leftOut: 0 };
  for (const t_ms of [1000, 2000, 1000, 2000, 3000]) take(data, { t_ms, values: { "cpu.usr": t_ms } });
  assert.deepEqual(data.times, [1, 2, 3]);
  assert.deepEqual(data.streams.get("cpu.usr").values, [1000, 2000, 3000]);
});

test("the busiest processes of the last seconds, with their memory; one that is idle now is none of them", () => {
  const found = busiest([
    stream("process", "cpu", "12,hot,root", [90, 90, 90, 90, 90, 90]),
    stream("process", "rss_bytes", "12,hot,root", [1, 2, null]),
    stream("process", "cpu", "7,was,ann", [400, null, null, null, null, null]),
    stream("process", "cpu", "short,ann", [null, null, null, null, null, 50]),
    stream("cpu", "usr", "0", [100]),
  ]);
  assert.deepEqual(
    found.map((p) => [p.pid, p.name, p.user, p.cpu, p.rss]),
    [
      ["12", "hot", "root", 90, 2],
      ["", "short", "ann", 10, null],
    ],
  );
});
