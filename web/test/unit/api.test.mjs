// Requests and their one text, and what a report file answers by itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const PAGE = {
  version: 2,
  title: "t",
  generator: "g",
  page: "/run?run=a",
  // As somebody may write it: another order, a default, an encoded colon.
  answers: { "/api/v1/panel?run=a&question=cpu&bins=600": { id: "cpu" }, "/api/v1/facts?topic=host%3Aa&run=a&run=b": [1] },
};
const [{ pairs, request, lists, peek, ask, ApiError, offline }, { link, place }] = await load(["api.ts", "router.ts"], PAGE);

test("a request has one text, whatever the order of its values", () => {
  const want = "/api/v1/panel?question=cpu&chart=line&run=a&run=b";
  assert.equal(request("panel", { run: ["a", "b"], chart: "line", question: "cpu" }), want);
  assert.equal(request("panel", { question: "cpu", chart: "line", run: ["a", "b"] }), want);
});

test("the order within a list is kept, since it means something", () => {
  assert.notEqual(request("run", { run: ["a", "b"] }), request("run", { run: ["b", "a"] }));
});

test("nothing, false and defaults are left out; zero is not", () => {
  assert.equal(request("runs", { where: [], text: "", host: null, from: undefined, desc: false, offset: 0 }), "/api/v1/runs?offset=0");
  assert.equal(request("panel", { question: "cpu", bins: 600 }), "/api/v1/panel?question=cpu");
  assert.equal(request("panel", { question: "cpu", bins: 601 }), "/api/v1/panel?question=cpu&bins=601");
  assert.equal(request("runs"), "/api/v1/runs");
  assert.equal(request("runs", { desc: true }), "/api/v1/runs?desc=true");
});

test("names that an endpoint does not know stand last, by alphabet", () => {
  assert.equal(request("run", { z: 1, b: 2, run: "r" }), "/api/v1/run?run=r&b=2&z=1");
  assert.equal(request("unheard", { z: 1, b: 2 }), "/api/v1/unheard?b=2&z=1");
});

test("what an address cannot hold is encoded", () => {
  assert.equal(request("sql", { q: "SELECT 'a&b' || '=+%'" }), "/api/v1/sql?q=SELECT+%27a%26b%27+%7C%7C+%27%3D%2B%25%27");
});

test("pairs keep the order of the values where none is asked for", () => {
  assert.deepEqual(pairs({ b: 1, a: [true, null, "x"] }), [
    ["b", "1"],
    ["a", "true"],
    ["a", "x"],
  ]);
});

test("a query's names are names, whatever an object calls its own", () => {
  const values = lists(new URLSearchParams("constructor=1&where=a&__proto__=2&where=b"));
  assert.deepEqual(pairs(values), [
    ["constructor", "1"],
    ["where", "a"],
    ["where", "b"],
    ["__proto__", "2"],
  ]);
});

test("a file answers what it holds, however it was asked, and refuses the rest in words", async () => {
  assert.equal(offline, true);
  assert.deepEqual(peek(request("panel", { question: "cpu", run: "a" })), { id: "cpu" });
  assert.deepEqual(await ask("facts", { run: ["a", "b"], topic: "host:a" }), [1]);
  await assert.rejects(ask("facts", { run: ["b", "a"], topic: "host:a" }), (error) => error instanceof ApiError && error.status === 404);
});

test("an address is short and readable", () => {
  assert.equal(link("/compare", { a: "name=x,y", b: "tag:v/1", force: false, per: null }), "/compare?a=name%3Dx,y&b=tag:v/1");
  assert.equal(link("/", {}), "/");
  assert.equal(place.value.path, "/run");
  assert.equal(place.value.query.get("run"), "a");
});

test("a request that began before a change answers no one who asks after it", async () => {
  const [{ ask, change, peek, request }] = await load(["api.ts"]);
  const open = [];
  globalThis.fetch = (_url, init = {}) =>
    init.method === "PUT" ? Promise.resolve(new Response("")) : new Promise((answer) => open.push(answer));
  const before = ask("run", { run: "r" });
  await change("PUT", "runs/r/windows/middle", {});
  const after = ask("run", { run: "r" });
  await new Promise((next) => setTimeout(next));
  assert.equal(open.length, 2);
  open[1](new Response('{"is":"after"}'));
  assert.deepEqual(await after, { is: "after" });
  open[0](new Response('{"is":"before"}'));
  assert.deepEqual(await before, { is: "before" });
  assert.deepEqual(peek(request("run", { run: "r" })), { is: "after" }, "and is not kept in its place");
});
