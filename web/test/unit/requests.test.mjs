// What pages ask: a file of a page is made by crates/api, which reads the same list.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ askedOf, requestOf, namesOf }, { asked }, { request }, { looked, listed, parameters }, { rangeOf, rounded }] = await load([
  "ask/asking.ts",
  "compare/asked.ts",
  "api.ts",
  "database/state.ts",
  "zoomlink.ts",
]);

/** `q` of the list: the same question as in crates/api/src/pages/mod.rs. */
const QUESTION = { id: "q", sql: "SELECT t, usr, sys FROM cpu", chart: "line", x: "t", y: ["usr", "sys"], unit: "%" };

/** The first list of the page of databases. */
function firstList(query) {
  const state = looked(query);
  const range = rangeOf(query.get("from"), query.get("to"));
  const [from, to] = range ? rounded(range) : [];
  const values = { question: "db-top-activity", run: query.get("run"), from, to, ...parameters(state), "p.by": listed(state)[0] };
  return { path: "panel", values };
}

/** A request of each page. */
const PAGES = {
  "/ask": (query) => requestOf(askedOf(query, [QUESTION]), query.get("question") ? QUESTION : undefined),
  "/database": firstList,
  "/compare": (query) => ({ path: "compare", values: asked(query) }),
};

test("a page asks what a file of it holds", () => {
  const cases = JSON.parse(readFileSync(new URL("../../../crates/api/tests/requests.json", import.meta.url), "utf8"));
  assert.ok(cases.length > 10);
  for (const { about, page, request: wanted } of cases) {
    const { pathname, searchParams } = new URL(page, "http://localhost");
    const { path, values } = PAGES[pathname](searchParams);
    assert.equal(request(path, values), wanted, about);
  }
});

test("a parameter is a name behind a dollar, outside of texts, names and comments", () => {
  assert.deepEqual(namesOf("SELECT $a + $b_2 - $a"), ["a", "b_2"]);
  assert.deepEqual(namesOf("SELECT '$a', \"$b\", c$d, $1 /* $e */ -- $f"), []);
});
