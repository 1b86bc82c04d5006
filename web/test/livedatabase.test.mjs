// The page of databases as they work: a real server whose sessions queue for one row, watched by a separate `fenxi serve --db`.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browserPath, look, openBrowser } from "./support.mjs";

const installed = "/usr/lib/postgresql";
const versions = existsSync(installed) ? readdirSync(installed).sort((a, b) => a - b) : [];
const programs = versions.length > 0 ? join(installed, versions.at(-1), "bin") : null;
const fenxi = process.env.FENXI ?? join(process.env.CARGO_TARGET_DIR ?? "../target", "debug/fenxi");
const missing =
  (!existsSync(browserPath) && `there is no browser at ${browserPath}`) ||
  (!programs && "PostgreSQL is not installed") ||
  (!existsSync(fenxi) && `${fenxi} is not built`);
if (missing) console.error(`\n*** SKIPPED, the page of live databases in a browser: ${missing} ***\n`);
const options = { skip: missing, timeout: 120_000 };

const isRoot = process.getuid() === 0;
/** Words that run a program as PostgreSQL's own user when this one is root, which it does not want to be. */
const as = (...words) => (isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", ...words] : words);
const started = [];
let folder;
let browser;
let page;
let address;

const run = (...words) => execFileSync(words[0], words.slice(1), { stdio: ["ignore", "ignore", "inherit"] });
const psql = (...words) => [join(programs, "psql"), "-q", "-h", folder, "-U", "postgres", ...words];

function begin(words, env = {}) {
  const child = spawn(words[0], words.slice(1), { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  return child;
}

/** The address that a server prints when it listens. */
const told = (child) =>
  new Promise((done, failed) => {
    let all = "";
    const read = (bytes) => {
      all += bytes;
      const found = all.match(/http:\/\/127\.0\.0\.1:\d+/);
      if (found) done(found[0]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", () => failed(new Error(all)));
  });

before(async () => {
  if (missing) return;
  folder = mkdtempSync(join(tmpdir(), "fenxi-live-"));
  chmodSync(folder, 0o755);
  const data = join(folder, "data");
  if (isRoot) {
    mkdirSync(data, { mode: 0o700 });
    const id = (flag) => Number(execFileSync("id", [flag, "postgres"]));
    chownSync(data, id("-u"), id("-g"));
    chownSync(folder, id("-u"), id("-g"));
  }
  run(...as(join(programs, "initdb"), "-A", "trust", "-U", "postgres", "--no-sync", "-D", data));
  const settings = `-k ${folder} -c listen_addresses= -c fsync=off`;
  run(...as(join(programs, "pg_ctl"), "-s", "-w", "-D", data, "-l", join(folder, "log"), "-o", settings, "start"));
  run(...psql("-c", "CREATE TABLE item (id int PRIMARY KEY, stock int)", "-c", "INSERT INTO item VALUES (10, 100)"));
  begin(psql("-c", "BEGIN; UPDATE item SET stock = 0 WHERE id = 10; SELECT pg_sleep(600)"), { PGAPPNAME: "clerk" });
  const holds = "SELECT 1 / count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
  for (let n = 0; n < 100; n++) {
    try {
      execFileSync(psql("-c", holds)[0], psql("-c", holds).slice(1), { stdio: "ignore" });
      break;
    } catch {
      await new Promise((done) => setTimeout(done, 100));
    }
  }
  for (let n = 0; n < 3; n++) begin(psql("-c", "UPDATE item SET stock = stock - 1 WHERE id = 10"), { PGAPPNAME: "shop" });
  const url = `postgres://postgres@/postgres?host=${folder}`;
  address = await told(begin([fenxi, "--store", join(folder, "store"), "serve", "--listen", "127.0.0.1:0", "--db", url]));
  browser = await openBrowser();
  page = browser.page;
});

after(async () => {
  await browser?.close();
  for (const child of started) child.kill();
  if (!folder) return;
  run(...as(join(programs, "pg_ctl"), "-s", "-m", "immediate", "-D", join(folder, "data"), "stop"));
  rmSync(folder, { recursive: true, force: true });
});

const query = () => new URL(page.url()).searchParams;
const rows = (list) => page.locator(`section[aria-labelledby="top-${list}"] .top-rows li`);

test("sessions stand by class, and who holds up the others is on top of them", options, async () => {
  await page.goto(`${address}/database`);
  await page.getByRole("heading", { name: /^Database .* now$/ }).waitFor();
  const tree = page.locator("#section-blocking");
  await tree.getByText("3 behind it").first().waitFor();
  const top = await tree.locator(".block-tree > li > .block-node").first().innerText();
  assert.match(top, /clerk/);
  assert.match(top, /3 behind it/);
  await rows("class").filter({ hasText: "lock" }).waitFor();
  assert.match(await rows("statement").first().innerText(), /update item/);
  assert.ok((await rows("session").count()) >= 4);
});

test("each step down is an address, and a chip gives it up", options, async () => {
  await rows("class").filter({ hasText: "lock" }).locator("a").click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("class") === "lock");
  assert.equal(query().get("by"), "event");
  await rows("event").first().locator("a").click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("by") === "statement");
  await rows("statement").first().locator("a").click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("by") === "session");
  assert.equal(await page.locator(".db-chips .chip").count(), 3);
  await rows("session").first().waitFor();
  await page.locator(".db-chips").getByRole("link", { name: "Show all" }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("class"));
  assert.equal(await page.locator(".db-chips").count(), 0);
});

test("what is paused stands still, and goes on", options, async () => {
  const shown = () => page.locator("#section-blocking h3").innerText();
  await page.getByRole("button", { name: "Pause" }).click();
  const before = await shown();
  await page.waitForTimeout(2500);
  assert.equal(await shown(), before);
  await page.getByRole("button", { name: "Go on" }).click();
  await page.waitForFunction((was) => document.querySelector("#section-blocking h3")?.innerText !== was, before);
});

test("the page is drawn at all widths in both themes without overflow or serious barriers", options, async () => {
  await look(page, "live-database");
});

test("nothing complained", options, () => {
  assert.deepEqual(browser.complaints, []);
});
