// What a run can be compared with: the groups of its store, those of the same kind first, each a link.

import { useAnswer } from "../api";
import type { ListedRun } from "../api.gen";
import { link } from "../router";
import { moment } from "../units";

/** Groups that are offered at most. */
const MOST = 12;

interface Group {
  /** What selects it: a name that several runs have, or an id. */
  selector: string;
  name: string;
  runs: ListedRun[];
}

/** Runs by their names; one whose name would be read as something else stands alone by its id. */
function groups(runs: ListedRun[]): Group[] {
  const named = new Map<string, Group>();
  for (const run of runs) {
    const known = named.get(run.name);
    if (known) known.runs.push(run);
    else named.set(run.name, { selector: run.name, name: run.name, runs: [run] });
  }
  return [...named.values()].flatMap((group) => {
    const plain = /^[\w.-]+$/.test(group.name);
    if (plain && group.runs.length > 1) return [group];
    return group.runs.map((run) => ({ selector: run.id, name: run.name || run.id, runs: [run] }));
  });
}

const latest = (group: Group) => Math.max(...group.runs.map((run) => run.start_ms));

/** Links to comparisons of the run, or of its group, with others: the earlier one is A. */
export function Offers({ run }: { run: string }) {
  const rows = useAnswer("runs", { limit: 200 }).data?.rows ?? [];
  const all = groups(rows);
  const own = all.find((group) => group.runs.some((r) => r.id === run || r.name === run));
  if (!own) return null;
  const self = own.runs[0];
  const others = all
    .filter((group) => group !== own)
    .map((group) => {
      const other = group.runs[0];
      const alike = Number(other?.kind === self?.kind) + Object.entries(other?.tags ?? {}).filter(([k, v]) => self?.tags[k] === v).length;
      return { group, alike };
    })
    .sort((x, y) => y.alike - x.alike || latest(y.group) - latest(x.group))
    .slice(0, MOST);
  if (others.length === 0) return null;
  const address = (group: Group) => {
    const [a, b] = latest(group) <= latest(own) ? [group, own] : [own, group];
    return link("/compare", { a: a.selector, b: b.selector });
  };
  const size = (group: Group) => (group.runs.length > 1 ? `${group.runs.length} runs, the latest ` : "");
  return (
    <>
      <h3>
        {own.name} {own.runs.length > 1 ? `(${own.runs.length} runs) ` : ""}with …
      </h3>
      <ul class="offers">
        {others.map(({ group }) => (
          <li key={group.selector}>
            <a href={address(group)}>{group.name}</a>{" "}
            <span class="muted">
              {size(group)}
              {moment(latest(group))}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
