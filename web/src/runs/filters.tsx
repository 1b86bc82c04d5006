// The filters of the list of runs: text, host, labels and parameters, dates, and which columns to show.

import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "../api";
import { Menu } from "../dialog";
import { refine } from "../router";
import type { RunList } from "./list";
import { words } from "../units";

/** A change of filters begins on the first page again. */
const filter = (values: Record<string, string | string[] | null>) => refine({ ...values, page: null });

export function Filters({ query, list, columns }: { query: URLSearchParams; list: RunList | undefined; columns: string[] }) {
  const where = query.getAll("where");
  const hosts = list?.hosts ?? [];
  return (
    <form class="filters" role="search" aria-label="filter runs" onSubmit={(e) => e.preventDefault()}>
      <Search value={query.get("text") ?? ""} />
      <Labels list={list} where={where} />
      {hosts.length > 1 && (
        <select aria-label="host" value={query.get("host") ?? ""} onChange={(e) => filter({ host: e.currentTarget.value })}>
          <option value="">all hosts</option>
          {hosts.map((h) => (
            <option key={h}>{h}</option>
          ))}
        </select>
      )}
      <label class="inline">
        from <input type="date" value={query.get("since") ?? ""} onChange={(e) => filter({ since: e.currentTarget.value })} />
      </label>
      <label class="inline">
        to <input type="date" value={query.get("until") ?? ""} onChange={(e) => filter({ until: e.currentTarget.value })} />
      </label>
      <Columns list={list} columns={columns} spark={query.get("spark")} />
      {where.map((w) => (
        <button
          key={w}
          type="button"
          class="chip"
          aria-label={`remove the filter ${w}`}
          onClick={() => filter({ where: where.filter((other) => other !== w) })}
        >
          {w} ✕
        </button>
      ))}
    </form>
  );
}

const TYPING_MS = 200;
let typing = 0;

function Search({ value }: { value: string }) {
  const field = useRef<HTMLInputElement>(null);
  // Follows the address, but not while somebody writes.
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = value;
  }, [value]);
  const later = (text: string) => {
    clearTimeout(typing);
    typing = window.setTimeout(() => filter({ text }), TYPING_MS);
  };
  return (
    <input
      ref={field}
      type="search"
      class="grow"
      placeholder="find in names, commands, remarks, labels"
      aria-label="find runs by text"
      defaultValue={value}
      onInput={(e) => later(e.currentTarget.value)}
    />
  );
}

/** One field for labels and parameters: `key=value`, completed from what the store has. */
function Labels({ list, where }: { list: RunList | undefined; where: string[] }) {
  const [text, setText] = useState("");
  const known = [...(list?.tags ?? []), ...(list?.params ?? [])].flatMap((l) => l.values.map((v) => `${l.key}=${v}`));
  const add = (word: string) => {
    setText("");
    if (word.includes("=") && !where.includes(word)) filter({ where: [...where, word] });
  };
  return (
    <span>
      <input
        list="known-labels"
        placeholder="label=value"
        aria-label="filter by label or parameter"
        value={text}
        onInput={(e) => {
          const word = e.currentTarget.value;
          if (known.includes(word) && (e as InputEvent).inputType !== "insertText") add(word);
          else setText(word);
        }}
        onKeyDown={(e) => {
          if (e.key === "Enter") add(text.trim());
        }}
      />
      <datalist id="known-labels">
        {known.slice(0, 500).map((k) => (
          <option key={k} value={k} />
        ))}
      </datalist>
    </span>
  );
}

function Columns({ list, columns, spark }: { list: RunList | undefined; columns: string[]; spark: string | null }) {
  const metrics = useAnswer("metrics", {}).data;
  const groups: [string, string[]][] = [
    ["results", list?.results ?? []],
    ["parameters", (list?.params ?? []).map((p) => `param:${p.key}`)],
    ["labels", (list?.tags ?? []).map((t) => `tag:${t.key}`)],
  ];
  const toggle = (name: string) => refine({ col: columns.includes(name) ? columns.filter((c) => c !== name) : [...columns, name] });
  return (
    <Menu label="Columns ▾" title="Choose what the list shows">
      {groups
        .filter(([, names]) => names.length > 0)
        .map(([title, names]) => (
          <fieldset key={title}>
            <legend>{title}</legend>
            {names.map((name) => (
              <label key={name} class="check">
                <input type="checkbox" checked={columns.includes(name)} onChange={() => toggle(name)} />
                {words(name.replace(/^(param|tag):/, ""))}
              </label>
            ))}
          </fieldset>
        ))}
      <label class="check">
        <span>sparkline of </span>
        <select value={spark ?? ""} onChange={(e) => refine({ spark: e.currentTarget.value })}>
          <option value="">nothing</option>
          {(metrics?.series ?? []).map((s) => (
            <option key={`${s.table}.${s.column}`}>{`${s.table}.${s.column}`}</option>
          ))}
        </select>
      </label>
    </Menu>
  );
}
