//! Facts that differ between groups, with their differences.

use fenxi_analyze::{FactDifference, diff};
use schemars::JsonSchema;
use serde::Serialize;

use crate::wording::{sign, sign_schema};

pub use fenxi_analyze::Op;

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DiffLine {
    /// `-` where only the first group has it, `+` where only the second has, `=` where both have.
    #[serde(serialize_with = "sign")]
    #[schemars(schema_with = "sign_schema")]
    pub op: Op,
    /// The line, or words of a long one.
    pub text: String,
}

/// A fact that is one thing in all runs of a group and another in those of the other.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct FactDiff {
    /// Group of facts.
    pub topic: String,
    /// Name of the fact.
    pub name: String,
    /// Only what differs, with a little of what is around it.
    pub lines: Vec<DiffLine>,
    /// Value in each group; None where no run has it.
    pub values: [Option<String>; 2],
}

impl FactDiff {
    pub(crate) fn of(fact: FactDifference) -> FactDiff {
        let FactDifference { topic, name, values: (a, b) } = fact;
        let lines = diff(a.as_deref(), b.as_deref());
        let lines = lines.into_iter().map(|line| DiffLine { op: line.op, text: line.text }).collect();
        FactDiff { topic, name, lines, values: [a, b] }
    }
}
