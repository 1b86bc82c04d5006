//! The knee of a latency curve: where latency begins to grow fast, by the largest distance to the chord.

use fenxi_model::Random;

use crate::{
    interval::Interval,
    sample::{mean, quantile},
};

/// Fewer points than this have no knee.
const FEWEST: usize = 4;
/// A curve bends where it is so far below its chord, as a share of its height. That of an M/M/1 queue from 10 % to 90 %
/// utilisation is 0.5 below.
const BENDS: f64 = 0.1;
const RESAMPLES: usize = 1000;

/// Where a curve bends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The place of the point in the list.
    pub place: usize,
    /// Its throughput.
    pub throughput: f64,
    /// Where that lies in 95 of 100 resamples of blocks.
    pub interval: Interval,
    /// Points that are beyond the highest throughput, which are left out.
    pub beyond_peak: usize,
}

/// The knee of a curve of which each point has the throughput and the latency of each block, in the order of the load. None
/// where there are too few points, or the curve does not bend in nearly all resamples of blocks.
pub fn latency_knee(points: &[Vec<(f64, f64)>]) -> Option<Knee> {
    let blocks = points.iter().map(Vec::len).min().filter(|blocks| *blocks > 0)?;
    let mut random = Random::new(0x6b6e_6565);
    let all: Vec<usize> = (0..blocks).collect();
    let of = |chosen: &[usize]| -> Vec<(f64, f64)> {
        let mean_of = |point: &Vec<(f64, f64)>, value: fn(&(f64, f64)) -> f64| {
            mean(&chosen.iter().map(|block| value(&point[*block])).collect::<Vec<_>>())
        };
        points.iter().map(|point| (mean_of(point, |pair| pair.0), mean_of(point, |pair| pair.1))).collect()
    };
    let curve = of(&all);
    let place = bend(&curve)?;
    let mut found = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let chosen: Vec<usize> = all.iter().map(|_| random.below(blocks)).collect();
        let curve = of(&chosen);
        found.extend(bend(&curve).map(|place| curve[place].0));
    }
    if found.len() * 100 < RESAMPLES * 95 {
        return None;
    }
    found.sort_by(f64::total_cmp);
    let peak = peak(&curve);
    Some(Knee {
        place,
        throughput: curve[place].0,
        interval: Interval { low: quantile(&found, 0.025), high: quantile(&found, 0.975) },
        beyond_peak: curve.len() - 1 - peak,
    })
}

/// The place of the highest throughput.
fn peak(curve: &[(f64, f64)]) -> usize {
    (0..curve.len()).max_by(|a, b| curve[*a].0.total_cmp(&curve[*b].0)).unwrap_or_default()
}

/// The place that is farthest below the chord, of the points up to the peak.
fn bend(curve: &[(f64, f64)]) -> Option<usize> {
    let curve = &curve[..=peak(curve).min(curve.len().checked_sub(1)?)];
    let ([first, .., last], true) = (curve, curve.len() >= FEWEST) else { return None };
    let (width, height) = (last.0 - first.0, last.1 - first.1);
    if !(width > 0.0 && height > 0.0) {
        return None;
    }
    let below = |point: &(f64, f64)| (point.0 - first.0) / width - (point.1 - first.1) / height;
    let place = (1..curve.len() - 1).max_by(|a, b| below(&curve[*a]).total_cmp(&below(&curve[*b])))?;
    (below(&curve[place]) >= BENDS).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of a queue by its utilisation, in five blocks with some noise.
    fn queue(latency: impl Fn(f64) -> f64, noise: f64) -> Vec<Vec<(f64, f64)>> {
        let mut random = Random::new(3);
        let mut point = |tenth: u32| {
            let load = f64::from(tenth) / 10.0;
            let mut around = |value: f64| value * (1.0 + noise * (random.unit() - 0.5));
            (0..5).map(|_| (around(1000.0 * load), around(latency(load)))).collect()
        };
        (1..=9).map(&mut point).collect()
    }

    #[test]
    fn the_knee_of_a_queue_is_found_with_an_interval_around_it() {
        // M/M/1: farthest below the chord from 10 % to 90 % where the slope is that of the chord: 1 − ρ = √0.09.
        let knee = latency_knee(&queue(|load| 1.0 / (1.0 - load), 0.02)).unwrap();
        assert_eq!((knee.place, knee.beyond_peak), (6, 0));
        assert!(knee.interval.low <= knee.throughput && knee.throughput <= knee.interval.high, "{knee:?}");
        assert!((690.0..710.0).contains(&knee.throughput), "{knee:?}");
    }

    #[test]
    fn a_straight_line_a_flat_one_and_few_points_have_no_knee() {
        assert_eq!(latency_knee(&queue(|load| 1.0 + load, 0.05)), None);
        assert_eq!(latency_knee(&queue(|_| 1.0, 0.02)), None);
        assert_eq!(latency_knee(&queue(|load| 3.0 - load, 0.02)), None);
        assert_eq!(latency_knee(&queue(|load| 1.0 / (1.0 - load), 0.0)[..3]), None);
        assert_eq!(latency_knee(&[]), None);
        assert_eq!(latency_knee(&[vec![], vec![]]), None);
    }

    #[test]
    fn what_is_beyond_the_highest_throughput_is_left_out() {
        let mut points = queue(|load| 1.0 / (1.0 - load), 0.0);
        points.push(vec![(850.0, 40.0); 5]);
        points.push(vec![(800.0, 90.0); 5]);
        let knee = latency_knee(&points).unwrap();
        assert_eq!((knee.place, knee.beyond_peak), (6, 2));
    }
}
