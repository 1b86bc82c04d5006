// How values were distributed: shares of all values by bucket, on a logarithmic axis where buckets grow with
// their values; distributions of several runs or names lie over each other as steps.

import { useState } from "preact/hooks";
import { colour, theme, useShared } from "../shared";
import { human, short } from "../units";
import { Axes, Frame, inside } from "./axes";
import { extent, linear, logarithmic } from "./scale";

export interface Bucket {
  lo: number;
  /** Null: no upper bound. */
  hi: number | null;
  count: number;
}

export interface Distribution {
  name: string;
  buckets: Bucket[];
}

/** Whether buckets grow as their values do. */
export function isGrowing(buckets: Bucket[]): boolean {
  const widths = buckets.flatMap((b) => (b.hi !== null && b.hi > b.lo ? [b.hi - b.lo] : []));
  const [minimum, most] = extent(widths);
  return widths.length > 2 && most >= minimum * 4;
}

/** The value below which `share` of all values are, interpolated within its bucket. */
export function quantile(buckets: Bucket[], share: number): number | null {
  const total = buckets.reduce((sum, b) => sum + b.count, 0);
  let below = 0;
  for (const b of [...buckets].sort((x, y) => x.lo - y.lo)) {
    if (total > 0 && b.count > 0 && below + b.count >= share * total) {
      if (b.hi === null) return b.lo;
      const part = (share * total - below) / b.count;
      return b.lo > 0 ? b.lo * (b.hi / b.lo) ** part : b.lo + (b.hi - b.lo) * part;
    }
    below += b.count;
  }
  return null;
}

export function Histogram({ label, all, unit, height = 260 }: { label: string; all: Distribution[]; unit: string; height?: number }) {
  useShared(theme);
  const [cumulated, setCumulated] = useState(false);
  const growing = all.some((d) => isGrowing(d.buckets));
  const draw = (width: number, high: number) => {
    const box = inside(width, high);
    const used = all.flatMap((d) => d.buckets.filter((b) => b.count > 0));
    // Zero has no place on a logarithmic axis: its bucket begins a little left of the others.
    const low = Math.min(...used.map((b) => (b.lo > 0 ? b.lo : b.hi !== null && b.hi > 0 ? b.hi / 2 : Infinity)));
    const begin = (b: Bucket) => (growing ? Math.max(low, b.lo) : b.lo);
    const end = (b: Bucket) => b.hi ?? (growing ? b.lo * 2 : b.lo + (used[0] ? (used[0].hi ?? 1) - used[0].lo : 1));
    const span = extent(used.flatMap((b) => [begin(b), end(b)]));
    const xs = growing ? logarithmic(span, [box.left, box.right]) : linear(span, [box.left, box.right], unit);
    const shares = all.map((d) => share(d.buckets, cumulated));
    const ys = linear([0, cumulated ? 100 : extent(shares.flat())[1] * 1.08], [box.bottom, box.top], "%");
    const picture = (
      <>
        <Axes
          box={box}
          x={xs}
          y={ys}
          xUnit={unit}
          yUnit="%"
          xName={growing ? "value (logarithmic)" : "value"}
          yName={cumulated ? "cumulative share" : "share of values"}
        />
        <g class="marks">
          {all.map((d, s) =>
            d.buckets.map((b, i) => {
              if (b.count === 0 && !cumulated) return null;
              const [from, to, top] = [xs.at(begin(b)), xs.at(end(b)), ys.at(shares[s][i])];
              if (all.length === 1)
                return (
                  <rect
                    key={`${s} ${i}`}
                    class="column"
                    x={from + 0.5}
                    width={Math.max(1, to - from - 1)}
                    y={top}
                    height={box.bottom - top}
                    fill={colour(0)}
                  />
                );
              return (
                <path
                  key={`${s} ${i}`}
                  d={`M${from} ${box.bottom}V${top}H${to}V${box.bottom}`}
                  fill={colour(s)}
                  fill-opacity="0.12"
                  stroke={colour(s)}
                  stroke-width="1.4"
                />
              );
            }),
          )}
        </g>
      </>
    );
    const items = all.flatMap((d, s) => {
      const upTo = share(d.buckets, true);
      const one = share(d.buckets, false);
      return d.buckets.map((b, i) => ({
        x: (xs.at(begin(b)) + xs.at(end(b))) / 2,
        y: ys.at(shares[s][i]),
        head: `${human(b.lo, unit)} … ${b.hi === null ? "no bound" : human(b.hi, unit)}${all.length > 1 ? ` · ${d.name}` : ""}`,
        lines: [
          { colour: colour(s), name: "values", value: short(b.count, "") },
          { name: "share", value: `${one[i].toFixed(2)}%` },
          { name: "cumulative", value: `${upTo[i].toFixed(2)}%` },
        ],
      }));
    });
    return { picture, items: items.filter((i) => Number.isFinite(i.x)).sort((a, b) => a.x - b.x) };
  };
  return (
    <div>
      <Frame label={`${label}: ${all.map((d) => d.name).join(", ")}`} height={() => height} draw={draw} near="x" />
      <div class="histogram-foot">
        <Percentiles all={all} unit={unit} />
        <button type="button" class="plain" aria-pressed={cumulated} onClick={() => setCumulated(!cumulated)}>
          {cumulated ? "Per bucket" : "Cumulative"}
        </button>
      </div>
    </div>
  );
}

const QUANTILES = [0.5, 0.9, 0.99, 0.999];

/** What each distribution comes to, beside its colour. */
function Percentiles({ all, unit }: { all: Distribution[]; unit: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="percentiles">
      <table>
        <thead>
          <tr>
            <th>of</th>
            <th class="num">values</th>
            {QUANTILES.map((q) => (
              <th key={q} class="num">{`p${q * 100}`}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {all.map((d, i) => (
            <tr key={d.name}>
              <td class="long">
                <span class="swatch" style={{ background: colour(i) }} /> {d.name}
              </td>
              <td class="num">
                {short(
                  d.buckets.reduce((sum, b) => sum + b.count, 0),
                  "",
                )}
              </td>
              {QUANTILES.map((q) => (
                <td key={q} class="num">
                  {human(quantile(d.buckets, q), unit)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Shares of the values in percent, of each bucket or up to its end. */
function share(buckets: Bucket[], cumulated: boolean): number[] {
  const total = buckets.reduce((sum, b) => sum + b.count, 0) || 1;
  let below = 0;
  return buckets.map((b) => {
    below += b.count;
    return (100 * (cumulated ? below : b.count)) / total;
  });
}
