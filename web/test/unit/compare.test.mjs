// A comparison in words: its groups, changes, p values, and the text of it for a mail.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [types, { markdown }, units] = await load(["compare/types.ts", "compare/markdown.ts", "units.ts"]);
const { titles, isNews, changeText, percent, pText, metricName } = types;
const line = (more) => ({
  table: "result",
  key: "",
  column: "latency",
  unit: "ms",
  better: "lower",
  runs: [4, 4],
  means: [10, 12],
  ranges: [
    [9, 11],
    [11, 13],
  ],
  change: 0.2,
  relative: true,
  interval: [0.1, 0.3],
  effect: 1,
  p: 0.03,
  verdict: "worse",
  group: "results",
  doc: "",
  ...more,
});
const run = (id, name) => ({ id, name, window: null, seconds: 1 });
const group = (title, ...runs) => ({ title, runs });

test("a share has a sign and as many digits as it deserves", () => {
  const text = (value) => changeText(line(), value, units.human);
  assert.equal(text(0.2), "+20.0%");
  assert.equal(text(-0.05), "−5.00%");
  assert.equal(text(0), "±0.00%");
  assert.equal(text(2.5), "+250%");
  assert.equal(text(-1), "−100%");
  assert.equal(text(9.99), "+999%");
  assert.equal(text(11.4), "×12", "twelve times as much");
  assert.equal(text(-12), "−1200%", "of another sign than the first mean: no factor expresses that");
  assert.equal(percent(0.00001), "0.00%");
});

test("a change that is no share has the unit of its values", () => {
  const plain = line({ relative: false, unit: "%" });
  assert.equal(changeText(plain, 3, units.human), "+3.00%");
  assert.equal(changeText(line({ relative: false, unit: "B" }), -2048, units.human), "−2.00 KiB");
});

test("small p values are given by their bound", () => {
  assert.equal(pText(null), "–");
  assert.equal(pText(0), "< 0.0001");
  assert.equal(pText(0.00015), "0.0001");
  assert.equal(pText(0.02857), "0.029");
  assert.equal(pText(1), "1.000");
});

test("groups are called as they were asked for, by names where that was ids, and are told apart", () => {
  assert.deepEqual(titles({ a: group("name=x", run("01", "x")), b: group("02", run("02", "y")) }), ["name=x", "y"]);
  assert.deepEqual(titles({ a: group("run-0001", run("run-0001", "x")), b: group("run-0002", run("run-0002", "x")) }), [
    "x (0001)",
    "x (0002)",
  ]);
  assert.deepEqual(titles({ a: group("1, 2", run("1", "x"), run("2", "x")), b: group("3", run("3", "y")) }), ["x", "y"]);
});

test("news is what differs, and of too few runs what differs wholly and by much", () => {
  for (const verdict of ["worse", "better", "different"]) assert.equal(isNews(line({ verdict })), true);
  for (const verdict of ["same", "unclear"]) assert.equal(isNews(line({ verdict })), false);
  const few = { verdict: "insufficient runs" };
  assert.equal(isNews(line({ ...few, effect: -1, change: -0.2 })), true);
  assert.equal(isNews(line({ ...few, effect: 0.9, change: 0.2 })), false);
  assert.equal(isNews(line({ ...few, effect: 1, change: 0.05 })), false);
});

test("a metric is called by its table, a result by its name", () => {
  assert.equal(metricName(line()), "latency");
  assert.equal(metricName(line({ table: "cpu", column: "usr" })), "cpu.usr");
});

test("a comparison as text has a table that names with bars and breaks do not break", () => {
  const text = markdown({
    a: group("name=a|b", run("1", "a|b")),
    b: group("name=c", run("2", "c"), run("3", "d")),
    changed: [{ name: "level", from: "1", to: null }],
    reasons: [
      { refuses: false, text: "steal" },
      { refuses: true, text: "other machines" },
    ],
    refused: false,
    split: null,
    comparison: {
      results: [line({ column: "a|b\nc", interval: null, p: null })],
      metrics: [line({ table: "cpu", column: "usr", verdict: "same" })],
      facts: [{ topic: "kernel", name: "release", lines: [], values: ["6.1", null] }],
    },
  });
  const rows = text.split("\n");
  assert.equal(rows[0], "## name=a|b and name=c");
  assert.ok(rows.includes("B: c, d"));
  assert.ok(rows.includes("* Changed: level 1 → none"));
  assert.ok(rows.includes("* **Not comparable**: other machines"));
  assert.ok(rows.includes("| a\\|b c | 10.0 ms | 12.0 ms | +20.0% | – | 1.00 | – | ▼ worse |"), text);
  assert.ok(rows.includes("| kernel release | 6.1 | – |"));
  assert.ok(!text.includes("cpu.usr"), "what is the same is no news");
});

test("a comparison that was refused has its reasons only", () => {
  const text = markdown({
    a: group("a", run("1", "a")),
    b: group("b", run("2", "b")),
    changed: [],
    reasons: [{ refuses: true, text: "no" }],
    refused: true,
    comparison: null,
    split: null,
  });
  assert.equal(text, "## a and b\n\nA: a\n\nB: b\n\n* **Not comparable**: no\n");
});
