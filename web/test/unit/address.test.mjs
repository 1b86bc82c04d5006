// Addresses that links of boards may have.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const [{ isAddress }] = await load(["address.ts"]);

test("links lead to other sites by their whole address, to pages of this server, and within the page", () => {
  for (const address of [
    "https://example.com/a?b=c#d",
    "http://127.0.0.1:7070/",
    "HTTPS://example.com",
    "/",
    "/run?run=@1",
    "/a//b",
    "#top",
  ])
    assert.ok(isAddress(address), address);
});

test("what a browser takes for another site, or for a program, is no link", () => {
  for (const address of [
    "/\\evil.example",
    "\\\\evil.example",
    "\\/evil.example",
    "//evil.example",
    "///evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\u0001/run",
    "/\u007f/evil.example",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "https:evil.example",
    "https:/evil.example",
    "https:\\\\evil.example",
    "https://",
    "https://good.example\\@evil.example",
    "run",
    "../run",
    "",
  ])
    assert.ok(!isAddress(address), JSON.stringify(address));
});
