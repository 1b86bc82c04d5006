// Numbers as people read them. What a terminal shows as well is in one table, which crates/model reads too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "./load.mjs";

const [units, shared] = await load(["units.ts", "shared.ts"]);
const { human, short, duration, clock, date, moment, zoneWord, words, MISSING } = units;

test("a number reads the same here and in a terminal", () => {
  const cases = JSON.parse(readFileSync(new URL("../../../crates/model/tests/units.json", import.meta.url), "utf8"));
  assert.ok(cases.length > 50);
  for (const { unit, value, text } of cases) assert.equal(human(value, unit), text, `${value} ${unit}`);
});

test("what is no number is missing", () => {
  for (const value of [null, undefined, Number.NaN, Infinity, -Infinity]) {
    for (const unit of ["", "B", "%", "s", "frames"]) assert.equal(human(value, unit), MISSING);
  }
});

test("zero has no sign and no fraction, whatever its unit", () => {
  for (const zero of [0, -0]) {
    assert.equal(human(zero, ""), "0");
    assert.equal(human(zero, "B"), "0 B");
    assert.equal(human(zero, "ms"), "0 s");
    assert.equal(human(zero, "frames"), "0 frames");
  }
});

test("a unit that is a word is separate from its prefix", () => {
  assert.equal(human(2500, "frames"), "2.50 k frames");
  assert.equal(human(12.5, "frames"), "12.5 frames");
  assert.equal(human(2500, "W"), "2.50 kW");
  assert.equal(human(2500, "Hz"), "2.50 kHz");
});

test("of things there are whole numbers, of what is measured three digits", () => {
  assert.equal(human(4, ""), "4");
  assert.equal(human(-4, ""), "-4");
  assert.equal(human(999, ""), "999");
  assert.equal(human(1000, ""), "1.00 k");
  assert.equal(human(4, "clients"), "4 clients");
  assert.equal(human(3.5, ""), "3.50", "a mean of numbers");
  assert.equal(human(4, "/s"), "4.00/s");
  assert.equal(human(4, "W"), "4.00 W");
  assert.equal(human(4, "Hz"), "4.00 Hz");
});

test("nanoseconds are times", () => {
  assert.equal(human(1500, "ns"), "1.50 µs");
  assert.equal(human(0.5, "ns"), "0.50 ns");
});

test("huge and tiny numbers stay short", () => {
  assert.equal(human(1e300, "").length < 12, true, human(1e300, ""));
  assert.equal(human(1e-300, ""), "1.0e-300");
});

test("a time that is negative has one sign", () => {
  assert.equal(duration(-130), "-2m10s");
  assert.equal(duration(-7260), "-2h01m");
  assert.equal(duration(-0.5), "-500 ms");
});

test("short numbers have no zeros behind the point", () => {
  assert.equal(short(5, "s"), "5 s");
  assert.equal(short(1536, "B"), "1.5 KiB");
  assert.equal(short(12, ""), "12");
  assert.equal(short(100, "%"), "100%");
  assert.equal(short(10.05, ""), "10.1");
  assert.equal(short(1.05, ""), "1.05");
  assert.equal(short(0.0005, ""), "5e-4");
  assert.equal(short(1000, ""), "1 k");
  assert.equal(short(120, "s"), "2m00s");
  assert.equal(short(null, "s"), MISSING);
});

test("one thing has no plural", () => {
  assert.equal(units.plural(0, "run"), "0 runs");
  assert.equal(units.plural(1, "run"), "1 run");
  assert.equal(units.plural(12345, "row"), "12,345 rows");
});

test("a clock counts from the start of a run", () => {
  assert.equal(clock(0), "0:00");
  assert.equal(clock(65), "1:05");
  assert.equal(clock(3599.6), "1:00:00");
  assert.equal(clock(3661), "1:01:01");
  assert.equal(clock(1.25, true), "0:01.25");
  assert.equal(clock(59.9996, true), "1:00");
  assert.equal(clock(4.999, true), "0:04.999");
  assert.equal(clock(-65), "-1:05");
  assert.equal(clock(-0.3), "0:00", "no minus before what is shown as zero");
  assert.equal(clock(-0.3, true), "-0:00.3");
});

test("moments are those of the zone chosen, and name it", () => {
  const ms = Date.UTC(2026, 0, 5, 6, 7, 8);
  shared.zone.set("utc");
  assert.equal(date(ms), "2026-01-05 06:07:08");
  assert.equal(moment(ms), "2026-01-05 06:07:08 UTC");
  assert.equal(zoneWord(), "UTC");
  shared.zone.set("local");
  assert.match(date(ms), /^2026-01-0[456] \d\d:\d7:08$/);
  shared.zone.set("utc");
});

test("names of columns are words without the unit that values carry", () => {
  assert.equal(words("max_rss_bytes", "B"), "max rss");
  assert.equal(words("read_bytes_per_s", "B/s"), "read");
  assert.equal(words("csw_per_s", ""), "csw/s");
  assert.equal(words("await_ms", "ms"), "await");
  assert.equal(words("idle_cpus", "CPU"), "idle");
  assert.equal(words("_s", "s"), " s", "a name that is only the unit stays");
  assert.equal(words("used_pct", "B"), "used pct", "another unit's ending stays");
});
