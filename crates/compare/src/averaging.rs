//! Selection of the runs and windows of an average, with a record of the choice.

use fenxi_model::RunId;
use fenxi_store::Store;

use crate::{CompareError, Representative, Stood, average::Member, windows::choose};

/// What becomes of runs that lie much farther from the others than usual.
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
    /// Chooses among `runs`, and `window` of each.
    ///
    /// # Errors
    /// When there are fewer than two runs, or one cannot be read or has no such window.
    pub fn of(store: &Store, runs: &[RunId], window: &str, outliers: Outliers) -> Result<Averaging, CompareError> {
        if runs.len() < 2 {
            return Err(CompareError::TooFew(runs.len()));
        }
        let found = Representative::of(store, runs, window)?;
        let is_out = |stood: &Stood| outliers == Outliers::LeaveOut && stood.outlier;
        let mut kept: Vec<&Stood> = found.runs.iter().filter(|stood| !is_out(stood)).collect();
        kept.sort_by_key(|stood| !stood.representative);
        let member = |stood: &&Stood| {
            let window = choose(store, &store.run(&stood.run)?, window)?;
            Ok(Member { id: stood.run.clone(), window })
        };
        let members = kept.iter().map(member).collect::<Result<Vec<Member>, CompareError>>()?;
        let remark = |stood: &Stood| {
            let what = match (stood.outlier, is_out(stood)) {
                (_, true) => ", an outlier, excluded",
                (true, _) => ", an outlier",
                _ => "",
            };
            (format!("distance of {}", stood.run), format!("{:.2}{what}", stood.distance))
        };
        let remarks = found.runs.iter().map(remark).collect();
        let left_out = found.runs.iter().filter(|stood| is_out(stood)).map(|stood| stood.run.clone()).collect();
        Ok(Averaging { members, left_out, remarks, found })
    }
}
