// What the tests in a browser share: the browser, what it complained about, pictures, axe.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const browserPath = process.env.FENXI_CHROMIUM ?? "/usr/bin/chromium";
/** Address of a `fenxi serve` over a store made by scripts/page-store. */
export const server = process.env.FENXI_SERVER?.replace(/\/$/, "");
/** Folder for pictures; none are kept without it. */
export const shots = process.env.FENXI_SHOTS;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Why tests over a server cannot run; false when they can. */
export const serverless = !server
  ? "FENXI_SERVER names no server"
  : !existsSync(browserPath)
    ? `there is no browser at ${browserPath}`
    : false;

/** A browser that can reach this machine only, and notes everything it asks for and complains about. */
export async function openBrowser() {
  const profile = mkdtempSync(join(tmpdir(), "fenxi-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: browserPath,
    headless: true,
    viewport: { width: 1280, height: 900 },
    acceptDownloads: true,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
  const page = await context.newPage();
  const [complaints, requests] = [[], []];
  page.on("console", (m) => m.type() === "error" && complaints.push(`${m.text()} ${m.location().url}`));
  page.on("pageerror", (e) => complaints.push(String(e)));
  page.on("request", (r) => requests.push(r.url()));
  // How much of what is in the window moved by itself, as browsers score it.
  await page.addInitScript(() => {
    window.moved = 0;
    new PerformanceObserver((list) =>
      list.getEntries().forEach((e) => {
        if (!e.hadRecentInput) window.moved += e.value;
      }),
    ).observe({ type: "layout-shift", buffered: true });
  });
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { page, context, complaints, requests, close };
}

/** Forgets what the browser logs about requests that were meant to be refused. */
export function forgive({ complaints }) {
  const others = complaints.filter((c) => !c.startsWith("Failed to load resource"));
  complaints.splice(0, complaints.length, ...others);
}

/** Opens a page of the server and waits until it has what it asked for. */
export async function visit(page, path) {
  await page.goto(server + path);
  await quiet(page);
}

/** Waits until nothing more is under way. */
export async function quiet(page) {
  await page.waitForSelector("html[data-ready]");
  await page.waitForFunction(() => !document.querySelector(".pending, [aria-busy=true]"), undefined, { timeout: 60_000 });
  await page.waitForTimeout(150);
}

/** Scrolls through the page, so that everything is asked for and drawn. */
export async function drawAll(page) {
  await page.evaluate(async () => {
    // The browser notifies all observers at once of what came into the window: when this one knows, so do the charts.
    const seen = () =>
      new Promise((done) => {
        const observer = new IntersectionObserver(() => {
          observer.disconnect();
          done();
        });
        observer.observe(document.body);
      });
    for (let y = 0; y < document.body.scrollHeight; y += 500) {
      scrollTo(0, y);
      for (const folded of document.querySelectorAll("details.more:not([open])")) folded.open = true;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      await seen();
      await new Promise((done) => requestAnimationFrame(done));
      for (let i = 0; i < 100 && document.querySelector(".waiting"); i++) {
        const waiting = [...document.querySelectorAll(".waiting")].some((w) => w.getBoundingClientRect().top < innerHeight);
        if (!waiting) break;
        await new Promise((done) => setTimeout(done, 50));
      }
    }
    scrollTo(0, 0);
  });
  await page.waitForTimeout(200);
}

const THEMES = ["light", "dark"];

/** Draws a page at three widths in both themes: nothing stands out of the window, and axe finds no serious barrier. */
export async function look(page, name, widths = [1280, 390, 2560]) {
  if (shots) mkdirSync(shots, { recursive: true });
  for (const width of widths) {
    await page.setViewportSize({ width, height: width > 2000 ? 1440 : 900 });
    for (const colorScheme of THEMES) {
      await page.emulateMedia({ colorScheme });
      await page.waitForSelector(`html[data-theme="${colorScheme}"]`);
      await drawAll(page);
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(beyond <= 0, `${name}: ${beyond} pixels beyond the window at ${width}`);
      if (shots) await page.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`), fullPage: true });
      if (width === widths[0]) assert.deepEqual(await barriers(page), [], `${name}, ${colorScheme}`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForSelector('html[data-theme="light"]');
}

/** Serious barriers by axe's rules. */
export async function barriers(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const serious = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
  return serious.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)}`);
}
