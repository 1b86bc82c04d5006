// Charts and tables taken away: as PNG, SVG or CSV, to the clipboard or to a file. A picture is made of what the
// page shows, so that it is what was seen.

export interface Sheet {
  head: string[];
  rows: (string | number | boolean | null)[][];
}

/** RFC 4180: what has a comma, a quote or a line's end is quoted. */
export function csv(sheet: Sheet): string {
  const cell = (v: string | number | boolean | null) => {
    const text = v === null ? "" : String(v);
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [sheet.head, ...sheet.rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

const SVG = "http://www.w3.org/2000/svg";
/** What a style sheet may set on a shape, and what the shape needs once it stands alone. */
const KEPT = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "opacity",
  "fill-opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
];
const FONT = "system-ui, sans-serif";
const PAD = 14;

/** A chart that knows how to draw itself as shapes, by its canvas: those drawn on one else become pixels. */
export const shapes = new WeakMap<HTMLCanvasElement, () => SVGElement>();

export function shape(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/** A copy of a drawing with its style in attributes. */
function alone(drawing: Element): Element {
  const copy = drawing.cloneNode(true) as Element;
  const copies = [copy, ...copy.querySelectorAll("*")];
  for (const [i, from] of [drawing, ...drawing.querySelectorAll("*")].entries()) {
    const to = copies[i];
    const style = getComputedStyle(from);
    to.removeAttribute("class");
    to.removeAttribute("style");
    for (const key of KEPT) {
      const value = style.getPropertyValue(key);
      if (value && (key.startsWith("font") ? from.tagName === "text" : true)) to.setAttribute(key, value);
    }
  }
  return copy;
}

function isSeen(element: Element): boolean {
  const r = element.getBoundingClientRect();
  return r.width > 0 && r.height > 0;
}

/** Everything drawn within `element`, with a title above and the keys of its colours beneath. */
export function picture(element: HTMLElement, title: string): { svg: string; width: number; height: number } {
  const css = getComputedStyle(document.documentElement);
  const paint = (name: string) => css.getPropertyValue(name).trim();
  const frame = element.getBoundingClientRect();
  const top = PAD + 22;
  const width = Math.ceil(frame.width + 2 * PAD);
  const root = shape("svg", { xmlns: SVG, width });
  const back = shape("rect", { width: "100%", height: "100%", fill: paint("--panel") });
  root.append(
    back,
    shape("text", { x: PAD, y: PAD + 10, "font-family": FONT, "font-size": 15, "font-weight": 600, fill: paint("--text") }, title),
  );
  let bottom = 0;
  const place = (what: Element, from: Element) => {
    const r = from.getBoundingClientRect();
    const moved = shape("g", { transform: `translate(${r.left - frame.left + PAD} ${r.top - frame.top + top})` });
    moved.append(what);
    root.append(moved);
    bottom = Math.max(bottom, r.bottom - frame.top + top);
  };
  for (const canvas of element.querySelectorAll("canvas")) {
    if (!isSeen(canvas)) continue;
    const r = canvas.getBoundingClientRect();
    place(shapes.get(canvas)?.() ?? shape("image", { href: canvas.toDataURL("image/png"), width: r.width, height: r.height }), canvas);
  }
  for (const svg of element.querySelectorAll("svg")) if (isSeen(svg)) place(alone(svg), svg);
  for (const bar of element.querySelectorAll<HTMLElement>(".heat-bar")) if (isSeen(bar)) place(gradient(bar), bar);
  words(element, place, paint("--text"));
  const height = Math.ceil(bottom + PAD);
  root.setAttribute("height", String(height));
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return { svg: new XMLSerializer().serializeToString(root), width, height };
}

function gradient(bar: HTMLElement): SVGElement {
  const stops = getComputedStyle(bar).backgroundImage.match(/rgb\([^)]*\)/g) ?? [];
  const r = bar.getBoundingClientRect();
  const group = shape("g", {});
  const width = r.width / stops.length;
  group.append(...stops.map((fill, i) => shape("rect", { x: i * width, width: width + 0.5, height: r.height, fill })));
  return group;
}

/** Names of legends, keys and scales, which are words of the page and not of a drawing, and their colours. */
const WORDS = '.legend button[aria-pressed="true"], .key > span, .scale > span';

function words(element: HTMLElement, put: (what: SVGElement, at: Element) => void, fill: string): void {
  for (const entry of element.querySelectorAll<HTMLElement>(WORDS)) {
    if (!isSeen(entry) || entry.classList.contains("heat-bar")) continue;
    const swatch = entry.querySelector<HTMLElement>(".swatch");
    const left = swatch ? swatch.getBoundingClientRect().right - entry.getBoundingClientRect().left + 6 : 0;
    put(shape("text", { x: left, y: 14, "font-family": FONT, "font-size": 12, fill }, (entry.textContent ?? "").trim()), entry);
    if (!swatch) continue;
    const style = getComputedStyle(swatch);
    const paint = swatch.classList.contains("dashed") ? style.borderTopColor : style.backgroundColor;
    put(shape("rect", { width: swatch.clientWidth || 12, height: Math.max(3, swatch.clientHeight), fill: paint }), swatch);
  }
}

export async function png(element: HTMLElement, title: string): Promise<Blob> {
  const { svg, width, height } = picture(element, title);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  const ratio = Math.max(2, devicePixelRatio || 1);
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the picture is too big"))), "image/png"));
}

/** A file name of a title: letters, digits, dashes. */
export function fileName(title: string, ending: string): string {
  const stem = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 80);
  return `${stem || "chart"}.${ending}`;
}

export function save(name: string, content: Blob | string, type = "text/plain"): void {
  const url = URL.createObjectURL(typeof content === "string" ? new Blob([content], { type }) : content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Puts text or a picture on the clipboard. */
export async function copy(content: string | Blob): Promise<void> {
  if (!navigator.clipboard) throw new Error("this browser allows copying only over HTTPS or from localhost");
  if (typeof content === "string") return navigator.clipboard.writeText(content);
  return navigator.clipboard.write([new ClipboardItem({ [content.type]: content })]);
}

/** Rows of a chart's values for CSV, with the unit in the head. */
export function withUnit(name: string, unit: string): string {
  return unit ? `${name} (${unit})` : name;
}
