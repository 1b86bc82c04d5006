// Opens a report in a real browser and uses it as a person would.
//
//   FENXI_REPORT=report.html FENXI_SHOTS=/tmp/shots node --test test/
//
// FENXI_CHROMIUM names the browser (default /usr/bin/chromium). Without a report or a browser every
// test is skipped, with a message.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { browserPath, drawAll, look, openBrowser } from "./support.mjs";

const report = process.env.FENXI_REPORT && resolve(process.env.FENXI_REPORT);
const missing = !report
  ? "FENXI_REPORT names no report"
  : !existsSync(report)
    ? `there is no ${report}`
    : !existsSync(browserPath)
      ? `there is no browser at ${browserPath}`
      : false;
if (missing) console.error(`\n*** THE REPORT IS NOT TESTED IN A BROWSER: ${missing} ***\n`);
const options = { skip: missing, timeout: 60_000 };

let browser;
let page;

before(async () => {
  if (missing) return;
  browser = await openBrowser();
  page = browser.page;
  // Without any network, as a file that was mailed is opened.
  await browser.context.setOffline(true);
});

after(() => browser?.close());

/** What the file holds: its findings, and its sections with their answers. */
async function payload() {
  const { answers } = await page.evaluate(() => JSON.parse(document.getElementById("fenxi-data").textContent));
  const of = (path) =>
    Object.entries(answers)
      .filter(([request]) => request.startsWith(`/api/v1/${path}?`))
      .map(([, answer]) => answer);
  const panels = new Map(of("panel").map((p) => [p.id, p]));
  const sections = of("run")[0].sections.map((s) => ({ ...s, panels: s.panels.map((p) => panels.get(p.id)) }));
  return { findings: of("findings")[0], sections };
}
const loud = (section) => section.panels.filter((p) => !p.quiet);

test("the report opens from disk in less than two seconds", options, async () => {
  const begin = performance.now();
  await page.goto(pathToFileURL(report).href);
  await page.waitForSelector("html[data-ready]");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const took = performance.now() - begin;
  console.error(`opened in ${took.toFixed(0)} ms`);
  assert.ok(took < 2000, `opened in ${took.toFixed(0)} ms`);
});

test("every section and every panel is drawn", options, async () => {
  await drawAll(page);
  for (const section of (await payload()).sections) {
    assert.equal(await page.locator(`#section-${section.id}`).count(), 1, section.id);
    for (const panel of loud(section)) {
      const root = page.locator(`#panel-${panel.id}`);
      // On the first screen or in its section, and nowhere twice.
      assert.equal(await root.count(), 1, `${panel.id} stands ${await root.count()} times`);
      const drawn = root.locator("canvas, table, .tile, .bar-row, .chart svg, .flame svg, .lane, .error");
      assert.ok((await drawn.count()) > 0, `${panel.id} (${panel.chart}) draws nothing`);
    }
  }
});

test("every finding is shown, and its evidence is a click away", options, async () => {
  const { found } = (await payload()).findings;
  for (const finding of found) {
    const root = page.locator(`#finding-${finding.id}`);
    assert.equal(await root.count(), 1, finding.id);
    assert.ok((await root.textContent()).includes(finding.advice.replaceAll("`", "")), finding.id);
  }
  const link = page.locator("#section-findings .evidence:visible").first();
  if ((await link.count()) === 0) return;
  const target = (await link.getAttribute("href")).slice(1);
  await link.click();
  const box = await page.locator(`#${target}`).boundingBox();
  assert.ok(box.y >= 0 && box.y < 900, `${target} is at ${box.y}`);
  await page.evaluate(() => scrollTo(0, 0));
});

test("dragging over one chart zooms all of them, Escape shows everything again", options, async () => {
  const charts = page.locator(".uplot");
  assert.ok((await charts.count()) > 1);
  const pixels = () =>
    charts
      .nth(1)
      .locator("canvas")
      .evaluate((c) => c.toDataURL());
  const whole = await pixels();
  const over = charts.first().locator(".u-over");
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 40, { steps: 5 });
  const lines = await page.locator(".u-cursor-x:not(.u-off)").count();
  assert.ok(lines > 1, "the pointer shows in other charts too");
  await page.mouse.up();
  await page.waitForSelector(".zoom-reset");
  await page.waitForTimeout(100);
  assert.notEqual(await pixels(), whole, "another chart zooms along");
  await page.keyboard.press("Escape");
  await page.waitForTimeout(100);
  assert.equal(await page.locator(".zoom-reset").count(), 0);
  assert.equal(await pixels(), whole);
});

test("the box beside the pointer shows values with their unit", options, async () => {
  const over = page.locator(".uplot .u-over").first();
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const text = await page.locator(".tooltip").innerText();
  assert.match(text, /\d/);
  await page.mouse.move(2, 2);
});

test("a click on a legend hides a series, another one shows it", options, async () => {
  const button = page.locator(".legend button").first();
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  await page.waitForTimeout(600);
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "true");
});

test("a table sorts by the column that is clicked", options, async () => {
  const tables = (await payload()).sections.flatMap(loud).filter((p) => p.chart === "table" && p.table?.rows.length > 1);
  const shown = (c) => c.numeric && tables[0].table.rows.some((row) => row[tables[0].table.columns.indexOf(c)] !== null);
  const { name } = tables[0].table.columns.find(shown);
  const table = page.locator(`#panel-${tables[0].id} table`);
  const header = table.locator("thead th").filter({ has: page.locator(`button[title^="${name}:"]`) });
  const place = await header.evaluate((th) => th.cellIndex);
  const column = () =>
    table
      .locator(`tbody tr td:nth-child(${place + 1})`)
      .evaluateAll((all) => all.map((c) => Number(c.title)).filter((v) => !Number.isNaN(v)));
  for (const [direction, sign] of [
    ["descending", -1],
    ["ascending", 1],
  ]) {
    await header.locator("button").click();
    assert.equal(await header.getAttribute("aria-sort"), direction);
    const values = await column();
    assert.deepEqual(
      values,
      [...values].sort((a, b) => sign * (a - b)),
    );
  }
});

test("both themes and all widths are drawn without overflow or serious barriers", options, async () => {
  await look(page, "report");
});

test("the button switches the theme", options, async () => {
  const before = await page.locator("html").getAttribute("data-theme");
  await page.locator(".theme").click();
  assert.notEqual(await page.locator("html").getAttribute("data-theme"), before);
});

test("nothing was asked of the network and nothing complained", options, async () => {
  assert.deepEqual(
    browser.requests.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")),
    [],
  );
  assert.deepEqual(browser.complaints, []);
});
