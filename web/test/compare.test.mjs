// Drives the pages that compare groups, read studies and follow metrics, of a server and as files without one.
//
//   FENXI_SERVER=http://127.0.0.1:7070 FENXI_SHOTS=/tmp/shots node --test test/compare.test.mjs
//
// The server's store is made by scripts/page-store.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { drawAll, look, openBrowser, quiet, server, serverless, visit } from "./support.mjs";

if (serverless) console.error(`\n*** COMPARISONS ARE NOT TESTED IN A BROWSER: ${serverless} ***\n`);
const options = { skip: serverless, timeout: 90_000 };
let browser;
let page;
let files;

before(async () => {
  if (serverless) return;
  files = mkdtempSync(join(tmpdir(), "fenxi-files-"));
  browser = await openBrowser();
  page = browser.page;
});
after(async () => {
  await browser?.close();
  if (files) rmSync(files, { recursive: true, force: true });
});

const COMPARE = "/compare?a=quick&b=thorough";
const api = async (path) => (await page.request.get(`${server}/api/v1/${path}`)).json();
const query = () => new URL(page.url()).searchParams;
const lines = () => page.locator(".verdicts tbody tr");

/** What a click saves, as text. */
async function saved(click) {
  const [download] = await Promise.all([page.waitForEvent("download"), click()]);
  const path = join(files, download.suggestedFilename());
  await download.saveAs(path);
  return { name: download.suggestedFilename(), path, text: readFileSync(path, "utf8") };
}

test("a comparison is asked for with two selectors, which are completed", options, async () => {
  await visit(page, "/compare");
  await page.getByText("Which groups?").waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll(".picker datalist option")].some((o) => o.value === "thorough"));
  await page.getByLabel("A, the first group").fill("quick");
  await page.getByLabel("B, compared with it").fill("thorough");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.waitForSelector("#section-gate");
  assert.deepEqual([query().get("a"), query().get("b")], ["quick", "thorough"]);
});

test("the gate comes first, with the reasons that the store gives", options, async () => {
  await visit(page, COMPARE);
  const found = await api("compare?a=quick&b=thorough&all=true");
  const order = await page.locator("main > section").evaluateAll((all) => all.map((s) => s.id));
  assert.equal(order[0], "section-gate");
  assert.ok(order.indexOf("section-verdicts") < order.indexOf("section-charts"));
  for (const reason of found.reasons) assert.equal(await page.locator("#section-gate").getByText(reason.text).count(), 1, reason.text);
});

test("the parts of the time add up to the whole, residual included", options, async () => {
  const { split } = await api("compare?a=quick&b=thorough&all=true");
  assert.ok(split, "a command's elapsed time can be split");
  for (const side of [0, 1]) {
    const sum = split.parts.reduce((s, p) => s + p.means[side], 0);
    const whole = split.whole.means[side];
    assert.ok(Math.abs(sum - whole) < 1e-6 * whole);
  }
  for (const part of split.parts) assert.equal(await page.locator("#section-split td").getByText(part.name, { exact: true }).count(), 1);
});

test("results stand first, and every line can be shown, found and filtered by its verdict", options, async () => {
  const { comparison } = await api("compare?a=quick&b=thorough&all=true");
  assert.match(await lines().first().innerText(), new RegExp(comparison.results[0].column));
  const few = await lines().count();
  await page.getByRole("button", { name: /^Show all \d+ metrics$/ }).click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("lines") === "all");
  assert.ok((await lines().count()) > few);
  const chip = page.locator(".chips .chip").first();
  const [, word, n] = (await chip.innerText()).match(/^\S+ (.*) (\d+)$/);
  await chip.click();
  assert.equal(query().get("verdict"), word);
  while (
    await page
      .locator("#section-verdicts")
      .getByRole("button", { name: /^Show all \d+$/ })
      .count()
  )
    await page
      .locator("#section-verdicts")
      .getByRole("button", { name: /^Show all \d+$/ })
      .first()
      .click();
  assert.equal(await lines().count(), Number(n));
  await chip.click();
  await page.getByLabel("find metrics").fill("elapsed");
  await page.waitForFunction(() => [...document.querySelectorAll(".verdicts tbody th")].every((t) => t.textContent.includes("elapsed")));
  await page.getByLabel("find metrics").fill("");
});

test("a run is moved against the others by its bar, and the link has the shift", options, async () => {
  await visit(page, COMPARE);
  const bar = page.locator(".shift-bar").first();
  await bar.scrollIntoViewIfNeeded();
  await bar.focus();
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelector(".shift-bar").getAttribute("aria-valuenow") === "0.5");
  const [run, seconds] = query()
    .get("shift")
    .split(/:(?=[^:]*$)/);
  assert.ok(Math.abs(Number(seconds) - 0.5) < 1e-9, query().get("shift"));
  const box = await bar.boundingBox();
  await page.mouse.move(box.x + 20, box.y + 6);
  await page.mouse.down();
  await page.mouse.move(box.x + 120, box.y + 6, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction((was) => new URLSearchParams(location.search).get("shift") !== was, `${run}:${seconds}`);
  const dragged = query().get("shift");
  assert.ok(dragged.startsWith(run) && Number(dragged.slice(run.length + 1)) > 0.5, dragged);
  await page.goto(page.url());
  await quiet(page);
  await page.waitForSelector(".shift-label");
  await page.getByRole("button", { name: "Reset shifts" }).click();
  await page.waitForFunction(() => !location.search.includes("shift"));
});

test("questions are drawn over each other, heat maps side by side and as a difference", options, async () => {
  await drawAll(page);
  await page.waitForSelector("#panel-cpu-time canvas");
  assert.equal(await page.locator("#panel-cpu-heatmap .heat").count(), 3);
  assert.equal(await page.locator("#section-charts .error").count(), 0);
  const chart = page.locator("#panel-cpu-time .u-over");
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + 40, box.y + 60);
  assert.match(await page.locator(".tooltip").innerText(), /A[\s\S]*B/);
  await page.mouse.move(2, 2);
});

test("a time range is asked for alone, and is in the link", options, async () => {
  const over = page.locator("#panel-cpu-time .u-over");
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  const finer = page.waitForRequest((r) => r.url().includes("question=cpu-time") && r.url().includes("from="));
  await page.mouse.move(box.x + box.width * 0.02, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.12, box.y + 40, { steps: 5 });
  await page.mouse.up();
  await finer;
  await page.waitForFunction(() => new URLSearchParams(location.search).has("from"));
  assert.ok(Number(query().get("from")) < Number(query().get("to")));
  await quiet(page);
  const map = page.locator("#panel-cpu-heatmap .heat").last();
  await map.scrollIntoViewIfNeeded();
  await quiet(page);
  const before = query().get("to");
  const field = await map.boundingBox();
  await page.mouse.move(field.x + field.width * 0.3, field.y + 8);
  await page.mouse.down();
  await page.mouse.move(field.x + field.width * 0.6, field.y + 8, { steps: 5 });
  await page.mouse.up();
  await page.waitForFunction((to) => new URLSearchParams(location.search).get("to") !== to, before);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("from"));
});

test("who leaves a time range before the page has drawn it has left it", options, async () => {
  const over = page.locator("#panel-cpu-time .u-over");
  for (const delay of [0, 1, 2, 3, 4, 6, 8, 12]) {
    await quiet(page);
    await page.evaluate((delay) => {
      const replace = history.replaceState;
      document.body.classList.remove("left");
      history.replaceState = function (...step) {
        replace.apply(this, step);
        if (!String(step[2]).includes("from=")) return;
        history.replaceState = replace;
        setTimeout(() => {
          document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
          document.body.classList.add("left");
        }, delay);
      };
    }, delay);
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    await page.mouse.move(box.x + box.width * 0.2, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.4, box.y + 40, { steps: 5 });
    await page.mouse.up();
    await page.waitForSelector("body.left", { state: "attached" });
    await page.waitForTimeout(400);
    assert.ok(!query().has("from"), `${delay} ms: ${page.url()}`);
  }
  await quiet(page);
});

test("a chart is taken away as a picture of shapes and as rows", options, async () => {
  const panel = page.locator("#panel-cpu-time");
  const take = (what) => async () => {
    await panel.locator(".takeaway > button").click();
    await panel.getByRole("button", { name: what, exact: true }).click();
  };
  const svg = await saved(take("Save as SVG"));
  assert.match(svg.name, /\.svg$/);
  assert.ok(svg.text.startsWith("<svg") && svg.text.includes("<path") && !svg.text.includes("<image"));
  const csv = await saved(take("Save as CSV"));
  assert.ok(csv.text.startsWith("time (s),") && csv.text.split("\r\n").length > 10);
  const png = await saved(take("Save as PNG"));
  assert.ok(readFileSync(png.path).subarray(1, 4).toString() === "PNG");
});

test("a comparison is taken away as Markdown", options, async () => {
  const { text } = await saved(() => page.getByRole("button", { name: "Save as Markdown" }).click());
  assert.match(text, /^## quick and thorough/);
  assert.match(text, /\| elapsed \|/);
});

test("groups that did not do the same work are refused, and compared only when forced", options, async () => {
  await page.route("**/api/v1/compare?*", async (route) => {
    if (route.request().url().includes("force")) return route.continue();
    const response = await route.fetch();
    const found = await response.json();
    await route.fulfill({
      response,
      json: {
        ...found,
        reasons: [{ refuses: true, text: "different data sizes: `scale` is 1 in A and 2 in B" }],
        refused: true,
        comparison: null,
        split: null,
      },
    });
  });
  await visit(page, `${COMPARE}&margin=5%25`);
  await page.locator("#section-gate").getByText("different data sizes").waitFor();
  assert.equal(await page.locator("#section-verdicts").count(), 0);
  await page.getByRole("button", { name: "Compare anyway" }).click();
  await page.waitForSelector("#section-verdicts");
  await page.unroute("**/api/v1/compare?*");
});

test("a study shows its response by factor, its scaling and its cells, and the way to their runs", options, async () => {
  await visit(page, "/study");
  await page.getByRole("link", { name: "packing" }).click();
  await page.waitForSelector("#section-cells");
  const report = await api("study?name=packing");
  assert.equal(await page.locator(".cells tbody tr").count(), report.cells);
  assert.ok((await page.locator("#section-factors svg circle, #section-factors svg rect").count()) >= report.cells);
  await page.getByRole("link", { name: /runs of threads=1/ }).click();
  await page.waitForSelector(".runlist tbody tr");
  await quiet(page);
  assert.equal(await page.locator(".runlist tbody tr").count(), report.blocks);
});

test("a metric is followed over runs, and two points are compared", options, async () => {
  await visit(page, "/trend");
  await page.getByLabel("metric").fill("elapsed");
  await page.getByRole("button", { name: "Show trend" }).click();
  const found = await (async () => {
    await page.waitForSelector(".chart.own svg circle");
    return api("trend?metric=elapsed");
  })();
  assert.ok(found.points.length >= 12);
  const chart = page.locator(".chart.own");
  await chart.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  assert.deepEqual(
    query().getAll("pick"),
    found.points.slice(0, 2).map((p) => p.run),
  );
  await page.getByRole("button", { name: /^Compare / }).click();
  await page.waitForSelector("#section-gate");
  assert.equal(query().get("a"), found.points[0].run);
});

test("all results over runs are listed, and each leads to its trend", options, async () => {
  await visit(page, "/trend");
  const found = await api("trends");
  const rows = page.locator("main table tbody tr");
  await rows.first().waitFor();
  assert.equal(await rows.count(), found.series.length);
  assert.ok(found.series.some((s) => s.metric === "elapsed"));
  await page.getByRole("link", { name: "elapsed", exact: true }).first().click();
  await page.waitForSelector(".chart.own svg circle");
  assert.equal(query().get("metric"), "elapsed");
});

const PAGES = [
  { name: "compare", path: COMPARE },
  { name: "study", path: "/study?name=packing" },
  { name: "trend", path: "/trend?metric=elapsed" },
  { name: "trends", path: "/trend" },
];

for (const { name, path } of PAGES) {
  test(`${name} is drawn at three widths in both themes without barriers`, options, async () => {
    await visit(page, path);
    await look(page, name);
  });

  test(`${name} is the same in a file without a server`, options, async () => {
    const answer = await page.request.get(`${server}/api/v1/report?page=${encodeURIComponent(path)}`);
    assert.equal(answer.status(), 200, await answer.text().then((t) => t.slice(0, 300)));
    const file = join(files, `${name}.html`);
    writeFileSync(file, await answer.body());
    await visit(page, path);
    await drawAll(page);
    const drawn = () => page.locator("main h2, main h3, main h4").allInnerTexts();
    const [headings, count] = [await drawn(), browser.requests.length];
    await page.goto(pathToFileURL(file).href);
    await quiet(page);
    await drawAll(page);
    assert.deepEqual(await drawn(), headings);
    assert.equal(await page.locator("main .error").count(), 0);
    await look(page, `${name}-file`);
    assert.deepEqual(
      browser.requests.slice(count).filter((url) => !/^(file|data|blob):/.test(url)),
      [],
    );
  });
}

test("nothing was asked of any other machine and nothing complained", options, async () => {
  const elsewhere = browser.requests.filter((url) => !url.startsWith(server) && !/^(data|blob|file):/.test(url));
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(browser.complaints, []);
});
