// What pages reckon without drawing: filters of the list, groups to compare, order of rows, time ranges, packed numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

// A zone with days of 23 and of 25 hours.
process.env.TZ = "Europe/Berlin";
const { load } = await import("./load.mjs");
const [list, shared, table, zoomlink, payload, live, points] = await load([
  "runs/list.ts",
  "shared.ts",
  "table.tsx",
  "zoomlink.ts",
  "payload.ts",
  "live/data.ts",
  "charts/lone.ts",
]);
const { listed, pageOf, telling, ending, halves } = list;
const query = (text) => new URLSearchParams(text);

test("days are those of the zone chosen, the last one included", () => {
  shared.zone.set("utc");
  const utc = listed(query("since=2026-01-05&until=2026-01-05"));
  assert.deepEqual([utc.from, utc.to], ["2026-01-05T00:00:00.000Z", "2026-01-06T00:00:00.000Z"]);
  shared.zone.set("local");
  const short = listed(query("since=2026-03-29&until=2026-03-29"));
  assert.deepEqual([short.from, short.to], ["2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"]);
  const long = listed(query("since=2026-10-25&until=2026-10-25"));
  assert.deepEqual([long.from, long.to], ["2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z"]);
  shared.zone.set("utc");
});

test("a day at the end of a month is followed by the next one's first", () => {
  assert.equal(listed(query("until=2026-12-31")).to, "2027-01-01T00:00:00.000Z");
});

test("what is no day filters nothing", () => {
  for (const day of ["", "yesterday", "2026-13-01", "2026-1-5x"]) assert.equal(listed(query(`since=${day}`)).from, null, day);
});

test("the list asks for one page at a time, and for the first when the address names none there can be", () => {
  assert.deepEqual(listed(query("where=a&where=b")).where, ["a", "b"]);
  assert.equal(listed(query("")).offset, null);
  assert.equal(listed(query("page=3")).offset, 200);
  for (const page of ["0", "-2", "1.5", "x", "1e400", "NaN"]) assert.equal(pageOf(query(`page=${page}`)), 1, page);
});

test("the results that say most stand first, three of them", () => {
  const names = ["exit", "max_rss", "latency_p95_ms", "tps", "other"];
  assert.deepEqual(telling(names), ["tps", "latency_p95_ms", "max_rss"]);
  assert.deepEqual(telling([]), []);
});

test("how a run ended is one word, the worst first", () => {
  const run = { kind: "recording", recovered: false, signal: null, exit_status: null };
  assert.deepEqual(ending(run), { text: "recording", bad: false });
  assert.deepEqual(ending({ ...run, exit_status: 0 }), { text: "ok", bad: false });
  assert.deepEqual(ending({ ...run, exit_status: 3 }), { text: "exit 3", bad: true });
  assert.deepEqual(ending({ ...run, exit_status: 3, signal: 9 }), { text: "signal 9", bad: true });
  assert.deepEqual(ending({ ...run, signal: 9, recovered: true }), { text: "recovered", bad: true });
});

test("picked runs fall into two groups by name, else by a label of two values, else the earliest against the rest", () => {
  const run = (id, start_ms, name, tags = {}, params = {}) => ({ id, start_ms, name, tags, params });
  const ids = (groups) => groups.map((g) => g.map((r) => r.id).join(""));
  assert.deepEqual(ids(halves([run("c", 3, "y"), run("a", 1, "x"), run("b", 2, "y")])), ["a", "bc"]);
  const tagged = [run("a", 1, "x", { v: "1" }), run("b", 2, "y", { v: "2" }), run("c", 3, "z", { v: "1" })];
  assert.deepEqual(ids(halves(tagged)), ["ac", "b"]);
  assert.deepEqual(ids(halves([run("a", 1, "x", {}, { n: "1" }), run("b", 2, "x", {}, { n: "2" })])), ["a", "b"]);
  assert.deepEqual(ids(halves([run("b", 2, "y"), run("a", 1, "x"), run("c", 3, "z")])), ["a", "bc"]);
  assert.deepEqual(ids(halves([run("a", 1, "x")])), ["a", ""]);
});

test("rows sort by number, and by text with its numbers; what is missing comes last both ways", () => {
  const sort = (cells, down) =>
    table
      .sorted(
        cells.map((c) => [c]),
        0,
        down,
      )
      .map((r) => r[0]);
  assert.deepEqual(sort([10, null, -1, 0, 9.5], false), [-1, 0, 9.5, 10, null]);
  assert.deepEqual(sort([10, null, -1, 0, 9.5], true), [10, 9.5, 0, -1, null]);
  assert.deepEqual(sort(["cpu10", "cpu9", null, "cpu1"], false), ["cpu1", "cpu9", "cpu10", null]);
  assert.deepEqual(sort([1e300, -1e300, 5e-324], true), [1e300, 5e-324, -1e300]);
  const rows = [
    ["b", 1],
    ["a", 1],
    ["c", 0],
  ];
  assert.deepEqual(
    table.sorted(rows, 1, true).map((r) => r[0]),
    ["b", "a", "c"],
    "equal ones keep their order",
  );
  assert.deepEqual(rows[0], ["b", 1], "the rows given stay as they are");
});

test("cells are missing, digit by digit, or scaled", () => {
  assert.equal(table.cellText(null, "s", true), "–");
  assert.equal(table.cellText(123456, "", true, true), "123456", "a process id");
  assert.equal(table.cellText(123456, "", true), "123 k");
  assert.equal(table.cellText(0, "B", true, true), "0 B");
  assert.equal(table.cellText(true, "", false), "true");
  assert.equal(table.cellText("", "", false), "");
});

test("a column of units shows those of its row, but not of counts", () => {
  const column = (name, unit, numeric) => ({ name, unit, numeric, whole: false });
  const answer = {
    columns: [column("value", "", true), column("unit", "", false), column("n", "", true), column("t", "s", true)],
    rows: [],
    total: 0,
  };
  const row = [1, "ms", 2, 3];
  assert.deepEqual(
    row.map((_, i) => table.unitOf(answer, row, i)),
    ["ms", "", "", "s"],
  );
  assert.equal(table.unitOf(answer, [1, null, 2, 3], 0), "");
});

test("a time range in an address is two numbers, the second greater", () => {
  const { rangeOf } = zoomlink;
  assert.deepEqual(rangeOf("0", "2.5"), [0, 2.5]);
  assert.deepEqual(rangeOf("-3", "0"), [-3, 0]);
  for (const [from, to] of [
    [null, "1"],
    ["1", null],
    ["", "1"],
    ["2", "2"],
    ["3", "2"],
    ["a", "2"],
    ["0", "Infinity"],
    ["NaN", "1"],
  ]) {
    assert.equal(rangeOf(from, to), null, `${from} ${to}`);
  }
});

test("a time range is exact to the millisecond, the same however often, and is never empty", () => {
  const { rounded } = zoomlink;
  assert.deepEqual(rounded([1.23449, 2.7]), [1.234, 2.7]);
  assert.deepEqual(rounded([1.2341, 1.2342]), [1.234, 1.235]);
  assert.deepEqual(rounded([-0.0011, 0]), [-0.001, 0]);
  for (const range of [
    [1.005, 4.35],
    [0.1, 0.3],
    [1e6 + 0.0015, 1e6 + 1],
  ])
    assert.deepEqual(rounded(rounded(range)), rounded(range));
});

test("packed numbers come back, with gaps and zeros", () => {
  const packed = (as, lo, hi, codes) => ({ as, lo, hi, d: Buffer.from(new Uint16Array(codes).buffer).toString("base64") });
  assert.deepEqual(payload.unpack(packed("lin", -10, 10, [0, 1, 32768, 65535])), [null, -10, 0, 10]);
  const log = payload.unpack(packed("log", 1, 100, [0, 1, 2, 65535]));
  assert.deepEqual(log.slice(0, 3), [null, 0, 1]);
  assert.ok(Math.abs(log[3] - 100) < 1e-9);
  assert.deepEqual(payload.unpack(packed("log", 0, 0, [1, 0])), [0, null], "where all are zero");
  assert.deepEqual(payload.unpack(packed("lin", 7, 7, [1, 65535])), [7, 7], "where all are the same");
  assert.deepEqual(payload.unpack(packed("lin", 0, 1, [])), []);
});

test("values that no line shows are drawn as points", () => {
  assert.deepEqual(points.lone([1, null, 2, 3, null, 4], 3), [0, 5]);
  assert.deepEqual(points.lone([null, 1, 2, null], 3), [1, 2], "two are hardly a line");
  assert.deepEqual(points.lone([1, 2, 3], 3), []);
  assert.deepEqual(points.lone([null, 0, null, null, 0, 0, 0], 3), [1], "zero is a value");
  assert.deepEqual(points.lone([], 3), []);
  assert.deepEqual(points.lone([1, 2, 3], 20), [0, 1, 2]);
});

test("live series have a value for each tick, null where they were silent", () => {
  const data = { times: [], streams: new Map() };
  live.take(data, { t_ms: 1000, values: { "cpu.usr[0]": 5 } });
  live.take(data, { t_ms: 2000, values: { "cpu.usr[0]": null, "disk.read[a.b[0]]": 7 } });
  live.take(data, { t_ms: 3000, values: {} });
  assert.deepEqual(data.times, [1, 2, 3]);
  assert.deepEqual(data.streams.get("cpu.usr[0]").values, [5, null, null]);
  const disk = data.streams.get("disk.read[a.b[0]]");
  assert.deepEqual([disk.table, disk.column, disk.label, disk.values], ["disk", "read", "a.b[0]", [null, 7, null]]);
});

test("a live series that has been silent as long as ticks are kept is forgotten", () => {
  const data = { times: [], streams: new Map() };
  live.take(data, { t_ms: 0, values: { "a.b": 1, "a.c": 1 } });
  for (let t = 1; t <= 900; t++) live.take(data, { t_ms: 1000 * t, values: { "a.c": t } });
  assert.deepEqual([...data.streams.keys()], ["a.c"]);
  assert.equal(data.times.length, 900);
  assert.equal(data.streams.get("a.c").values.length, 900);
});
