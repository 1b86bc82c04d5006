// Text of boards: the usual part of Markdown, drawn as elements; nothing in it is ever markup of the page.

import type { ComponentChildren } from "preact";
import { isAddress } from "./address";

const INLINE = /(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[[^\]]+\]\([^)\s]+\)|https?:\/\/[^\s<>)]+)/;

/** Code, emphasis and links within a line. */
function inline(text: string): ComponentChildren[] {
  return text.split(INLINE).map((part, i) => {
    if (i % 2 === 0) return part;
    if (part.startsWith("`")) return <code key={i}>{part.slice(1, -1)}</code>;
    if (part.startsWith("**")) return <strong key={i}>{inline(part.slice(2, -2))}</strong>;
    if (part.startsWith("*")) return <em key={i}>{inline(part.slice(1, -1))}</em>;
    const [, name, address] = /^\[([^\]]+)\]\(([^)\s]+)\)$/.exec(part) ?? [part, part, part];
    if (!isAddress(address)) return part;
    return (
      <a key={i} href={address}>
        {name}
      </a>
    );
  });
}

const LIST = /^\s*([-*+]|\d+[.)])\s+/;
const isRule = (line: string) => /^\s*([-*_])(\s*\1){2,}\s*$/.test(line);
const isTable = (lines: string[], i: number) =>
  lines[i].includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] ?? "");
const cells = (line: string) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((c) => c.trim());

/** The blocks of a text. */
export function Markdown({ text }: { text: string }) {
  const lines = text.split("\n");
  const out: ComponentChildren[] = [];
  let i = 0;
  /** Lines from `i` on as long as they are wanted. */
  const take = (wanted: (line: string, at: number) => boolean) => {
    const from = i;
    while (i < lines.length && wanted(lines[i], i)) i++;
    return lines.slice(from, i);
  };
  while (i < lines.length) {
    const line = lines[i];
    const key = i;
    const heading = /^(#{1,4})\s+(.*)$/.exec(line);
    const fence = /^(`{3,})/.exec(line)?.[1];
    if (line.trim() === "") i++;
    else if (heading) {
      i++;
      const Level = (["h2", "h2", "h3", "h4"] as const)[heading[1].length - 1];
      out.push(<Level key={key}>{inline(heading[2])}</Level>);
    } else if (fence) {
      i++;
      const code = take((l) => l.trimEnd() !== fence).join("\n");
      i++;
      out.push(
        <pre key={key} tabIndex={0}>
          {code}
        </pre>,
      );
    } else if (isRule(line)) {
      i++;
      out.push(<hr key={key} />);
    } else if (isTable(lines, i)) {
      const [head, , ...rows] = take((l) => l.includes("|"));
      out.push(
        <div class="scroll" key={key} tabIndex={0} role="region" aria-label="table">
          <table>
            <thead>
              <tr>
                {cells(head).map((c, n) => (
                  <th key={n}>{inline(c)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, r) => (
                <tr key={r}>
                  {cells(row).map((c, n) => (
                    <td key={n}>{inline(c)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>,
      );
    } else if (LIST.test(line)) {
      // Lines that go on are joined to their item.
      const items: string[] = [];
      for (const l of take((l) => LIST.test(l) || /^\s{2,}\S/.test(l)))
        LIST.test(l) ? items.push(l.replace(LIST, "")) : items.push(`${items.pop() ?? ""} ${l.trim()}`);
      const List = /^\s*\d/.test(line) ? "ol" : "ul";
      out.push(
        <List key={key}>
          {items.map((item, n) => (
            <li key={n}>{inline(item)}</li>
          ))}
        </List>,
      );
    } else if (line.startsWith(">")) {
      const quoted = take((l) => l.startsWith(">")).map((l) => l.replace(/^>\s?/, ""));
      out.push(<blockquote key={key}>{inline(quoted.join(" "))}</blockquote>);
    } else {
      const begin = i;
      const quoted = take(
        (l, at) => l.trim() !== "" && (at === begin || !(/^(#{1,4}\s|`{3,}|>)/.test(l) || LIST.test(l) || isTable(lines, at))),
      );
      out.push(<p key={key}>{inline(quoted.join(" "))}</p>);
    }
  }
  return <div class="prose">{out}</div>;
}
