// The top of a comparison: which groups, under what conditions, and the gate: what speaks against comparing them.

import { useEffect, useState } from "preact/hooks";
import { offline } from "../api";
import { copy, fileName, save } from "../charts/export";
import { link, refine } from "../router";
import { colour, theme, useShared } from "../shared";
import { duration, plural } from "../units";
import { markdown } from "./markdown";
import { Picker } from "./picker";
import { type Comparison, type Group, titles } from "./types";

const MARGINS = ["0.5%", "1%", "2%", "5%", "10%"];

/** `labels`: those by which series can be compared one by one, as far as they are known. */
export function Chooser({ query, labels = [] }: { query: URLSearchParams; labels?: string[] }) {
  const [a, setA] = useState(query.get("a") ?? "");
  const [b, setB] = useState(query.get("b") ?? "");
  useEffect(() => {
    setA(query.get("a") ?? "");
    setB(query.get("b") ?? "");
  }, [query.get("a"), query.get("b")]);
  const done = () => a.trim() && b.trim() && refine({ a: a.trim(), b: b.trim(), force: null, shift: null }, true);
  return (
    <form
      class="chooser"
      onSubmit={(e) => {
        e.preventDefault();
        done();
      }}
    >
      <Picker label="A, the first group" value={a} onInput={setA} onDone={done} />
      <button
        type="button"
        class="plain swap"
        title="Exchange the groups"
        aria-label="exchange the groups"
        onClick={() => refine({ a: b, b: a, shift: null }, true)}
      >
        ⇄
      </button>
      <Picker label="B, compared with it" value={b} onInput={setB} onDone={done} />
      <button type="submit" class="plain main">
        Compare
      </button>
      <Conditions query={query} labels={labels} />
    </form>
  );
}

function Conditions({ query, labels }: { query: URLSearchParams; labels: string[] }) {
  const by = query.getAll("by");
  const offered = [...new Set([...labels, ...by])].sort();
  const margin = query.get("margin") ?? "2%";
  const toggle = (label: string) => refine({ by: by.includes(label) ? by.filter((l) => l !== label) : [...by, label] }, true);
  const conditions = [
    `margin ${margin}`,
    `window ${query.get("window") ?? "auto"}`,
    query.get("per") && `per ${query.get("per")}`,
    by.length > 0 && `by ${by.join(", ")}`,
  ]
    .filter(Boolean)
    .join(", ");
  return (
    <details class="conditions">
      <summary>{`Conditions: ${conditions}`}</summary>
      <div class="condition-row">
        <label>
          changes below this are of no interest{" "}
          <select value={margin} onChange={(e) => refine({ margin: e.currentTarget.value === "2%" ? null : e.currentTarget.value }, true)}>
            {[...new Set([...MARGINS, margin])].map((m) => (
              <option key={m} value={m}>
                {m}
              </option>
            ))}
          </select>
        </label>
        <Text name="window" query={query} about="window" hint="auto, all, a window's name, 60s..540s" />
        <Text name="per" query={query} about="normalize per" hint="result.transactions" />
        {offered.length > 0 && (
          <fieldset>
            <legend>break down by</legend>
            {offered.map((label) => (
              <label key={label}>
                <input type="checkbox" checked={by.includes(label)} onChange={() => toggle(label)} /> {label}
              </label>
            ))}
          </fieldset>
        )}
      </div>
    </details>
  );
}

function Text({ name, query, about, hint }: { name: string; query: URLSearchParams; about: string; hint: string }) {
  return (
    <label>
      {about}{" "}
      <input
        type="text"
        value={query.get(name) ?? ""}
        placeholder={hint}
        onChange={(e) => refine({ [name]: e.currentTarget.value.trim() }, true)}
      />
    </label>
  );
}

/** The groups as they were found: their runs, and the part of them that counts. */
export function Groups({ found }: { found: Comparison }) {
  useShared(theme);
  return (
    <div class="runs">
      <OneGroup letter="A" title={titles(found)[0]} group={found.a} tone={0} />
      <OneGroup letter="B" title={titles(found)[1]} group={found.b} tone={1} />
      {found.changed.length > 0 && (
        <p class="changed">
          Changed:{" "}
          {found.changed.map((change, i) => (
            <span key={change.name}>
              {i > 0 && "; "}
              {change.name} <code>{change.from ?? "none"}</code> → <code>{change.to ?? "none"}</code>
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

function OneGroup({ letter, title, group, tone }: { letter: string; title: string; group: Group; tone: number }) {
  const ids = group.runs.map((r) => r.id);
  const count = `${plural(ids.length, "run")}`;
  return (
    <section class="run" aria-label={`group ${letter}`}>
      <div class="run-name">
        <span class="swatch" style={{ background: colour(tone) }} /> <strong>{`${letter} · ${title}`}</strong>
        {offline ? <span class="quiet">{count}</span> : <a href={link("/run", { run: ids })}>{count}</a>}
      </div>
      <ul class="members">
        {group.runs.map((r) => (
          <li key={r.id}>
            {offline ? (
              r.name
            ) : (
              <a href={link("/run", { run: r.id })} title={r.id}>
                {r.name}
              </a>
            )}
            <span class="quiet">{` ${r.window ?? "whole run"}, ${duration(r.seconds)}`}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Gate({ found }: { found: Comparison }) {
  const refusing = found.reasons.filter((r) => r.refuses);
  const minding = found.reasons.filter((r) => !r.refuses);
  return (
    <section id="section-gate">
      <h2>Is the comparison valid?</h2>
      {found.reasons.length === 0 && (
        <p class="fair">
          <strong>✓ No problem found.</strong> Data sizes, offered rates, settings and conditions of the runs match.
        </p>
      )}
      {refusing.length > 0 && (
        <div class="finding critical">
          <h3>
            <span class="severity critical">{found.refused ? "not compared" : "compared anyway"}</span>The groups did not do the same work
          </h3>
          <ul>
            {refusing.map((r) => (
              <li key={r.text}>{r.text}</li>
            ))}
          </ul>
          {found.refused && !offline && (
            <button type="button" class="plain" onClick={() => refine({ force: true }, true)}>
              Compare anyway
            </button>
          )}
        </div>
      )}
      {minding.length > 0 && (
        <div class="finding warning">
          <h3>
            <span class="severity warning">warning</span>
            {minding.length === 1
              ? "Check this before you trust the result"
              : `Check these ${minding.length} points before you trust the result`}
          </h3>
          <ul>
            {minding.map((r) => (
              <li key={r.text}>{r.text}</li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

/** The comparison taken away: as a file with this page in it, or as Markdown. */
export function Share({ found, address }: { found: Comparison; address: string }) {
  const [notice, setNotice] = useState("");
  const title = titles(found).join(" and ");
  const copied = () =>
    copy(markdown(found)).then(
      () => setNotice("Copied"),
      (e: Error) => setNotice(e.message),
    );
  return (
    <div class="share">
      {!offline && (
        <a class="plain" href={`/api/v1/report?${new URLSearchParams({ page: address })}`} download={fileName(`compare ${title}`, "html")}>
          Save as one file
        </a>
      )}
      <button type="button" class="plain" onClick={() => save(fileName(`compare ${title}`, "md"), markdown(found), "text/markdown")}>
        Save as Markdown
      </button>
      <button type="button" class="plain" onClick={() => void copied()}>
        Copy as Markdown
      </button>
      {!offline && (
        <a class="plain" href={link("/run", { run: [...found.a.runs, ...found.b.runs].map((r) => r.id) })}>
          Overlay all runs
        </a>
      )}
      <span class="quiet" aria-live="polite">
        {notice}
      </span>
    </div>
  );
}
