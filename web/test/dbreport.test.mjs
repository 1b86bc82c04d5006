// The report of a database server as a page: every section by itself, in a file, and with the figures of its JSON.
//
// The run is the one of database.test.mjs.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { drawAll, openBrowser, quiet, server, serverless, visit } from "./support.mjs";

const runs = serverless ? [] : (await (await fetch(`${server}/api/v1/runs`)).json()).rows;
const orders = runs.find((r) => r.name === "orders");
const missing = serverless || (orders ? false : "the store has no run of a database: PostgreSQL is not installed");
if (missing) console.error(`\n*** SKIPPED, the report of a database in a browser: ${missing} ***\n`);
const options = { skip: missing, timeout: 120_000 };
let browser;
let page;
let report;

before(async () => {
  if (missing) return;
  browser = await openBrowser();
  page = browser.page;
  report = await (await fetch(`${server}/api/v1/dbreport?run=${orders.id}`)).json();
});
after(() => browser?.close());

/** What a section of the page shows, line by line. */
const shown = (id) =>
  page.locator(`#section-${id} tbody tr`).evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));

/** What a section of the report has. */
const wanted = ({ lines }) => lines.flatMap((l) => [[...l.keys, ...l.cells.flat().map((c) => c.shown)], ...(l.text ? [[l.text]] : [])]);

test("the page of a database leads to its report, which shows what its JSON has", options, async () => {
  await visit(page, `/database?run=${orders.id}`);
  await page.locator(".page-tools").getByRole("link", { name: "Report" }).click();
  await page.getByRole("heading", { name: "Load Profile" }).waitFor();
  await quiet(page);
  assert.ok(report.sections.length > 10);
  for (const section of report.sections) assert.deepEqual(await shown(section.id), wanted(section), section.id);
  await page.locator("#panel-db-activity canvas").first().waitFor();
});

test("a section stands alone, at an address", options, async () => {
  await visit(page, `/db-report?run=${orders.id}`);
  await page.locator("#section-blocking").getByRole("link", { name: "Alone" }).click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("section") === "blocking");
  await quiet(page);
  assert.equal(await page.locator("main > section").count(), 1);
  const section = report.sections.find((s) => s.id === "blocking");
  assert.deepEqual(await shown("blocking"), wanted(section));
  await page.getByRole("link", { name: "All sections" }).click();
  await page.getByRole("heading", { name: "Load Profile" }).waitFor();
});

test("a section and the whole are files with the same figures", options, async () => {
  const folder = mkdtempSync(join(tmpdir(), "fenxi-file-"));
  try {
    for (const [more, ids] of [
      ["&section=blocking", ["blocking"]],
      ["", report.sections.map((s) => s.id)],
    ]) {
      const address = `/db-report?run=${orders.id}${more}`;
      const answer = await page.request.get(`${server}/api/v1/report?page=${encodeURIComponent(address)}`);
      assert.equal(answer.status(), 200);
      writeFileSync(join(folder, "page.html"), await answer.body());
      await page.goto(`file://${folder}/page.html`);
      await drawAll(page);
      assert.deepEqual(await page.locator(".error").allInnerTexts(), []);
      for (const id of ids) assert.deepEqual(await shown(id), wanted(report.sections.find((s) => s.id === id)), id);
    }
    // The chart is in the file, and something is drawn in it.
    const ink = await page
      .locator("#panel-db-activity canvas")
      .first()
      .evaluate((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.filter((v, i) => i % 4 === 3 && v > 0).length;
      });
    assert.ok(ink > 1000, `${ink} points of the chart are drawn`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("nothing complained", options, () => {
  const others = browser.complaints.filter((c) => !c.startsWith("Failed to load resource"));
  assert.deepEqual(others, []);
});
