//! Which requests come: as they are stated, or as a run shows them.

use std::{fmt, str::FromStr};

use anyhow::bail;
use fenxi_analyze::Requests;
use fenxi_query::{Engine, Scope, Value};

use crate::{
    options::{EngineArgs, Global, size},
    stores,
};

/// Kinds of requests with their shares, of which the sum is 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix(pub Vec<Requests>);

impl Default for Mix {
    fn default() -> Mix {
        Mix(vec![Requests { random: true, write: false, bytes: 8192, share: 1.0 }])
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(super::requests).collect();
        f.write_str(&all.join(", "))
    }
}

impl Mix {
    fn of(mut all: Vec<Requests>) -> Option<Mix> {
        let sum: f64 = all.iter().map(|requests| requests.share).sum();
        all.iter_mut().for_each(|requests| requests.share /= sum);
        (sum > 0.0 && sum.is_finite()).then_some(Mix(all))
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Mix, String> {
        let one = |part: &str| {
            let expected = || format!("expected KIND SIZE SHARE, as `rand-read 8k 70%`, and not `{}`", part.trim());
            let mut words = part.split_whitespace();
            let (random, write) = match words.next().ok_or_else(expected)? {
                "rand-read" => (true, false),
                "rand-write" => (true, true),
                "seq-read" => (false, false),
                "seq-write" => (false, true),
                kind => {
                    return Err(format!("unknown kind `{kind}`; known are rand-read, rand-write, seq-read, seq-write"));
                }
            };
            let bytes = size(words.next().ok_or_else(expected)?)?;
            if !(512..=1 << 30).contains(&bytes) {
                return Err("a request has from 512 bytes to 1 GiB".to_owned());
            }
            let share = words.next().map(|word| {
                let percent = word.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
                percent.filter(|percent| *percent > 0.0 && percent.is_finite())
            });
            match (share, words.next()) {
                (None, _) => Ok(Requests { random, write, bytes, share: f64::NAN }),
                (Some(Some(percent)), None) => Ok(Requests { random, write, bytes, share: percent / 100.0 }),
                _ => Err(expected()),
            }
        };
        let mut all = text.split(',').map(one).collect::<Result<Vec<Requests>, String>>()?;
        if all.iter().all(|requests| requests.share.is_nan()) {
            all.iter_mut().for_each(|requests| requests.share = 1.0);
        }
        Mix::of(all).ok_or_else(|| "each kind needs its share, or none does".to_owned())
    }
}

/// Reads and writes of a run by what they are; sizes are means. Memory-mapped pages come at random.
const REQUESTS: &str = "\
SELECT op = 'write' AS writes, pattern LIKE '%sequential%' AS in_order, sum(ops_per_s * dt) AS requests,
    sum(ops_per_s * size_bytes * dt) / sum(ops_per_s * dt) AS bytes
FROM io_pattern
WHERE op IN ('read', 'write') AND pattern IS NOT NULL AND ops_per_s > 0 AND size_bytes > 0
    AND ($mount = '' OR mount = $mount)
GROUP BY writes, in_order
ORDER BY requests DESC";

/// Requests in flight at disks, in the mean.
const IN_FLIGHT: &str = "\
WITH together AS (SELECT t, sum(queue_depth) AS n FROM disk WHERE coalesce(class, 'disk') = 'disk' GROUP BY t)
SELECT avg(n) AS n FROM together";

/// The requests of a run, and how many were in flight.
pub fn of_run(
    global: &Global,
    run: &str,
    mount: Option<&str>,
    engine: &EngineArgs,
) -> anyhow::Result<(Mix, Option<u32>)> {
    let store = stores::open(global)?;
    let scope = Scope::of([store.select_one(run)?]);
    let engine = Engine::on_demand(&store, &engine.options())?;
    let place = Value::Text(mount.unwrap_or_default().to_owned());
    let answer = engine.ours(REQUESTS, &[("mount", place)], &scope)?;
    let (writes, in_order) = (answer.strings("writes"), answer.strings("in_order"));
    let (requests, bytes) = (answer.f64s("requests"), answer.f64s("bytes"));
    let is = |of: &[Option<String>], row: usize| of[row].as_deref() == Some("true");
    let row = |row: usize| {
        // Means of what is a multiple of sectors.
        let bytes = ((bytes[row]? / 512.0).round() as u64).clamp(1, 1 << 21) * 512;
        Some(Requests { random: !is(&in_order, row), write: is(&writes, row), bytes, share: requests[row]? })
    };
    let Some(mix) = Mix::of((0..answer.n_rows()).filter_map(row).collect()) else {
        let of = mount.map_or_else(String::new, |mount| format!(" of {mount}"));
        bail!(
            "{run} has no reads and writes{of} by pattern; record with `--source +iopattern`, or state them with --io"
        );
    };
    let in_flight = engine.ours(IN_FLIGHT, &[], &scope)?.f64s("n").first().copied().flatten();
    Ok((mix, in_flight.filter(|n| *n >= 0.5).map(|n| n.round().min(65536.0) as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_stated_by_kind_size_and_share() {
        let mix: Mix = "rand-read 8k 70%, seq-read 1m 30%".parse().unwrap();
        assert_eq!(mix.0[0], Requests { random: true, write: false, bytes: 8192, share: 0.7 });
        assert_eq!(mix.0[1], Requests { random: false, write: false, bytes: 1 << 20, share: 0.3 });
        assert_eq!(mix.to_string(), "rand-read 8.00 KiB 70.0%, seq-read 1.00 MiB 30.0%");
        // Shares are of their sum; without any, all are alike.
        let mix: Mix = "rand-write 16k 20%, seq-write 64k 20%".parse().unwrap();
        assert_eq!(mix.0.iter().map(|requests| requests.share).collect::<Vec<_>>(), [0.5, 0.5]);
        assert_eq!("rand-read 8k".parse::<Mix>(), Ok(Mix::default()));
        for wrong in [
            "",
            "rand-read",
            "read 8k",
            "rand-read 8x",
            "rand-read 8k 70",
            "rand-read 8k 70%, seq-read 1m",
            "rand-read 1",
        ] {
            assert!(wrong.parse::<Mix>().is_err(), "{wrong}");
        }
    }
}
