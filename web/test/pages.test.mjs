// Drives the pages of a server as a person would: finds runs, looks, zooms, asks, keeps, takes along, brings back.
//
//   FENXI_SERVER=http://127.0.0.1:7070 FENXI_SHOTS=/tmp/shots node --test test/pages.test.mjs
//
// The server's store is made by scripts/page-store; the tests change it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { forgive, look, openBrowser, quiet, server, serverless, visit } from "./support.mjs";

if (serverless) console.error(`\n*** THE PAGES ARE NOT TESTED IN A BROWSER: ${serverless} ***\n`);
const options = { skip: serverless, timeout: 120_000 };
let browser;
let page;

before(async () => {
  if (serverless) return;
  browser = await openBrowser();
  page = browser.page;
});
after(() => browser?.close());

const api = async (path) => (await page.request.get(`${server}/api/v1/${path}`)).json();
const rows = () => page.locator(".runlist tbody tr");
const query = () => new URL(page.url()).searchParams;
/** The id of a run by its name. */
const idOf = async (name) => (await api("runs")).rows.find((r) => r.name === name).id;

test("the list shows every run, and names that look like markup as text", options, async () => {
  await visit(page, "/");
  const all = await api("runs");
  assert.ok(all.total >= 13, `${all.total} runs`);
  assert.equal(await rows().count(), all.total);
  assert.equal(await page.locator(".runlist").getByText('<img src=x onerror=alert(1)>"&', { exact: true }).count(), 1);
  assert.equal(await page.locator(".runlist img").count(), 0);
});

test("filters narrow the list, stand in the address, and survive going there again", options, async () => {
  await page.getByLabel("find runs by text").fill("thorough");
  await page.waitForFunction(() => new URLSearchParams(location.search).get("text") === "thorough");
  await quiet(page);
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".run-cell > a:first-child")].every((a) => a.textContent.includes("thorough")),
  );
  const found = await rows().count();
  assert.ok(found >= 4 && found < 8, `${found} runs`);
  await page.getByLabel("filter by label or parameter").fill("level=9");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".chip");
  await page.waitForFunction(() => document.querySelectorAll(".runlist tbody tr").length === 4);
  const address = page.url();
  await visit(page, "/ask");
  await page.goto(address);
  await quiet(page);
  assert.equal(await rows().count(), 4);
  await page.locator(".chip").click();
  await page.getByLabel("find runs by text").fill("");
  await page.waitForFunction(() => !location.search.includes("text"));
  await page.getByLabel("find runs by text").fill("nothing is called that");
  await page.getByText("No matching runs").waitFor();
  await page.getByRole("button", { name: "Show all runs" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".runlist tbody tr").length > 8);
});

test("results become columns, and the list is sorted by them", options, async () => {
  await visit(page, "/?where=workload%3Dpack");
  await page.locator(".filters .menu > summary").click();
  const box = page.locator(".menu-box").getByLabel("elapsed", { exact: true });
  if (!(await box.isChecked())) await box.check();
  await page.keyboard.press("Escape");
  const header = page.locator(".runlist th", { hasText: /^elapsed/ });
  await header.locator("button").click();
  await quiet(page);
  assert.equal(query().get("sort"), "result:elapsed");
  const place = await header.evaluate((th) => th.cellIndex);
  const values = () =>
    page
      .locator(`.runlist tbody td:nth-child(${place + 1})`)
      .evaluateAll((cells) => cells.map((c) => Number(c.title)).filter((v) => v > 0));
  await page.waitForFunction((n) => {
    const seen = [...document.querySelectorAll(`.runlist tbody td:nth-child(${n})`)].map((c) => Number(c.title)).filter((v) => v > 0);
    return seen.length > 3 && seen.every((v, i) => i === 0 || v <= seen[i - 1]);
  }, place + 1);
  assert.ok((await values()).length > 3);
  await page.goBack();
  assert.equal(query().get("sort"), null);
});

test("a sparkline can be drawn for every run", options, async () => {
  await visit(page, "/?spark=cpu.usr");
  assert.ok((await page.locator(".runlist svg.spark").count()) > 8);
});

test("runs that were picked are labelled, compared and averaged", options, async () => {
  await visit(page, "/?text=quick");
  await page.getByLabel("pick all runs on this page").check();
  await page.locator(".pickbar").getByRole("button", { name: "Label" }).click();
  await page.getByLabel("Labels to add").fill("kept=yes");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".run-cell .tag", { hasText: "kept=yes" }).first().waitFor();
  const compare = new URL(
    await page
      .locator(".pickbar")
      .getByRole("link", { name: "Compare" })
      .evaluate((a) => a.href),
  );
  assert.equal(compare.pathname, "/compare");
  assert.ok(compare.searchParams.get("a") && compare.searchParams.get("b"));
  await page.locator(".pickbar").getByRole("button", { name: "Average" }).click();
  await page.getByLabel("Name of the new run").fill("quick-average");
  await page.locator("dialog").getByRole("button", { name: "Average" }).click();
  await page.waitForURL("**/run?run=*");
  await page.locator("h1", { hasText: /^quick-average$/ }).waitFor();
});

test("every section of a run is drawn, and findings lead to their evidence", options, async () => {
  await visit(page, `/run?run=${await idOf("thorough")}`);
  await look(page, "run");
  assert.equal(await page.locator(".waiting").count(), 0);
  assert.ok((await page.locator(".panel").count()) > 10);
  for (const panel of await page.locator(".panel").all()) {
    const drawn = await panel.locator("canvas, table, .tile, .bar-row, svg").count();
    assert.ok(drawn > 0, `${await panel.getAttribute("id")} draws nothing`);
  }
  await page.locator("#section-findings .finding details").evaluateAll((all) => {
    for (const details of all) details.open = true;
  });
  const evidence = page.locator("#section-findings .evidence:visible").first();
  if ((await evidence.count()) > 0) {
    const target = (await evidence.getAttribute("href")).slice(1);
    await evidence.click();
    await page.waitForTimeout(300);
    const box = await page.locator(`[id="${target}"]`).boundingBox();
    assert.ok(box && box.y > -20 && box.y < 900, `${target} is at ${box?.y}`);
  }
});

/** Drags over the middle of the first chart. */
async function zoom() {
  await page.locator("#section-cpu").scrollIntoViewIfNeeded();
  await page.locator(".uplot").first().waitFor();
  await quiet(page);
  const over = page.locator(".uplot .u-over").first();
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 40, { steps: 5 });
  await page.mouse.up();
}

test("a zoom asks the server for that time range, is in the address, and can be kept as a window", options, async () => {
  const run = await idOf("thorough");
  await visit(page, `/run?run=${run}`);
  const finer = page.waitForResponse((r) => r.url().includes("/api/v1/panel") && r.url().includes("from="));
  await zoom();
  assert.equal((await finer).status(), 200);
  await page.waitForFunction(() => new URLSearchParams(location.search).has("from"));
  await quiet(page);
  await page.getByRole("button", { name: "Save as window" }).click();
  await page.locator("dialog").getByLabel("Name").fill("middle");
  await page.locator("dialog").getByRole("button", { name: "Save" }).click();
  await page.locator(".window .chip", { hasText: "middle" }).waitFor();
  const address = page.url();
  await page.goto(address);
  await quiet(page);
  assert.equal(await page.locator(".zoom-reset").count(), 1, "the link shows the same time range");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.search.includes("from="));
  await page.locator(".window .chip", { hasText: "middle" }).click();
  await page.waitForFunction(() => location.search.includes("from="));
});

test("a moment gets a name on the page, is in the charts, and loses it again", options, async () => {
  await visit(page, `/run?run=${await idOf("thorough")}`);
  await page.getByRole("button", { name: "Mark a moment" }).click();
  const dialog = page.locator("dialog");
  await dialog.getByLabel("What happened").fill("failover begins");
  await dialog.getByLabel("Seconds from the start").fill("1000000");
  await dialog.getByRole("button", { name: "Mark", exact: true }).click();
  assert.equal(await dialog.count(), 1, "a moment after the end is refused");
  await dialog.getByLabel("Seconds from the start").fill("0.5");
  await dialog.getByRole("button", { name: "Mark", exact: true }).click();
  const chip = page.locator(".window .chip", { hasText: "failover begins 0:00.5" });
  await chip.waitFor();
  await chip.click();
  await page.waitForFunction(() => location.search.includes("from="));
  await page.getByRole("button", { name: "remove the mark failover begins" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await chip.waitFor({ state: "detached" });
});

test("what another person remarks and marks is shown without loading the page again, with who and when", options, async () => {
  const id = await idOf("thorough");
  await visit(page, `/run?run=${id}`);
  const loads = await page.evaluate(() => {
    window.same = true;
    return performance.getEntriesByType("navigation").length;
  });
  const other = await browser.context.newPage();
  await visit(other, `/run?run=${id}`);
  await other.getByRole("button", { name: "Mark a moment" }).click();
  const dialog = other.locator("dialog");
  await dialog.getByLabel("What happened").fill("seen by the other");
  await dialog.getByLabel("Seconds from the start").fill("0.25");
  await dialog.getByRole("button", { name: "Mark", exact: true }).click();
  const chip = page.locator(".window .chip", { hasText: "seen by the other" });
  await chip.waitFor();
  // Who set it comes with the run itself, which is another answer.
  await page.locator('.window .chip[title*="by "]', { hasText: "seen by the other" }).waitFor();
  assert.match(await chip.getAttribute("title"), /by \S+, \d{4}-\d\d-\d\d/);
  const labels = `${server}/api/v1/runs/${id}/labels`;
  const said = await other.request.put(labels, { headers: { "X-Fenxi": "1" }, data: { remarks: ["the disk was <b>full</b>"] } });
  assert.ok(said.ok());
  const remark = page.locator("dd", { hasText: "the disk was <b>full</b>" });
  await remark.waitFor({ state: "attached" });
  assert.match(await remark.textContent(), / by \S+, \d{4}-/);
  assert.ok(await page.evaluate(() => window.same), "it is the same page");
  assert.equal(loads, 1);
  await other.request.put(labels, { headers: { "X-Fenxi": "1" }, data: { remarks: [] } });
  await other.request.delete(`${server}/api/v1/runs/${id}/marks/seen%20by%20the%20other`, { headers: { "X-Fenxi": "1" } });
  await chip.waitFor({ state: "detached" });
  await other.close();
});

test("a series that is hidden stays hidden in the link", options, async () => {
  await visit(page, `/run?run=${await idOf("thorough")}`);
  const button = page.locator(".legend button").first();
  await button.scrollIntoViewIfNeeded();
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  assert.ok(query().getAll("hide").length === 1);
  await page.goto(page.url());
  await quiet(page);
  await button.scrollIntoViewIfNeeded();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
});

test("two runs lie over each other", options, async () => {
  await visit(page, `/run?run=${await idOf("thorough")}&run=${await idOf("quick")}`);
  assert.equal(await page.locator(".runs .run").count(), 2);
  await look(page, "run-two", [1280]);
});

/** Replaces the text in the editor. */
async function write(sql) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  // Pasted, as a person would bring a statement along.
  await page.locator(".cm-content").evaluate((content, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    content.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, sql);
}

test("a panel's question is edited, kept, and part of the next report", options, async () => {
  const run = await idOf("thorough");
  await visit(page, `/run?run=${run}`);
  await page.locator("#section-cpu").scrollIntoViewIfNeeded();
  await page.locator("#panel-cpu-time").getByRole("link", { name: "edit" }).click();
  await page.waitForURL("**/ask?*");
  await page.waitForSelector(".cm-content");
  await quiet(page);
  assert.equal(query().get("question"), "cpu-time");
  assert.ok((await page.locator(".answer canvas").count()) > 0, "the question's own chart is drawn");
  await write("SELECT run, host, t, dt, usr + sys AS work FROM cpu WHERE cpu IS NULL ORDER BY run, host, t");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => location.search.includes("work"));
  await page.getByLabel("chart", { exact: true }).selectOption("line");
  await page.getByLabel("y", { exact: true }).fill("work");
  await page.keyboard.press("Tab");
  await quiet(page);
  await page.locator(".answer canvas").waitFor();
  await look(page, "ask", [1280, 390, 2560]);
  await page.getByRole("button", { name: "Save as question" }).click();
  await page.locator("dialog").getByLabel("Title").fill("How much work was done?");
  await page.locator("dialog").getByLabel("Name").fill("work-done");
  await page.locator("dialog").getByRole("button", { name: "Save" }).click();
  await page.waitForFunction(() => location.search.includes("question=work-done"));
  await visit(page, `/run?run=${run}`);
  await page.locator("#section-cpu").scrollIntoViewIfNeeded();
  await page.locator("#panel-work-done").waitFor();
  const file = await page.request.get(`${server}/api/v1/report?page=${encodeURIComponent(`/run?run=${run}`)}`);
  assert.equal(file.status(), 200);
  const html = await file.text();
  assert.ok(html.includes("How much work was done?"), "the report has the new question");
});

test("SQL that is wrong is explained in words, and rows come as CSV", options, async () => {
  await visit(page, "/ask?q=SELECT+nothing+FROM+cpu");
  assert.match(await page.locator(".answer .error").innerText(), /nothing/);
  forgive(browser);
  await visit(page, "/ask?q=SELECT+count(*)+AS+n+FROM+cpu");
  assert.match(await page.locator(".answer td").first().innerText(), /\d/);
  const address = await page.getByRole("link", { name: "CSV" }).evaluate((a) => a.href);
  const csv = await (await page.request.get(address)).text();
  assert.match(csv, /^n\r?\n\d+/);
});

test("a statement that takes long shows for how long, and is cancelled", options, async () => {
  await page.goto(`${server}/ask?q=${encodeURIComponent("SELECT sum(a.i * b.i % 7) FROM range(1000000) a(i), range(1000000) b(i)")}`);
  await page.getByRole("button", { name: "Cancel" }).click({ timeout: 10_000 });
  await page.getByText("Cancelled.").waitFor();
});

test("five hundred series are ranked, searched and switched without waiting", options, async () => {
  const sql =
    "SELECT run, host, t, dt, 'series ' || i AS worker, CASE WHEN i % 5 = 0 THEN 0 ELSE usr * i END AS value FROM cpu, range(500) r(i) WHERE cpu IS NULL ORDER BY run, host, t";
  await visit(
    page,
    `/ask?${new URLSearchParams({ q: sql, chart: "line", x: "t", y: "value", series: "worker", run: await idOf("thorough") })}`,
  );
  await page.getByText("500 series").waitFor();
  assert.equal(await page.locator(".legend button[aria-pressed=true]").count(), 12);
  assert.match(await page.locator(".legend button").first().innerText(), /series 499/);
  await page.locator(".legend").getByText("100 always zero").waitFor();
  await page.getByLabel("find a series").fill("series 41");
  const begin = Date.now();
  await page.locator(".legend button", { hasText: "series 417" }).click();
  await page.waitForFunction(() => location.search.includes("417"));
  assert.ok(Date.now() - begin < 1000, `switched after ${Date.now() - begin} ms`);
});

test("the editor completes tables and columns", options, async () => {
  await visit(page, "/ask");
  await page.waitForSelector(".cm-content");
  await write("SELECT * FROM press");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete li", { hasText: "pressure" }).first().waitFor();
  await page.keyboard.press("Escape");
});

test("an archive that was exported comes back as the same run", options, async () => {
  const run = await idOf("packing threads=1");
  await visit(page, `/run?run=${run}`);
  await page.locator(".page-tools .menu > summary").click();
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Archive of the run" }).click();
  const path = await (await download).path();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForURL((url) => url.pathname === "/");
  await quiet(page);
  assert.equal(await page.locator(`.runlist a[title="${run}"]`).count(), 0);
  await page
    .getByLabel("files to import")
    .setInputFiles({ name: `${run}.tar.zst`, mimeType: "application/zstd", buffer: readFileSync(path) });
  await page.waitForURL(`**/run?run=${run}`);
  await quiet(page);
  assert.equal(await page.locator("h1").innerText(), "packing threads=1");
});

test("another tool's output is imported", options, async () => {
  await visit(page, "/");
  const text =
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n 1  0      0 811420  25392 914568    0    0    14    25   60  103  1  1 98  0  0\n 0  0      0 811420  25392 914568    0    0     0     0   41   77  0  0 100  0  0\n";
  await page.getByLabel("files to import").setInputFiles({ name: "vmstat.txt", mimeType: "text/plain", buffer: Buffer.from(text) });
  await page.waitForURL("**/run?run=*");
  await page.locator(".panel").first().waitFor();
});

test("live values come every second, and stand still while paused", options, async () => {
  await visit(page, "/live");
  await page.locator(".uplot").first().waitFor({ timeout: 10_000 });
  await page.waitForTimeout(3500);
  assert.ok((await page.locator(".uplot").count()) >= 3);
  await page.getByRole("button", { name: "Pause" }).click();
  const picture = () =>
    page
      .locator(".uplot canvas")
      .first()
      .evaluate((c) => c.toDataURL());
  const still = await picture();
  await page.waitForTimeout(2200);
  assert.equal(await picture(), still);
  await look(page, "live");
  await page.getByRole("button", { name: "Go on" }).click();
});

test("a source of one's choice is watched", options, async () => {
  await visit(page, "/live");
  await page.getByLabel("source watched").selectOption("process");
  await page.waitForURL("**/live?source=process");
  await page.getByText("When did which process use the CPU?").first().waitFor({ timeout: 15_000 });
  await page.locator(".uplot").first().waitFor({ timeout: 10_000 });
  await look(page, "live-source");
});

test("a recording under way is followed", options, async () => {
  await visit(page, "/live");
  await page.locator(".recordings a", { hasText: "running" }).click();
  await page.waitForURL("**/live?run=*");
  await page.locator(".uplot").first().waitFor({ timeout: 10_000 });
  assert.match(await page.locator("h1").innerText(), /running/);
});

test("times are shown in UTC or in the browser's own zone, and say which", options, async () => {
  await visit(page, "/");
  const head = () => page.locator(".runlist thead").innerText();
  assert.match(await head(), /UTC/);
  await page.locator("button.zone").click();
  assert.equal(await page.locator("button.zone").innerText(), await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone));
  await page.locator("button.zone").click();
});

test("a server that is gone, a run that is not there and a session that ended are reported or mended", options, async () => {
  await visit(page, "/run?run=there-is-none");
  await page.getByText("No run matches there-is-none").waitFor();
  await visit(page, "/");
  await page.route("**/api/v1/**", (route) => route.abort());
  await page.getByRole("link", { name: "Ask" }).click();
  await page.goto(`${server}/run?run=x`);
  await page.locator("main .error").waitFor();
  assert.match(await page.locator("main .error").innerText(), /does not answer/);
  await page.unroute("**/api/v1/**");
  await page.route("**/api/v1/about", (route) =>
    route.fulfill({ status: 401, contentType: "application/json", body: '{"error":"log in"}' }),
  );
  await page.route("**/login?*", (route) =>
    route.fulfill({ contentType: "text/html", body: '<link rel="icon" href="data:,"><title>Log in</title>' }),
  );
  await page.goto(`${server}/?text=quick`);
  await page.waitForURL((url) => url.pathname === "/login" && url.searchParams.get("next") === "/?text=quick");
  await page.unroute("**/api/v1/about");
  await page.unroute("**/login?*");
  forgive(browser);
});

test("pages that were seen are there at once, and nothing moves by itself", options, async () => {
  const run = await idOf("thorough");
  for (const path of ["/", `/run?run=${run}`, "/ask?question=cpu-time"]) {
    await visit(page, path);
    await page.waitForTimeout(600);
    const moved = await page.evaluate(() => window.moved);
    assert.ok(moved < 0.1, `${path} moved by ${moved.toFixed(3)}`);
  }
  await visit(page, "/");
  await page.locator(`.runlist a[title="${run}"]`).click();
  await quiet(page);
  await page.goBack();
  const begin = Date.now();
  await page.goForward();
  await page.locator(".runs .run").waitFor();
  assert.ok(Date.now() - begin < 500, `back after ${Date.now() - begin} ms`);
});

test("the list is drawn at three widths in both themes", options, async () => {
  await visit(page, "/");
  await look(page, "runs");
});

test("everything is reached by keyboard", options, async () => {
  await visit(page, "/");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
});

test("nothing was asked of another machine and nothing complained", options, () => {
  const away = browser.requests.filter((url) => !url.startsWith(server) && !url.startsWith("data:") && !url.startsWith("blob:"));
  assert.deepEqual(away, []);
  assert.deepEqual(browser.complaints, []);
});
