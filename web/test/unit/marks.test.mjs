// Moments on charts: close ones are one line, and what matters is listed first.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ clusters, describe, momentsOf }] = await load(["marks.ts"]);

const moment = (from, place, text, more = {}) => ({ run: 0, from, to: from, events: 1, kind: "log", place, text, ...more });

test("moments that cannot be told apart are one line, the most important first", () => {
  const all = [moment(10, 5, "info"), moment(10.2, 1, "mark"), moment(50, 2, "error")];
  const found = clusters(all, (t) => t * 10, 7);
  assert.deepEqual(
    found.map((c) => [c.x, c.of.map((m) => m.text)]),
    [
      [100, ["mark", "info"]],
      [500, ["error"]],
    ],
  );
});

test("what happened about a moment is listed, and how often", () => {
  const all = [moment(10, 3, "reset", { to: 12, events: 4 }), moment(11, 1, "switched over"), moment(90, 1, "much later")];
  assert.deepEqual(describe(all, 11, 0.5, []), ["0:11 switched over", "0:10 reset (4 until 0:12)"]);
});

test("rows of the question become moments of their runs", () => {
  const names = ["run", "host", "at_s", "until_s", "kind", "place", "events", "subject", "message"];
  const columns = names.map((name) => ({ name, unit: "", numeric: false, whole: false }));
  const rows = [
    ["b", "h", 3, 3, "mark", 1, 1, "deploy", "v2"],
    ["a", "h", 4, 5, "counter reset", 3, 2, "eth0", null],
  ];
  const found = momentsOf({ table: { columns, rows, total: 2 } }, [{ name: "a" }, { name: "b" }]);
  assert.deepEqual(
    found.map((m) => [m.run, m.from, m.text]),
    [
      [1, 3, "deploy: v2"],
      [0, 4, "counter reset eth0"],
    ],
  );
});
