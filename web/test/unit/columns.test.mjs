// The statement behind any column over time, axes that suit values, and values on finer bins.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ statement }, { resampled, suitsLog }, { changeOf }] = await load(["lanes.ts", "charts/axis.ts", "rangechange.ts"]);

const table = {
  name: "process",
  shape: "series",
  keys_are: "passing",
  keys: ["pid", "comm"],
  columns: [
    { name: "comm", kind: "label" },
    { name: "cpu", kind: "percent" },
    { name: "rss_bytes", kind: "gauge" },
  ],
};

test("shares of what comes and goes are added up for each lane, the largest lanes alone", () => {
  const sql = statement({ table, column: "cpu", by: "comm" });
  assert.match(sql, /sum\("cpu"\) AS "cpu"/);
  assert.match(sql, /LIMIT 48/);
  assert.match(statement({ table, column: "rss_bytes", by: "comm" }), /avg\("rss_bytes"\)/);
});

const series = (min, avg, max) => ({ run: 0, name: "x", unit: "", avg: {}, stats: { min, avg, max, trend_pct: null } });
const time = (...all) => ({ t0: 1, step: 1, n: 3, series: all, left_out: 0, max: 1 });

test("latencies that vary have a logarithmic axis, others only over decades", () => {
  assert.equal(suitsLog({ chart: "line", unit: "ms" }, time(series(1, 2, 40))), true);
  assert.equal(suitsLog({ chart: "line", unit: "ms" }, time(series(9, 10, 12))), false);
  assert.equal(suitsLog({ chart: "line", unit: "/s" }, time(series(1, 2, 40))), false);
  assert.equal(suitsLog({ chart: "line", unit: "B/s" }, time(series(1, 10, 40), series(1e5, 1e6, 2e6))), true);
  assert.equal(suitsLog({ chart: "line", unit: "ms", scale: "linear" }, time(series(1, 2, 400))), false);
  assert.equal(suitsLog({ chart: "stacked", unit: "ms" }, time(series(1, 2, 400))), false);
});

test("a coarse value holds for all finer bins that it covers", () => {
  const coarse = { t0: 10, step: 10, n: 2 };
  assert.deepEqual(resampled([1, 2], coarse, [5, 10, 15, 20, 25]), [1, 1, 2, 2, null]);
});

test("changes are worded so that their size is seen", () => {
  assert.equal(changeOf({ change: 2.2, inside: 3.2, rest: 1, unit: "" }), "×3.2");
  assert.equal(changeOf({ change: -0.4, inside: 0.6, rest: 1, unit: "" }), "−40%");
  assert.equal(changeOf({ change: null, inside: 5, rest: 0, unit: "" }), "new");
});
