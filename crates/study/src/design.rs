//! Which runs a plan means, and in which order: each repeat is a block in which every cell is run once, in an
//! separate random order, so that what drifts on the machine meets all cells alike.

use fenxi_analyze::Random;

use crate::{
    error::PlanError,
    plan::{Level, StudyPlan},
};

/// More runs than anybody waits for are a mistake in the plan.
const MOST_RUNS: usize = 1_000_000;

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The level of each factor, in the order of the plan: its place in the factor's list.
    pub levels: Vec<usize>,
    /// `threads=4 tool=zstd`; `all` in a study without factors.
    pub label: String,
}

/// One planned run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The block, from 1.
    pub block: u32,
    /// The cell's place in the design.
    pub cell: usize,
}

/// The runs of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// All cells, in the order of the plan.
    pub cells: Vec<Cell>,
    /// All runs, in the order in which they are made.
    pub order: Vec<Slot>,
}

impl Design {
    /// The runs of `plan` in the order that belongs to `seed`. A block's order depends on the seed, its number
    /// and its cells only, so that more blocks do not change those before.
    ///
    /// # Errors
    /// When no cell is left, or there are too many.
    pub fn new(plan: &StudyPlan, seed: u64) -> Result<Design, PlanError> {
        let cells = cells(plan)?;
        let mut order = Vec::with_capacity(cells.len() * plan.repeats as usize);
        for block in 1..=plan.repeats {
            let mut places: Vec<usize> = (0..cells.len()).collect();
            if !plan.in_order {
                Random::new(Random::new(seed).bits() ^ u64::from(block)).shuffle(&mut places);
            }
            if let Some(factor) = plan.factors.iter().position(|factor| plan.series.as_ref() == Some(&factor.name)) {
                // Runs of a level together, the levels in the order in which each came first.
                let mut levels: Vec<usize> = Vec::new();
                for place in &places {
                    let level = cells[*place].levels[factor];
                    if !levels.contains(&level) {
                        levels.push(level);
                    }
                }
                places.sort_by_key(|place| levels.iter().position(|level| *level == cells[*place].levels[factor]));
            }
            order.extend(places.into_iter().map(|cell| Slot { block, cell }));
        }
        Ok(Design { cells, order })
    }
}

impl Cell {
    /// The level of each factor.
    pub fn levels<'p>(&self, plan: &'p StudyPlan) -> impl Iterator<Item = (&'p str, &'p Level)> {
        let levels = self.levels.clone();
        plan.factors.iter().zip(levels).map(|(factor, level)| (factor.name.as_str(), &factor.levels[level]))
    }
}

fn cells(plan: &StudyPlan) -> Result<Vec<Cell>, PlanError> {
    let wrong = |message: String| PlanError { path: plan.path.clone(), line: None, message };
    let all = plan.factors.iter().map(|f| f.levels.len()).try_fold(1usize, |n, m| n.checked_mul(m));
    let runs = all.and_then(|n| n.checked_mul(plan.repeats as usize)).filter(|n| *n <= MOST_RUNS);
    if runs.is_none() {
        return Err(wrong(format!(
            "the factors make more than {MOST_RUNS} runs; list some of the combinations in `cells`"
        )));
    }
    let mut cells: Vec<Cell> = Vec::new();
    let mut levels = vec![0; plan.factors.len()];
    loop {
        let label: Vec<String> =
            plan.factors.iter().zip(&levels).map(|(f, l)| format!("{}={}", f.name, f.levels[*l].name)).collect();
        let label = if label.is_empty() { "all".to_owned() } else { label.join(" ") };
        cells.push(Cell { levels: levels.clone(), label });
        // The last factor changes fastest.
        let Some(place) = (0..levels.len()).rev().find(|i| levels[*i] + 1 < plan.factors[*i].levels.len()) else {
            break;
        };
        levels[place] += 1;
        levels[place + 1..].fill(0);
    }
    let matches = |cell: &Cell, pattern: &[(String, String)]| {
        pattern.iter().all(|(name, level)| cell.levels(plan).any(|(n, l)| n == name && l.name == *level))
    };
    if let Some(listed) = &plan.cells {
        // In the order of the list, for `order = "given"`.
        let place = |cell: &Cell| listed.iter().position(|pattern| matches(cell, pattern));
        cells.retain(|cell| place(cell).is_some());
        cells.sort_by_key(place);
    }
    cells.retain(|cell| !plan.exclude.iter().any(|pattern| matches(cell, pattern)));
    if cells.is_empty() {
        return Err(wrong("no combination of levels is left: `exclude` leaves out all of them".to_owned()));
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;
    use crate::parse;

    fn plan(more: &str) -> StudyPlan {
        let text = format!("name = \"n\"\ncommand = \"true\"\n{more}\n[factors]\na = [1, 2, 3]\nb = [\"x\", \"y\"]\n");
        parse(Path::new("p"), &text).unwrap()
    }

    #[test]
    fn every_block_has_every_cell_once_in_an_order_of_its_own() {
        let plan = plan("repeats = 20");
        let design = Design::new(&plan, 42).unwrap();
        assert_eq!((design.cells.len(), design.order.len()), (6, 120));
        let mut orders = BTreeSet::new();
        for (n, block) in design.order.chunks(6).enumerate() {
            assert!(block.iter().all(|slot| slot.block as usize == n + 1));
            let places: Vec<usize> = block.iter().map(|slot| slot.cell).collect();
            assert_eq!(places.iter().copied().collect::<BTreeSet<_>>(), (0..6).collect());
            orders.insert(places);
        }
        assert!(orders.len() > 15, "{} orders in 20 blocks", orders.len());
        // Each cell comes at each place about as often as the others: 20 times a sixth.
        for place in 0..6 {
            let sum: usize = design.order.iter().skip(place).step_by(6).map(|slot| slot.cell).sum();
            assert!((25..=75).contains(&sum), "place {place}: {sum}");
        }
        assert_eq!(Design::new(&plan, 42).unwrap(), design);
        assert_ne!(Design::new(&plan, 43).unwrap().order, design.order);
    }

    #[test]
    fn runs_of_a_series_come_level_by_level_in_random_order() {
        let design = Design::new(&plan("repeats = 30\nseries = \"b\""), 42).unwrap();
        let (mut firsts, mut within) = (0, BTreeSet::new());
        for block in design.order.chunks(6) {
            let levels: Vec<usize> = block.iter().map(|slot| design.cells[slot.cell].levels[1]).collect();
            assert!(levels[..3].iter().all(|level| *level == levels[0]), "{levels:?}");
            assert!(levels[3..].iter().all(|level| *level == 1 - levels[0]), "{levels:?}");
            firsts += levels[0];
            within.insert(block[..3].iter().map(|slot| design.cells[slot.cell].levels[0]).collect::<Vec<_>>());
        }
        assert!((8..=22).contains(&firsts), "{firsts}");
        assert_eq!(within.len(), 6);
        let in_order = Design::new(&plan("series = \"b\"\norder = \"given\""), 1).unwrap();
        assert!(in_order.order.iter().map(|slot| slot.cell).eq([0, 2, 4, 1, 3, 5]));
    }

    #[test]
    fn more_blocks_leave_those_before_as_they_were() {
        let (few, many) =
            (Design::new(&plan("repeats = 2"), 5).unwrap(), Design::new(&plan("repeats = 5"), 5).unwrap());
        assert_eq!(few.order, many.order[..12]);
    }

    #[test]
    fn cells_are_listed_or_left_out() {
        let labels = |more: &str| -> Vec<String> {
            Design::new(&plan(more), 1).unwrap().cells.into_iter().map(|cell| cell.label).collect()
        };
        assert_eq!(labels("cells = [{a = 2, b = \"y\"}, {a = 1, b = \"x\"}]"), ["a=2 b=y", "a=1 b=x"]);
        assert_eq!(labels("exclude = [{a = 2}, {a = 3, b = \"x\"}]"), ["a=1 b=x", "a=1 b=y", "a=3 b=y"]);
        let none = Design::new(&plan("exclude = [{b = \"x\"}, {b = \"y\"}]"), 1).unwrap_err();
        assert_eq!(none.to_string(), "p: no combination of levels is left: `exclude` leaves out all of them");
        let in_order = Design::new(&plan("order = \"given\"\nrepeats = 2"), 1).unwrap();
        assert!(in_order.order.iter().map(|slot| slot.cell).eq((0..6).chain(0..6)));
    }
}
