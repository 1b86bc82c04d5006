// What the page Ask asks: a file of it is made by crates/report, which reads the same list.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ askedOf, requestOf, namesOf }, { request }] = await load(["ask/asking.ts", "api.ts"]);

/** `q` of the list: the same question as in crates/report/src/pages/ask.rs. */
const QUESTION = { id: "q", sql: "SELECT t, usr, sys FROM cpu", chart: "line", x: "t", y: ["usr", "sys"], unit: "%" };

test("the page asks what a file of it holds", () => {
  const cases = JSON.parse(readFileSync(new URL("../../../crates/report/tests/asks.json", import.meta.url), "utf8"));
  assert.ok(cases.length >= 10);
  for (const { about, page, request: wanted } of cases) {
    const query = new URLSearchParams(page);
    const asked = askedOf(query, [QUESTION]);
    const { path, values } = requestOf(asked, query.get("question") ? QUESTION : undefined);
    assert.equal(request(path, values), wanted, about);
  }
});

test("a parameter is a name behind a dollar, outside of texts, names and comments", () => {
  assert.deepEqual(namesOf("SELECT $a + $b_2 - $a"), ["a", "b_2"]);
  assert.deepEqual(namesOf("SELECT '$a', \"$b\", c$d, $1 /* $e */ -- $f"), []);
});
