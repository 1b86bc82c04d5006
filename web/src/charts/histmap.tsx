// Latency × time: a column for each interval, a row for each bucket, colour for the share of the values of that
// moment. Medians hide what this shows: two bands, a tail that comes and goes.

import { useMemo } from "preact/hooks";
import { heat } from "../shared";
import { clock, human, short } from "../units";
import { type Cell, Grid } from "./grid";
import { type Bucket, isGrowing } from "./histogram";
import { HeatScale } from "./legend-scale";
import { extent, linear, logarithmic, tickTexts } from "./scale";

export interface TimedBucket extends Bucket {
  /** End of its interval, seconds since the run began. */
  t: number;
}

const HEIGHT = 240;

export function HistogramMap({ label, buckets, unit }: { label: string; buckets: TimedBucket[]; unit: string }) {
  const map = useMemo(() => lay(buckets), [buckets]);
  const names = useMemo(() => {
    const { ticks, at } = map.ys;
    return tickTexts(ticks, unit).map((text, i) => [at(ticks[i]), text] as [number, string]);
  }, [map, unit]);
  const describe = (t: number, y: number) => {
    const end = map.times.find((time) => time >= t) ?? map.times[map.times.length - 1];
    const value = map.ys.value(y);
    const here = buckets.filter((b) => b.t === end);
    const b = here.find((x) => x.lo <= value && value < (x.hi ?? Infinity));
    if (!b) return null;
    const total = here.reduce((sum, x) => sum + x.count, 0);
    return {
      head: clock(end),
      lines: [
        {
          name: `${human(b.lo, unit)} … ${human(b.hi, unit)}`,
          value: `${short(b.count, "")} (${((100 * b.count) / total).toFixed(1)}%)`,
          near: true,
        },
        { name: "all", value: short(total, "") },
      ],
    };
  };
  if (map.cells.length === 0) return <p class="quiet">There are no values.</p>;
  return (
    <div>
      <Grid
        label={`${label}: values over time, a row for each bucket`}
        times={map.times}
        span={[map.begin, map.times[map.times.length - 1]]}
        height={HEIGHT}
        cells={map.cells}
        names={names}
        describe={describe}
      />
      <HeatScale minimum="0" most={`${(100 * map.most).toFixed(0)}% of the values of a moment`} />
    </div>
  );
}

function lay(buckets: TimedBucket[]) {
  const used = buckets.filter((b) => b.count > 0);
  const times = [...new Set(buckets.map((b) => b.t))].sort((a, b) => a - b);
  const step = times.length > 1 ? Math.min(...times.slice(1).map((t, i) => t - times[i])) : (times[0] ?? 1);
  const growing = isGrowing(buckets);
  const minimum = Math.min(...used.map((b) => (b.lo > 0 ? b.lo : (b.hi ?? 2) / 2)));
  const end = (b: Bucket) => b.hi ?? (b.lo > 0 ? b.lo * 2 : 1);
  const span = extent(used.flatMap((b) => [growing ? Math.max(minimum, b.lo) : b.lo, end(b)]));
  const ys = growing ? logarithmic(span, [HEIGHT, 0]) : linear(span, [HEIGHT, 0]);
  const totals = new Map<number, number>();
  for (const b of used) totals.set(b.t, (totals.get(b.t) ?? 0) + b.count);
  const most = Math.max(0, ...used.map((b) => b.count / totals.get(b.t)!));
  const cells: Cell[] = used.map((b) => {
    const top = ys.at(end(b));
    // Roots of shares: a tail of one in a thousand can still be seen.
    return {
      from: b.t - step,
      to: b.t,
      top,
      height: Math.max(1, ys.at(growing ? Math.max(minimum, b.lo) : b.lo) - top),
      rgb: heat(Math.sqrt(b.count / totals.get(b.t)! / most)),
    };
  });
  return { cells, times, ys, most, begin: (times[0] ?? 1) - step };
}
