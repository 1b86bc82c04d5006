// Looks at the first screen of runs: node bench/screens.mjs SERVER ROUNDS SHOTS NAME=RUN…; a line of JSON for each.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { openBrowser, barriers } = await import(pathToFileURL(join(process.cwd(), "test/support.mjs")));
const [server, rounds, shots, ...runs] = process.argv.slice(2);
const WIDTHS = [1280, 390, 2560];
const browser = await openBrowser();

/** Notes when nothing in the window waits any more, and the last answer before that. */
function watch() {
  const waits = () =>
    !document.documentElement?.hasAttribute("data-ready") ||
    [...document.querySelectorAll(".pending, [aria-busy=true], .waiting")].some((e) => {
      const box = e.getBoundingClientRect();
      return box.bottom > 0 && box.top < innerHeight && box.height > 0;
    });
  let calm = 0;
  const look = () => {
    if (waits()) calm = 0;
    else if (calm++ === 0) window.firstReady = performance.now();
    // What is asked for next would show itself within a few frames.
    if (calm < 20) requestAnimationFrame(look);
    else {
      const answers = performance.getEntriesByType("resource").filter((e) => e.responseEnd <= window.firstReady);
      window.lastAnswer = Math.max(0, ...answers.map((e) => e.responseEnd));
      window.isReady = true;
    }
  };
  requestAnimationFrame(look);
}

/** A new tab with the page of a run, once its first screen is ready. */
async function open(run) {
  const page = await browser.context.newPage();
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.addInitScript(watch);
  await page.goto(`${server}/run?run=${run}`);
  await page.waitForFunction(() => window.isReady, undefined, { timeout: 600_000 });
  return page;
}

async function time(run) {
  const page = await open(run);
  const told = await page.evaluate(() => [window.firstReady, window.firstReady - window.lastAnswer, window.moved ?? 0]);
  await page.close();
  return told;
}

/** Pictures of the first screen; how far something stands out of the window at most. */
async function pictures(page, name) {
  let beyond = 0;
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: width > 2000 ? 1440 : 900 });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.waitForFunction(() => window.isReady);
      await page.waitForTimeout(400);
      beyond = Math.max(beyond, await page.evaluate(() => document.documentElement.scrollWidth - innerWidth));
      if (shots) await page.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`) });
    }
  }
  return beyond;
}

if (shots) mkdirSync(shots, { recursive: true });
for (const word of runs) {
  const at = word.lastIndexOf("=");
  const [name, run] = [word.slice(0, at), word.slice(at + 1)];
  const looks = [];
  for (let turn = 0; turn <= Number(rounds); turn++) looks.push(await time(run));
  looks.shift(); // warms the server
  const page = await open(run);
  const found = await barriers(page);
  const beyond = await pictures(page, name);
  await page.close();
  const [ready, after, moved] = [0, 1, 2].map((i) => looks.map((l) => Math.round(l[i] * 1000) / 1000));
  console.log(JSON.stringify({ name, ready, after, moved: Math.max(...moved).toFixed(3), barriers: found, beyond }));
}
await browser.close();
