// The page of a run's databases, as a person would use it: look, choose a time range, go down to a process, see who blocks.
//
// The run is made by scripts/page-store: sessions that queue for one row, which `clerk` holds for four seconds.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { barriers, drawAll, look, openBrowser, quiet, server, serverless, visit } from "./support.mjs";

const runs = serverless ? [] : (await (await fetch(`${server}/api/v1/runs`)).json()).rows;
const orders = runs.find((r) => r.name === "orders");
const missing = serverless || (orders ? false : "the store has no run of a database: PostgreSQL is not installed");
if (missing) console.error(`\n*** SKIPPED, the page of databases in a browser: ${missing} ***\n`);
const options = { skip: missing, timeout: 120_000 };
let browser;
let page;

before(async () => {
  if (missing) return;
  browser = await openBrowser();
  page = browser.page;
});
after(() => browser?.close());

const query = () => new URL(page.url()).searchParams;
const rows = (list) => page.locator(`section[aria-labelledby="top-${list}"] .top-rows li`);

test("a run with a database leads to its page, one without has none", options, async () => {
  const other = runs.find((r) => r.name === "quick");
  await visit(page, `/run?run=${other.id}`);
  assert.equal(await page.getByRole("link", { name: "Database", exact: true }).and(page.locator(".plain")).count(), 0);
  await visit(page, `/database?run=${other.id}`);
  await page.getByText("No database in this run").waitFor();
  await visit(page, `/run?run=${orders.id}`);
  await page.locator(".page-tools").getByRole("link", { name: "Database" }).click();
  await quiet(page);
  await page.getByRole("heading", { name: "Database · orders" }).waitFor();
});

test("active sessions stand by class below a line at the CPUs, beside key figures", options, async () => {
  await visit(page, `/database?run=${orders.id}`);
  await page.locator("#panel-db-activity canvas").waitFor();
  const legend = await page.locator("#panel-db-activity .legend").innerText();
  assert.match(legend, /lock/);
  assert.match(legend, /cpus/);
  assert.ok((await page.locator(".db-figures .tile").count()) >= 6);
  assert.match(await rows("class").first().innerText(), /lock/);
  assert.match(await rows("statement").first().innerText(), /update item/);
  assert.ok((await rows("session").count()) >= 4);
});

test("each step down is an address, chips give it up, and back goes back", options, async () => {
  await rows("class").first().locator("a").click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("class") === "lock");
  await quiet(page);
  assert.equal(query().get("by"), "event");
  await rows("event").first().locator("a").click();
  await page.waitForFunction(() => new URLSearchParams(location.search).has("event"));
  await quiet(page);
  await rows("statement").first().locator("a").click();
  await page.waitForFunction(() => new URLSearchParams(location.search).has("statement"));
  await quiet(page);
  await rows("session").first().locator("a").click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("below") === "process");
  await quiet(page);
  await page.locator("#panel-db-session-process").waitFor();
  assert.equal(await page.locator(".db-chips .chip").count(), 4);
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await quiet(page);
  assert.equal(await page.locator(".db-chips .chip").count(), 4);
  assert.deepEqual(await barriers(page), []);
  for (const name of ["file", "disk"]) {
    await page.locator(".steps").getByRole("link", { name, exact: true }).click();
    await page.waitForFunction((name) => new URLSearchParams(location.search).get("below") === name, name);
    await quiet(page);
  }
  await page.locator("#section-machine").getByRole("heading", { name: "Disks", exact: true }).waitFor();
  await page.goBack();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("below") === "file");
  await page.locator(".db-chips").getByRole("link", { name: "Show all" }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("class"));
  assert.equal(await page.locator(".db-chips").count(), 0);
});

test("a time range is in the address, and figures and lists follow it", options, async () => {
  await visit(page, `/database?run=${orders.id}`);
  const value = () => rows("class").first().locator(".top-value").innerText();
  const whole = await value();
  const box = await page.locator("#panel-db-activity .u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 5 });
  await page.mouse.up();
  await page.waitForFunction(() => new URLSearchParams(location.search).has("from"));
  await quiet(page);
  assert.equal(query().has("at"), false, "a drag is no click");
  assert.notEqual(await value(), whole);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("from"));
  await quiet(page);
  assert.equal(await value(), whole);
});

test("the tree shows who holds up the others, at the worst moment and at one that is chosen by mouse or key", options, async () => {
  const tree = page.locator("#panel-db-blocking-tree");
  const top = tree.locator(".block-tree > li > .block-node").first();
  await tree.locator(".block-node").first().waitFor();
  assert.match(await top.innerText(), /4 behind it/);
  assert.match(await top.innerText(), /clerk/);
  const over = page.locator("#panel-db-blocking-over-time .u-over");
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  await page.mouse.click(box.x + box.width * 0.5, box.y + 50);
  await page.waitForFunction(() => new URLSearchParams(location.search).has("at"));
  await quiet(page);
  assert.match(await tree.locator("h3").innerText(), /at 0:0/);
  await tree.getByRole("link", { name: "Show the worst moment" }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("at"));
  await page.locator("#panel-db-blocking-over-time .chart").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URLSearchParams(location.search).has("at"));
  await quiet(page);
});

test("parts below are shown one at a time, and those without data are named", options, async () => {
  await visit(page, `/database?run=${orders.id}`);
  const tabs = page.getByRole("navigation", { name: "about the server" });
  for (const name of await tabs.getByRole("link").allInnerTexts()) {
    await tabs.getByRole("link", { name }).click();
    await quiet(page);
    await page.locator(".db-tabs h2", { hasText: name }).waitFor();
    await drawAll(page);
    assert.equal(await page.locator(".db-tabs .error").count(), 0, name);
  }
  await page.getByText("The run has nothing about: replication").waitFor();
});

test("the page is drawn at all widths in both themes without overflow or serious barriers", options, async () => {
  await visit(page, `/database?run=${orders.id}`);
  await look(page, "database");
});

test("the page as a file holds everything that it shows", options, async () => {
  const address = `/database?run=${orders.id}&class=lock&by=event&from=2&to=8&at=5&below=process`;
  const answer = await page.request.get(`${server}/api/v1/report?page=${encodeURIComponent(address)}`);
  assert.equal(answer.status(), 200);
  const folder = mkdtempSync(join(tmpdir(), "fenxi-file-"));
  try {
    writeFileSync(join(folder, "page.html"), await answer.body());
    await page.goto(`file://${folder}/page.html`);
    await drawAll(page);
    assert.deepEqual(await page.locator(".error").allInnerTexts(), []);
    assert.match(await rows("event").first().innerText(), /transactionid|tuple/);
    assert.ok((await page.locator(".db-tabs > section").count()) > 5);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("nothing complained", options, () => {
  const others = browser.complaints.filter((c) => !c.startsWith("Failed to load resource"));
  assert.deepEqual(others, []);
});
