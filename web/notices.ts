// Names at the head of each built file whose work it contains: most licences ask that their notice goes with every copy, and
// a report file is one. What is named is what the bundler took in; a package without a licence text fails the build.
// `cargo xtask gen` reads the comment: its form is described there (xtask/src/notices.rs).
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin, Rolldown } from "vite";

interface Notice {
  name: string;
  line: string;
  body: string;
}

const FOLDER = /^.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+/;

/** What the package in `folder` asks to be stated. */
function notice(folder: string): Notice {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
  if (!file) throw new Error(`${name} has no licence text: it cannot be bundled`);
  const text = readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n");
  const at = text.indexOf("Permission is hereby granted");
  // Another licence than MIT may ask for more than this comment says: then this is the place to say it.
  if (license !== "MIT" || at < 0) throw new Error(`${name} is under ${license}: its notice is not known how to give`);
  const owner = text
    .slice(0, at)
    .split("\n")
    .map((l) => l.trim())
    .filter((l) => /copyright/i.test(l))
    .join("; ");
  if (!owner) throw new Error(`the licence of ${name} does not say whose it is`);
  return { name, line: `${name} ${version} (${license}): ${owner}`, body: text.slice(at).trim() };
}

/** The comment. Texts that differ in their line breaks only are given once. */
function comment(folders: Iterable<string>): string {
  const notices = [...folders].map(notice).sort((a, b) => (a.name < b.name ? -1 : 1));
  const bodies = new Map(notices.map((n) => [n.body.toLowerCase().replace(/[^a-z0-9]/g, ""), n.body]));
  const lines = notices.map((n) => n.line).join("\n");
  const text = `Contains, each under the licence below:\n${lines}\n\n${[...bodies.values()].join("\n\n----\n\n")}\n`;
  // It is within a script within a page.
  if (/\*\/|<\/|<!--/.test(text)) throw new Error("a licence's text would end the comment that holds it");
  return `/*! ${text}*/\n`;
}

/** The folders of packages in the bundle: all, and those that styles are of. */
function packages(bundle: Rolldown.OutputBundle) {
  const all = new Set<string>();
  const styles = new Set<string>();
  for (const file of Object.values(bundle)) {
    for (const id of file.type === "chunk" ? Object.keys(file.modules) : []) {
      const folder = FOLDER.exec(id)?.[0];
      if (!folder || !existsSync(join(folder, "package.json"))) continue;
      all.add(folder);
      if (/\.css(\?|$)/.test(id)) styles.add(folder);
    }
  }
  return { all, styles };
}

function write(bundle: Rolldown.OutputBundle) {
  const { all, styles } = packages(bundle);
  for (const file of Object.values(bundle)) {
    if (file.type === "chunk") {
      file.code = comment(all) + file.code;
    } else if (file.fileName.endsWith(".css") && styles.size > 0) {
      const lines = [...styles].map((folder) => notice(folder).line).join("; ");
      file.source = `/*! Contains ${lines}. Its licence stands at the head of app.js */\n${file.source}`;
    }
  }
}

/** Puts the comment before each script, after all that shortens it, and a line that leads there before the styles. */
export function notices(): Plugin {
  return {
    name: "notices",
    enforce: "post",
    generateBundle: { order: "post", handler: (_, bundle) => write(bundle) },
  };
}
