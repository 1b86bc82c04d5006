// Which addresses the links of a text may have.

/** Whether a link may lead there: to another site by its whole address, to a page of this server, to a place of this page. What a
 * browser reads otherwise than it looks is none: it takes `\` for `/`, and leaves out control characters. */
export function isAddress(text: string): boolean {
  if ([...text].some((c) => c <= " " || c === "\x7f" || c === "\\")) return false;
  if (text.startsWith("#")) return true;
  if (text.startsWith("/")) return !text.startsWith("//");
  return /^https?:\/\/[^/]/i.test(text) && URL.canParse(text);
}
