// Ten questions of somebody who sees a run for the first time, each answered on the first screen in at most two clicks, as
// docs/ten-questions.md has them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, quiet, server, serverless, visit } from "./support.mjs";

const options = { skip: serverless, timeout: 120_000 };
let browser;
let page;
let clicks = 0;

before(async () => {
  if (serverless) return;
  browser = await openBrowser();
  page = browser.page;
});
after(() => browser?.close());

const runs = async () => (await (await page.request.get(`${server}/api/v1/runs`)).json()).rows;
const idOf = async (name) => (await runs()).find((r) => r.name === name)?.id;

async function open(name) {
  clicks = 0;
  await visit(page, `/run?run=${await idOf(name)}`);
  await page.locator(".answer, #section-answer").first().waitFor();
}

async function click(what) {
  clicks += 1;
  await what.click();
  await quiet(page);
}

/** Whether something comes into the window, not only onto the page: it may still be scrolling there. */
async function isSeen(what, why) {
  await what.first().waitFor({ state: "visible" });
  let box;
  for (let tries = 0; tries < 50; tries++) {
    box = await what.first().boundingBox();
    if (box && box.y + box.height > 0 && box.y < 900) break;
    await page.waitForTimeout(100);
  }
  assert.ok(box && box.y + box.height > 0 && box.y < 900, `${why}: at ${box?.y}`);
  assert.ok(clicks <= 2, `${why}: ${clicks} clicks`);
}

const section = (name) => page.locator(".sections, nav").getByRole("link", { name, exact: true }).first();

test("why is it slow, and how fast was it", options, async (t) => {
  if (!(await idOf("orders"))) return t.skip("PostgreSQL is not installed: there is no run of a database");
  await open("orders");
  await page
    .getByText(/Bottleneck|No bottleneck|Symptom|Cause not known/)
    .first()
    .waitFor();
  await isSeen(page.getByText(/Bottleneck|No bottleneck|Symptom|Cause not known/), "the answer");
  await isSeen(page.locator("#panel-headline").getByText("latency p99"), "the 99th percentile");
  await isSeen(page.locator("#panel-resource-strip canvas"), "when each resource was busy");
  await isSeen(page.locator("#section-split"), "where the time went");
});

test("is one CPU the limit, and which process uses it", options, async () => {
  await open("thorough");
  await isSeen(page.locator("#panel-resource-strip canvas"), "the busiest CPU beside all CPUs");
  await click(section("Process"));
  await isSeen(page.locator("#section-process").getByText(/gzip|bash/), "the busiest processes");
});

test("was the disk slow at a moment", options, async () => {
  await open("thorough");
  await click(section("Disk"));
  await isSeen(page.locator("#section-disk"), "the disks over time");
});

test("which statement, and who is blocked", options, async (t) => {
  if (!(await idOf("orders"))) return t.skip("PostgreSQL is not installed: there is no run of a database");
  await open("orders");
  await click(page.getByRole("link", { name: "Database", exact: true }).first());
  assert.match(page.url(), /\/database\?/);
  await page
    .getByText(/update item set stock/i)
    .first()
    .waitFor();
  assert.ok(clicks <= 2);
});

test("what changed since the other run", options, async () => {
  await open("thorough");
  await click(page.getByRole("link", { name: "Compare with …" }));
  assert.match(page.url(), /\/compare\?a=/);
  await click(page.locator(".offers").getByRole("link", { name: "quick", exact: true }));
  await page.locator("#verdicts, #section-verdicts, .verdicts").first().waitFor();
  await isSeen(page.getByText(/^Changed: level/).first(), "what was changed");
});

test("which settings were in force, and what did recording cost", options, async () => {
  await open("thorough");
  await click(page.getByText(/cost of recording/).first());
  await isSeen(page.getByText(/recorder overhead/), "what recording cost");
  await click(section("Facts"));
  await isSeen(page.locator("#section-facts"), "the facts");
});

test("a section that is asked for before it is there comes into the window once it is", options, async () => {
  let go;
  const asked = new Promise((done) => (go = done));
  await page.route("**/api/v1/findings?*", async (route) => {
    await asked;
    await route.continue();
  });
  clicks = 0;
  await page.goto(`${server}/run?run=${await idOf("thorough")}`);
  await section("Facts").click();
  go();
  await page.locator("#section-facts").waitFor();
  await page.unroute("**/api/v1/findings?*");
  await quiet(page);
  await isSeen(page.locator("#section-facts"), "the facts");
});

test("how is it shown to a colleague", options, async () => {
  await open("thorough");
  await click(page.getByText("Keep", { exact: false }).first());
  await isSeen(page.getByText(/page|file|archive/i), "what can be kept");
});
