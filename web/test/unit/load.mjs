// Loads modules of web/src as Vite builds them, into a Node.js that has just enough of a browser for them to load. What is
// tested here is what needs no page; everything else is tested in a browser.

import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const nothing = () => undefined;

/** `page` holds the answers that the page brings with it, as a report file does. */
function browser(page) {
  const element = { setAttribute: nothing, style: {}, textContent: page ? JSON.stringify(page) : "" };
  const query = { matches: false, addEventListener: nothing };
  const globals = {
    document: {
      getElementById: (id) => (id === "fenxi-data" && page ? element : null),
      documentElement: element,
      addEventListener: nothing,
    },
    location: { pathname: "/run", search: "", origin: "http://localhost", assign: nothing },
    history: { state: null, replaceState: nothing, pushState: nothing },
    localStorage: { getItem: () => null, setItem: nothing },
    matchMedia: () => query,
    addEventListener: nothing,
    scrollTo: nothing,
    scrollY: 0,
  };
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  globalThis.window = globalThis;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The modules named, relative to web/src; they share what they import. */
export async function load(names, page) {
  browser(page);
  const id = "virtual:tested";
  const plugin = {
    name: "tested",
    resolveId: (asked) => (asked === id ? `\0${id}` : undefined),
    load: (asked) =>
      asked === `\0${id}` ? names.map((n, i) => `export * as m${i} from ${JSON.stringify(`/src/${n}`)};`).join("\n") : undefined,
  };
  const { module } = await runnerImport(id, { root, configFile: false, logLevel: "error", plugins: [plugin] });
  return names.map((_, i) => module[`m${i}`]);
}
