// Numbers for people: scaled, three significant digits, unit at the end. The same rules as `Unit::human`
// in crates/model: bytes by 1024, everything else by 1000.

import { zone } from "./shared";

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
const DECIMAL = ["", "k", "M", "G", "T", "P"];
export const MISSING = "–";

function scale(value: number, base: number, prefixes: string[]): [number, string] {
  let step = 0;
  while (Math.abs(value) >= base * 0.9995 && step + 1 < prefixes.length) {
    value /= base;
    step++;
  }
  return [value, prefixes[step]];
}

function digits(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude === 0) return "0";
  if (magnitude < 0.001) return value.toExponential(1);
  if (magnitude < 0.1) return trim(value.toFixed(4));
  if (magnitude < 10) return trim(value.toFixed(2));
  if (magnitude < 100) return trim(value.toFixed(1));
  return value.toFixed(0);
}

/** Without zeros at the end of a fraction: 5 rather than 5.00. */
function trim(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export function duration(seconds: number): string {
  const s = Math.abs(seconds);
  if (s === 0) return "0 s";
  if (s < 1e-6) return `${digits(seconds * 1e9)} ns`;
  if (s < 1e-3) return `${digits(seconds * 1e6)} µs`;
  if (s < 1) return `${digits(seconds * 1e3)} ms`;
  if (s < 120) return `${digits(seconds)} s`;
  const whole = Math.round(seconds);
  if (s < 7200) return `${Math.trunc(whole / 60)}m${String(whole % 60).padStart(2, "0")}s`;
  return `${Math.trunc(whole / 3600)}h${String(Math.trunc((whole % 3600) / 60)).padStart(2, "0")}m`;
}

export function human(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  switch (unit) {
    case "B":
    case "B/s": {
      const [v, prefix] = scale(value, 1024, BINARY);
      return `${digits(v)} ${prefix}${unit}`;
    }
    case "%":
      return `${digits(value)} %`;
    case "s":
      return duration(value);
    case "ms":
      return duration(value / 1e3);
    case "us":
      return duration(value / 1e6);
    case "ns":
      return duration(value / 1e9);
    case "Mbit/s": {
      const [v, prefix] = scale(value * 1e6, 1000, DECIMAL);
      return `${digits(v)} ${prefix}bit/s`;
    }
    default: {
      const [v, prefix] = scale(value, 1000, DECIMAL);
      const tail = `${prefix}${unit}`;
      return tail === "" ? digits(v) : tail === "/s" ? `${digits(v)}/s` : `${digits(v)} ${tail}`;
    }
  }
}

/** Time on the axis and in tooltips: `4:05` since the start, to the second or finer. */
export function clock(seconds: number, fine = false): string {
  const sign = seconds < -1e-9 ? "-" : "";
  let s = Math.abs(seconds);
  s = fine ? Math.round(s * 1000) / 1000 : Math.round(s);
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

/** A moment in the zone chosen, `2026-11-21 14:22:33`; who shows it says the zone beside it or in a heading. */
export function date(ms: number): string {
  return zone.value === "utc" ? new Date(ms).toISOString().slice(0, 19).replace("T", " ") : local.format(ms);
}

/** The same with its zone, `2026-11-21 14:22:33 UTC`. */
export function moment(ms: number): string {
  return `${date(ms)} ${zoneName(ms)}`;
}

/** The zone chosen as a word, `UTC` or `Europe/Berlin`. */
export function zoneWord(): string {
  return zone.value === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

const SUFFIX: Record<string, string> = { "B/s": "_bytes_per_s", B: "_bytes", "/s": "_per_s", s: "_s", ms: "_ms", us: "_us", "%": "_pct" };

/** Names of columns and series read as words, without the unit that every value carries: `max_rss_bytes` as `max rss`. */
export function words(name: string, unit = ""): string {
  const suffix = SUFFIX[unit];
  const short = suffix && name.endsWith(suffix) && name.length > suffix.length ? name.slice(0, -suffix.length) : name;
  return short.replace(/_per_s$/, "/s").replace(/_/g, " ");
}
