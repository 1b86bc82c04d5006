// How an answer is drawn, the values of its parameters, and the dialog that keeps it as a question.

import { useState } from "preact/hooks";
import { change } from "../api";
import type { Header, SectionName } from "../api.gen";
import { type Asked, CHARTS, namesOf, questionText } from "./asking";
import { Dialog, Field } from "../dialog";
import { Typed } from "../parts";

const UNITS = ["", "%", "B", "B/s", "/s", "s", "ms", "us"];

/** Which columns a chart needs to be given; time charts find `t` themselves. */
function needs(chart: string): ("x" | "y" | "series" | "unit")[] {
  if (chart === "table" || chart === "tiles" || chart === "summary") return chart === "table" ? [] : ["y", "unit"];
  if (chart === "bar") return ["y", "unit"];
  return ["x", "y", "series", "unit"];
}

const ABOUT: Record<string, string> = {
  x: "x-axis column; `t` for time",
  y: "value columns, separated by commas",
  series: "column that identifies the series",
  unit: "unit of the values",
};

export function ChartSettings({ asked, onChange }: { asked: Asked; onChange: (asked: Asked) => void }) {
  const pick = (chart: string) =>
    onChange({ ...asked, chart, x: asked.x ?? (["line", "stacked", "heatmap"].includes(chart) ? "t" : null) });
  return (
    <>
      <label class="inline">
        as{" "}
        <select aria-label="chart" value={asked.chart} onChange={(e) => pick(e.currentTarget.value)}>
          {CHARTS.map(([word, name]) => (
            <option key={word} value={word}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {needs(asked.chart).map((name) => (
        <label class="inline" key={name} title={ABOUT[name]}>
          {name}{" "}
          <Typed
            class="short"
            list={name === "unit" ? "units" : undefined}
            value={name === "y" ? asked.y.join(", ") : (asked[name] ?? "")}
            onCommit={(text) =>
              onChange({
                ...asked,
                [name]:
                  name === "y"
                    ? text
                        .split(",")
                        .map((c) => c.trim())
                        .filter(Boolean)
                    : text || null,
              })
            }
          />
        </label>
      ))}
      <datalist id="units">
        {UNITS.map((u) => (
          <option key={u} value={u} />
        ))}
      </datalist>
    </>
  );
}

export function ParamFields({ asked, base, onChange }: { asked: Asked; base?: Header; onChange: (asked: Asked) => void }) {
  return (
    <>
      {namesOf(asked.sql).map((name) => {
        const known = base?.params?.find((p) => p.name === name);
        return (
          <label class="inline" key={name} title={known?.about}>
            {`$${name} `}
            <Typed
              class="short"
              value={asked.params[name] ?? ""}
              placeholder={known ? String(known.default ?? "") : "value"}
              onCommit={(text) => onChange({ ...asked, params: { ...asked.params, [name]: text } })}
            />
          </label>
        );
      })}
    </>
  );
}

/** Letters, digits and dashes, as a file is called. */
const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60);

export function SaveDialog({
  asked,
  base,
  sections,
  onClose,
  onSaved,
}: {
  asked: Asked;
  base?: Header;
  sections: SectionName[];
  onClose: () => void;
  onSaved: (name: string) => void;
}) {
  const [title, setTitle] = useState(base ? (base.own ? base.title : `${base.title} (mine)`) : "");
  const [name, setName] = useState(base?.own ? base.id : "");
  const [about, setAbout] = useState(base?.about ?? "");
  const [section, setSection] = useState(base?.section ?? "result");
  const called = name || slug(title);
  const act = async () => {
    const params = Object.fromEntries((base?.params ?? []).map((p) => [p.name, String(p.default ?? "")]));
    await change(
      "PUT",
      `questions/${encodeURIComponent(called)}`,
      questionText({ ...asked, params: { ...params, ...asked.params } }, title, about, section),
    );
    onSaved(called);
  };
  return (
    <Dialog title="Save as a question" act="Save" onAct={act} onClose={onClose}>
      <p class="quiet">It is saved in this store and appears as a panel in every report.</p>
      <Field label="Title" help="A short question is best: Which disks were busy?">
        <input type="text" required value={title} onInput={(e) => setTitle(e.currentTarget.value)} />
      </Field>
      <Field label="Name" help="As `fenxi ask` calls it.">
        <input type="text" value={name} placeholder={called || "which-disks"} onInput={(e) => setName(slug(e.currentTarget.value))} />
      </Field>
      <Field label="About" help="One sentence: what it shows and what to look for.">
        <textarea rows={2} value={about} onInput={(e) => setAbout(e.currentTarget.value)} />
      </Field>
      <Field label="Section">
        <select value={section} onChange={(e) => setSection(e.currentTarget.value)}>
          {sections.map((s) => (
            <option key={s.id} value={s.id}>
              {s.title}
            </option>
          ))}
        </select>
      </Field>
    </Dialog>
  );
}
