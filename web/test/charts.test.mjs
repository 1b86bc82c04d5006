// Uses the charts of distributions, stacks, points and intervals as a person would, on what tools really printed.
//
//   FENXI_SERVER=http://127.0.0.1:7070 node --test test/charts.test.mjs
//
// The server's store is made by scripts/page-store.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { drawAll, look, openBrowser, server, serverless, visit } from "./support.mjs";

if (serverless) console.error(`\n*** CHARTS ARE NOT TESTED IN A BROWSER: ${serverless} ***\n`);
const options = { skip: serverless, timeout: 90_000 };
let browser;
let page;

before(async () => {
  if (serverless) return;
  browser = await openBrowser();
  page = browser.page;
  await visit(page, "/run?run=traced");
  await drawAll(page);
});
after(() => browser?.close());

const panel = (id) => page.locator(`#panel-${id}`);
const answer = async (question) => (await page.request.get(`${server}/api/v1/panel?question=${question}&run=traced`)).json();

test("a flame graph is as wide as its samples, zooms by a click and goes back", options, async () => {
  const { table } = await answer("stacks");
  const samples = table.rows.reduce((sum, row) => sum + row[table.columns.findIndex((c) => c.name === "samples")], 0);
  const flame = panel("stacks").locator(".flame");
  const boxes = flame.locator("rect");
  await panel("stacks").scrollIntoViewIfNeeded();
  await boxes.first().waitFor();
  const all = await boxes.count();
  assert.ok(all > 5, `${all} frames`);
  assert.ok((await panel("stacks").locator(".flame-foot").innerText()).startsWith(`${samples.toLocaleString("en")} samples`));
  const narrow = await boxes.evaluateAll((list) => list.findIndex((r) => r.getAttribute("width") < list[0].getAttribute("width") * 0.9));
  await boxes.nth(narrow).click();
  await panel("stacks").getByRole("button", { name: "Show all" }).waitFor();
  assert.ok((await boxes.count()) < all);
  await flame.focus();
  await page.keyboard.press("Escape");
  await page.waitForFunction((n) => document.querySelectorAll("#panel-stacks .flame rect").length === n, all);
});

test("arrow keys go from frame to frame, and a search shows its share", options, async () => {
  await panel("stacks").locator(".flame").focus();
  const foot = panel("stacks").locator(".flame-foot");
  const told = async (was) => {
    await page.waitForFunction((text) => document.querySelector("#panel-stacks .flame-foot").innerText !== text, was);
    return foot.innerText();
  };
  const before = await foot.innerText();
  await page.keyboard.press("ArrowDown");
  const first = await told(before);
  await page.keyboard.press("ArrowDown");
  assert.match(await told(first), /%/);
  const { table } = await answer("stacks");
  const [stack, samples] = ["stack", "samples"].map((name) => table.columns.findIndex((c) => c.name === name));
  const sum = (rows) => rows.reduce((n, row) => n + row[samples], 0);
  const share = (100 * sum(table.rows.filter((row) => row[stack].includes("mysqld")))) / sum(table.rows);
  await panel("stacks").getByLabel("highlight frames").fill("mysqld");
  await panel("stacks")
    .getByText(`${share.toFixed(2)}% of all samples`)
    .waitFor();
  await panel("stacks").getByLabel("highlight frames").fill("");
});

test("a distribution has its percentiles, and can be cumulated", options, async () => {
  const first = panel("distributions");
  await first.scrollIntoViewIfNeeded();
  assert.match(await first.locator("table").first().innerText(), /p50\s+p90\s+p99/);
  await first.getByRole("button", { name: "Cumulative" }).first().click();
  await first.getByText("cumulative share").first().waitFor();
  await first.locator(".chart.own").first().focus();
  await page.keyboard.press("End");
  assert.match(await first.locator(".chart.own [aria-live]").first().innerText(), /cumulative 100.00%/);
});

test("distributions over time are a map of buckets", options, async () => {
  const map = panel("times-over-time").locator(".heat").first();
  await map.scrollIntoViewIfNeeded();
  const box = await map.boundingBox();
  for (let y = 10; y < 230; y += 20) {
    await page.mouse.move(box.x + box.width * 0.6, box.y + y);
    if (await page.locator(".tooltip").count()) break;
  }
  assert.match(await page.locator(".tooltip").innerText(), /…[\s\S]*%/);
  await page.mouse.move(2, 2);
});

test("a point of a scatter plot shows what it is", options, async () => {
  const chart = panel("load-latency").locator(".chart.own");
  await chart.focus();
  await page.keyboard.press("Home");
  assert.match(await chart.locator("[aria-live]").innerText(), /transactions .*latency mean/);
});

test("stacks of two groups are drawn as a difference", options, async () => {
  await visit(page, "/compare?a=traced&b=traced-later&force=true");
  await drawAll(page);
  const flame = panel("flame-difference");
  await flame.scrollIntoViewIfNeeded();
  assert.match(await flame.locator(".scale").innerText(), /less in B[\s\S]*more in B/);
  await flame.locator("rect").first().click();
  assert.match(await flame.locator(".flame-foot").innerText(), /A .*B .*change/);
});

test("a page of these charts is drawn at three widths in both themes without barriers", options, async () => {
  await visit(page, "/run?run=traced");
  await look(page, "charts");
  assert.deepEqual(browser.complaints, []);
});
