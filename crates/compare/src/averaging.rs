//! Selection of the runs and windows of an average, with a record of the choice.

use fenxi_model::RunId;
use fenxi_store::Store;

use crate::{CompareError, Rank, Representative, Room, average::Member, windows::choose};

/// Treatment of outlier runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outliers {
    /// They count.
    Keep,
    /// They do not.
    LeaveOut,
}

/// The runs of an average, chosen.
#[derive(Debug)]
pub struct Averaging {
    /// How the runs lie to each other.
    pub found: Representative,
    /// Those that count, the representative one first.
    pub members: Vec<Member>,
    /// Those that do not.
    pub left_out: Vec<RunId>,
    /// How far each lies from the representative one: name and text.
    pub remarks: Vec<(String, String)>,
}

impl Averaging {
    /// Chooses among `runs`, and `window` of each; their statistics are read within `room`.
    ///
    /// # Errors
    /// When there are fewer than two runs, one cannot be read or has no such window, or there is no room for their statistics.
    pub fn of(
        store: &Store,
        runs: &[RunId],
        window: &str,
        outliers: Outliers,
        room: Room,
    ) -> Result<Averaging, CompareError> {
        if runs.len() < 2 {
            return Err(CompareError::TooFew(runs.len()));
        }
        let found = Representative::of(store, runs, window, room)?;
        let is_out = |rank: &Rank| outliers == Outliers::LeaveOut && rank.outlier;
        let mut kept: Vec<&Rank> = found.runs.iter().filter(|rank| !is_out(rank)).collect();
        kept.sort_by_key(|rank| !rank.representative);
        let member = |rank: &&Rank| {
            let window = choose(store, &store.run(&rank.run)?, window)?;
            Ok(Member { id: rank.run.clone(), window })
        };
        let members = kept.iter().map(member).collect::<Result<Vec<Member>, CompareError>>()?;
        let remark = |rank: &Rank| {
            let what = match (rank.outlier, is_out(rank)) {
                (_, true) => ", an outlier, excluded",
                (true, _) => ", an outlier",
                _ => "",
            };
            (format!("distance of {}", rank.run), format!("{:.2}{what}", rank.distance))
        };
        let remarks = found.runs.iter().map(remark).collect();
        let left_out = found.runs.iter().filter(|rank| is_out(rank)).map(|rank| rank.run.clone()).collect();
        Ok(Averaging { members, left_out, remarks, found })
    }
}
