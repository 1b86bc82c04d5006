// Numbers for people: scaled, three or four significant digits, unit at the end. The same as `Unit::human` in crates/model,
// which crates/model/tests/units.json holds both to. Pages differ in that: what is missing is `–` there, and `-` on a terminal.

import { zone } from "./shared";

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const DECIMAL = ["", "k", "M", "G", "T", "P"];
export const MISSING = "–";

function scale(value: number, base: number, prefixes: string[]): [number, string] {
  let scaled = value;
  let step = 0;
  // 0.9995 of the next step already prints as that step, so move up there.
  while (Math.abs(scaled) >= base * 0.9995 && step + 1 < prefixes.length) {
    scaled /= base;
    step++;
  }
  return [scaled, prefixes[step]];
}

/** `more` is how many digits beyond the usual ones. */
function digits(value: number, more = 0): string {
  const magnitude = Math.abs(value);
  if (magnitude === 0) return "0";
  // From 1e21 on `toFixed` writes all digits and an exponent.
  if (magnitude < 0.001 || magnitude >= 1e21) return value.toExponential(1 + more);
  if (magnitude < 0.1) return fixed(value, 4 + more);
  if (magnitude < 10) return fixed(value, 2 + more);
  if (magnitude < 100) return fixed(value, 1 + more);
  return fixed(value, more);
}

/** As `toFixed`, but what lies in the middle goes to the even digit, as it does in Rust: 12.25 to 12.2 and 12.75 to 12.8. */
function fixed(value: number, places: number): string {
  // A power of two is exact: only what is in the middle gives an odd number.
  const isMiddle = Math.abs(value * 2 ** (places + 1)) % 2 === 1;
  if (!isMiddle) return value.toFixed(places);
  const below = Math.floor(Math.abs(value) * 10 ** places);
  return ((Math.sign(value) * (below + (below % 2))) / 10 ** places).toFixed(places);
}

export function duration(seconds: number, more = 0): string {
  const s = Math.abs(seconds);
  if (s === 0) return "0 s";
  // 0.9995 of the next unit already reads as 1000 of this one.
  if (s < 0.9995e-6) return `${digits(seconds * 1e9, more)} ns`;
  if (s < 0.9995e-3) return `${digits(seconds * 1e6, more)} µs`;
  if (s < 0.9995) return `${digits(seconds * 1e3, more)} ms`;
  if (s < 120) return `${digits(seconds, more)} s`;
  // As a clock shows it: what has not passed is not counted.
  const two = (n: number) => String(Math.trunc(n)).padStart(2, "0");
  const sign = seconds < 0 ? "-" : "";
  return s < 7200 ? `${sign}${Math.trunc(s / 60)}m${two(s % 60)}s` : `${sign}${Math.trunc(s / 3600)}h${two((s % 3600) / 60)}m`;
}

/** Whether this is a unit, to which a prefix is written without a gap, as in `kHz`, and no word for what is counted, as `frames`. */
const isMeasured = (unit: string) => unit.length === 1 || ["/s", "s/s", "Hz", "CPU"].includes(unit);

export function human(value: number | null | undefined, unit: string, more = 0): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  switch (unit) {
    case "B":
    case "B/s": {
      const [v, prefix] = scale(value, 1024, BINARY);
      return `${digits(v, more)} ${prefix}${unit}`;
    }
    case "%":
      return `${digits(value, more)}%`;
    case "s":
      return duration(value, more);
    case "ms":
      return duration(value / 1e3, more);
    case "us":
      return duration(value / 1e6, more);
    case "ns":
      return duration(value / 1e9, more);
    case "Mbit/s": {
      const [v, prefix] = scale(value * 1e6, 1000, DECIMAL);
      return `${digits(v, more)} ${prefix}bit/s`;
    }
    default: {
      // Of things there are 4, not 4.00.
      if (Number.isInteger(value) && Math.abs(value) < 1000 && !isMeasured(unit)) return `${value + 0} ${unit}`.trimEnd();
      const [v, prefix] = scale(value, 1000, DECIMAL);
      if (prefix === "" && unit === "/s") return `${digits(v, more)}/s`;
      const gap = prefix !== "" && unit !== "" && !isMeasured(unit) ? " " : "";
      return `${digits(v, more)} ${prefix}${gap}${unit}`.trimEnd();
    }
  }
}

/** The same without an exponent: seconds per second have smaller units, and of others a number below a thousandth is shown as that. */
export function plain(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || value === 0 || Math.abs(value) >= 0.001) return human(value, unit);
  if (unit === "s/s") return `${duration(value)}/s`;
  const text = human(value, unit);
  if (!/e-\d/.test(text)) return text;
  return value > 0 ? `< ${short(0.001, unit)}` : `> ${short(-0.001, unit)}`;
}

/** The same without zeros at the end of a fraction, 5 for 5.00: for ticks of axes, and numbers of things. */
export function short(value: number | null | undefined, unit: string, more = 0): string {
  return human(value, unit, more).replace(/\.(\d*?)0+(?!\d)/, (_, kept) => (kept ? `.${kept}` : ""));
}

/** A number of things: `1 run`, `2 runs`; what is counted takes an `s`. */
export function plural(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

/** Time on the axis and in tooltips: `4:05` since the start, to the second or finer. */
export function clock(seconds: number, fine = false): string {
  const s = fine ? Math.round(Math.abs(seconds) * 1000) / 1000 : Math.round(Math.abs(seconds));
  const sign = seconds < 0 && s > 0 ? "-" : "";
  const h = Math.floor(s / 3600);
  const m = Math.floor((s % 3600) / 60);
  const rest = s % 60;
  let tail = String(Math.floor(rest)).padStart(2, "0");
  const part = Math.round((rest % 1) * 1000);
  if (fine && part > 0) tail += `.${String(part).padStart(3, "0").replace(/0+$/, "")}`;
  return h > 0 ? `${sign}${h}:${String(m).padStart(2, "0")}:${tail}` : `${sign}${m}:${tail}`;
}

const local = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });
/** The short name of a zone at a moment: `UTC`, `CET`, `GMT+8`. */
function zoneName(ms: number): string {
  if (zone.value === "utc") return "UTC";
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(ms);
  return parts.find((p) => p.type === "timeZoneName")?.value ?? "local";
}

/** A moment in the zone chosen, `2026-11-21 14:22:33`; its place shows the zone beside it or in a heading. */
export function date(ms: number): string {
  return zone.value === "utc" ? new Date(ms).toISOString().slice(0, 19).replace("T", " ") : local.format(ms);
}

/** The same with its zone, `2026-11-21 14:22:33 UTC`. */
export function moment(ms: number): string {
  return `${date(ms)} ${zoneName(ms)}`;
}

/** Who wrote something, and when; undefined where that is not known. */
export function authored(one: { by: string; at_ms: number } | null | undefined): string | undefined {
  return one ? `by ${one.by}, ${moment(one.at_ms)}` : undefined;
}

/** The zone chosen as a word, `UTC` or `Europe/Berlin`. */
export function zoneWord(): string {
  return zone.value === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

const SUFFIX: Record<string, string> = {
  "B/s": "_bytes_per_s",
  B: "_bytes",
  "/s": "_per_s",
  s: "_s",
  ms: "_ms",
  us: "_us",
  "%": "_pct",
  CPU: "_cpus",
};

/** Names of columns and series read as words, without the unit that every value carries: `max_rss_bytes` as `max rss`. */
export function words(name: string, unit = ""): string {
  const suffix = SUFFIX[unit];
  const bare = suffix && name.endsWith(suffix) && name.length > suffix.length ? name.slice(0, -suffix.length) : name;
  return bare.replace(/_per_s$/, "/s").replace(/_/g, " ");
}

/** A share from 0 to 1 in percent: one digit after the point below ten. */
export function percent(share: number): string {
  if (Math.abs(share) < 0.0005) return "0%";
  return `${(100 * share).toFixed(Math.abs(share) < 0.0995 ? 1 : 0)}%`;
}
