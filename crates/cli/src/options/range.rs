//! A range of time as two options, for who is used to `sar -s -e`.

use clap::Args;

/// When.
#[derive(Clone, Debug, Default, Args)]
pub struct RangeArgs {
    /// Only what was recorded from then on: 03:10, 2026-11-24T10:00, -2h (UTC); the same as RUN/FROM..
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, hide = true)]
    pub from: Option<String>,
    /// Only what was recorded until then
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, hide = true)]
    pub to: Option<String>,
}

impl RangeArgs {
    /// The selectors that are meant: ranges of the runs that were named, of any recording where none was. Without a
    /// range it is `given`, or else `latest`.
    pub fn of(&self, given: &[String], latest: &[&str]) -> Vec<String> {
        let range = match (&self.from, &self.to) {
            (None, None) if given.is_empty() => return latest.iter().map(|word| (*word).to_owned()).collect(),
            (None, None) => return given.to_vec(),
            (from, to) => format!("{}..{}", from.as_deref().unwrap_or(""), to.as_deref().unwrap_or("")),
        };
        if given.is_empty() { vec![range] } else { given.iter().map(|of| format!("{of}/{range}")).collect() }
    }
}
