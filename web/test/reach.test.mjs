// What somebody reaches who types an address, looks at a phone, or comes to the live page: nothing leads nowhere, nothing is cut.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { forgive, openBrowser, quiet, server, serverless, visit } from "./support.mjs";

const options = { skip: serverless, timeout: 120_000 };
let browser;
let page;

before(async () => {
  if (serverless) return;
  browser = await openBrowser();
  page = browser.page;
});
after(() => browser?.close());

const runs = async () => (await (await page.request.get(`${server}/api/v1/runs`)).json()).rows;
const idOf = async (name) => (await runs()).find((r) => r.name === name).id;

test("addresses that people type lead to the pages that they mean", options, async () => {
  for (const [typed, path] of [
    ["/studies", "/study"],
    ["/boards", "/board"],
    ["/sql", "/ask"],
    ["/findings", "/run"],
  ]) {
    await visit(page, typed);
    assert.equal(new URL(page.url()).pathname, path, typed);
  }
  assert.ok((await page.locator("#section-findings").count()) > 0);
});

test("a run that there is not is named, with those that look like it and the latest", options, async () => {
  await visit(page, "/run?run=thorugh");
  await page.getByText("No run matches thorugh").waitFor();
  assert.ok((await page.locator(".empty li a").count()) > 5);
  await page.locator(".empty").getByRole("link", { name: "thorough", exact: true }).first().click();
  await quiet(page);
  assert.match(await page.locator("h1").innerText(), /thorough/);
  forgive(browser);
});

test("the page of an import asks only what its tables may answer, and nothing twice", options, async () => {
  const id = await idOf("traced");
  browser.requests.length = 0;
  await visit(page, `/run?run=${id}`);
  for (let y = 0; y < 8; y++) {
    await page.evaluate((y) => scrollTo(0, y * 900), y);
    await quiet(page);
  }
  const asked = browser.requests.filter((url) => url.includes("/api/"));
  assert.equal(new Set(asked).size, asked.length, asked.join("\n"));
  assert.ok(asked.length > 5 && asked.length <= 30, `${asked.length} requests`);
});

test("on a phone all pages are reached, and a list of runs has the same as on a wide window", options, async () => {
  await page.setViewportSize({ width: 400, height: 860 });
  await visit(page, "/");
  const menu = page.locator(".bar nav a");
  assert.ok((await menu.count()) >= 7);
  for (const link of await menu.all()) {
    const box = await link.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 400, await link.innerText());
  }
  const first = page.locator(".runlist tbody tr").first();
  for (const cell of await first.locator("td[data-label]:not(.none)").all()) {
    const box = await cell.boundingBox();
    assert.ok(box.x + box.width <= 400, await cell.innerText());
  }
  assert.match(await first.locator('td[data-label="start"]').innerText(), /^20\d\d-/);
});

test("a table that goes on beyond the edge has a shadow there", options, async () => {
  await visit(page, `/ask?question=top-processes&run=${await idOf("thorough")}`);
  const scroll = page.locator(".answer .scroll");
  assert.ok(await scroll.evaluate((e) => e.scrollWidth > e.clientWidth));
  assert.match(await scroll.evaluate((e) => getComputedStyle(e).backgroundAttachment), /local.*scroll/);
  await page.setViewportSize({ width: 1280, height: 900 });
});

test("the live page shows who uses the CPU, and who comes back sees what was before", options, async () => {
  await page.goto(`${server}/live`);
  await page.locator(".live-processes tbody tr").first().waitFor({ timeout: 20_000 });
  await page.waitForTimeout(3000);
  // Two ticks at once need no second of waiting: the rows have their past with them.
  await page.goto(`${server}/study`);
  await page.goto(`${server}/live`);
  const lines = page.locator(".live-processes tbody tr svg.spark path");
  await lines.first().waitFor({ state: "attached", timeout: 20_000 });
  const points = await lines.evaluateAll((all) => Math.max(...all.map((p) => (p.getAttribute("d") ?? "").split(/[ML]/).length)));
  assert.ok(points >= 4, `${points} points`);
});
