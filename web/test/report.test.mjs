// Opens a report in a real browser and uses it as a person would.
//
//   FENXI_REPORT=report.html FENXI_SHOTS=/tmp/shots node --test test/
//
// FENXI_CHROMIUM names the browser (default /usr/bin/chromium). Without a report or a browser every
// test is skipped, and says so.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const browserPath = process.env.FENXI_CHROMIUM ?? "/usr/bin/chromium";
const report = process.env.FENXI_REPORT && resolve(process.env.FENXI_REPORT);
const shots = process.env.FENXI_SHOTS;
const missing = !report
  ? "FENXI_REPORT names no report"
  : !existsSync(report)
    ? `there is no ${report}`
    : !existsSync(browserPath)
      ? `there is no browser at ${browserPath}`
      : false;
if (missing) console.error(`\n*** THE REPORT IS NOT TESTED IN A BROWSER: ${missing} ***\n`);
const options = { skip: missing, timeout: 60_000 };

let context;
let page;
let profile;
const complaints = [];
const requests = [];

before(async () => {
  if (missing) return;
  profile = mkdtempSync(join(tmpdir(), "fenxi-browser-"));
  context = await chromium.launchPersistentContext(profile, {
    executablePath: browserPath,
    headless: true,
    viewport: { width: 1280, height: 900 },
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && complaints.push(m.text()));
  page.on("pageerror", (e) => complaints.push(String(e)));
  page.on("request", (r) => requests.push(r.url()));
});

after(async () => {
  await context?.close();
  if (profile) rmSync(profile, { recursive: true, force: true });
});

/** Scrolls through the page, so that every chart is drawn. */
async function drawAll() {
  await page.evaluate(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += 500) {
      scrollTo(0, y);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }
    scrollTo(0, 0);
  });
  await page.waitForTimeout(200);
}

const payload = () => page.evaluate(() => JSON.parse(document.getElementById("fenxi-data").textContent));
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
  await drawAll();
  for (const section of (await payload()).sections) {
    const root = page.locator(`#section-${section.id}`);
    assert.equal(await root.count(), 1, section.id);
    assert.equal(await root.locator("article").count(), loud(section).length, section.id);
    for (const panel of loud(section)) {
      const drawn = page.locator(`#panel-${panel.id}`).locator("canvas, table, .tile, .bar-row, .chart svg, .flame svg, .error");
      assert.ok((await drawn.count()) > 0, `${panel.id} (${panel.chart}) draws nothing`);
    }
  }
});

test("every finding is told, and its evidence is a click away", options, async () => {
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
  const pixels = () => charts.nth(1).locator("canvas").evaluate((c) => c.toDataURL());
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

test("the box beside the pointer tells values with their unit", options, async () => {
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
  const place = tables[0].table.columns.findIndex((c) => c.numeric);
  const table = page.locator(`#panel-${tables[0].id} table`);
  const header = table.locator("th").nth(place);
  const column = () => table.locator(`tbody tr td:nth-child(${place + 1})`).evaluateAll((all) => all.map((c) => Number(c.title)).filter((v) => !Number.isNaN(v)));
  for (const [direction, sign] of [["descending", -1], ["ascending", 1]]) {
    await header.locator("button").click();
    assert.equal(await header.getAttribute("aria-sort"), direction);
    const values = await column();
    assert.deepEqual(values, [...values].sort((a, b) => sign * (a - b)));
  }
});

test("both themes and both widths are drawn without overflow", options, async () => {
  if (shots) mkdirSync(shots, { recursive: true });
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.waitForSelector(`html[data-theme="${colorScheme}"]`);
      await drawAll();
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(beyond <= 0, `${beyond} pixels beyond the window at ${width}`);
      if (shots) await page.screenshot({ path: join(shots, `report-${width}-${colorScheme}.png`), fullPage: true });
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
});

test("there are no serious barriers by axe's rules, in either theme", options, async () => {
  const source = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
  const { readFileSync } = await import("node:fs");
  await page.evaluate(readFileSync(source, "utf8"));
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.waitForSelector(`html[data-theme="${colorScheme}"]`);
    const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    const serious = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
    assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 160)}`), []);
  }
});

test("the button switches the theme", options, async () => {
  const before = await page.locator("html").getAttribute("data-theme");
  await page.locator(".theme").click();
  assert.notEqual(await page.locator("html").getAttribute("data-theme"), before);
});

test("nothing was asked of the network and nothing complained", options, async () => {
  assert.deepEqual(requests.filter((url) => !url.startsWith("file:") && !url.startsWith("data:")), []);
  assert.deepEqual(complaints, []);
});
