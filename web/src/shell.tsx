// The frame of every page: the bar with the pages, theme and time zone, and the page that the address names.

import { useEffect, useRef } from "preact/hooks";
import { embedded, offline, useAnswer } from "./api";
import { PAGES } from "./pages";
import { Empty } from "./parts";
import { usePlace } from "./router";
import { theme, toggleTheme, useShared, zone } from "./shared";
import { Tooltip } from "./tooltip";
import { zoneWord } from "./units";

/** What answers here; in a file nothing can be changed. */
const useAbout = () => useAnswer("about", offline ? null : {});

/** Whether what changes the store may be offered. */
export function useWritable(): boolean {
  const about = useAbout().data;
  return about !== undefined && !about.read_only;
}

export function Shell() {
  const { path, query } = usePlace();
  const page = PAGES.find((p) => p.path === path);
  // What may be changed decides which buttons there are: a page is drawn when that is known.
  const about = useAbout();
  const known = offline || about.data !== undefined || about.error !== undefined;
  useEffect(() => {
    if (!embedded) document.title = page?.title ? `${page.title} · Fenxi` : "Fenxi";
  }, [path]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Bar path={path} />
      {page ? known && <page.View query={query} key={path} /> : <Unknown path={path} />}
      <Tooltip />
    </>
  );
}

function Bar({ path }: { path: string }) {
  const about = useAbout().data;
  const mode = useShared(theme);
  const where = useShared(zone);
  const pages = useRef<HTMLElement>(null);
  // On a narrow window the page's own link may stand beyond the edge.
  useEffect(() => pages.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [path]);
  return (
    <header class="bar">
      {offline ? (
        <span class="brand">Fenxi</span>
      ) : (
        <a class="brand" href="/">
          Fenxi
        </a>
      )}
      {!offline && (
        <nav ref={pages} class="nav-links" aria-label="pages">
          {PAGES.filter((p) => p.title).map((p) => (
            <a key={p.path} href={p.path} aria-current={p.path === path ? "page" : undefined}>
              {p.title}
            </a>
          ))}
        </nav>
      )}
      <div class="nav-tools">
        {about?.read_only && (
          <span class="tag" title="The server was started with --read-only">
            read-only
          </span>
        )}
        <button
          type="button"
          class="zone"
          onClick={() => zone.set(where === "utc" ? "local" : "utc")}
          aria-label={`times are in ${zoneWord()}; switch to ${where === "utc" ? "local time" : "UTC"}`}
        >
          {zoneWord()}
        </button>
        <button type="button" class="theme" onClick={toggleTheme} aria-label={`switch to the ${mode === "dark" ? "light" : "dark"} theme`}>
          {mode === "dark" ? "☀" : "☾"}
        </button>
      </div>
    </header>
  );
}

function Unknown({ path }: { path: string }) {
  return (
    <main id="main" tabIndex={-1}>
      <Empty title="Page not found">
        <p>
          {`Page not found: ${path}. `}
          <a href="/">Go to the list of runs</a>
        </p>
      </Empty>
    </main>
  );
}
