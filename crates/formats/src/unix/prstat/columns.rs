//! Headers of prstat, and what its cells say.

use fenxi_model::{Place, catalog::thread, place::F64};

use super::groups::Group;
use crate::{Fields, number, scaled};

/// Kind of the lines under a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Processes and threads, by size.
    Size,
    SizeLwp,
    /// Processes and threads, by microstates.
    Usage,
    UsageLwp,
    /// Sums over processes.
    Group(Group),
}

/// Microstates that have a column in the `thread` table.
pub(super) const SHARES: &[(&str, Place<thread::Schema, F64>)] = &[
    ("USR", thread::usr),
    ("SYS", thread::sys),
    ("TFL", thread::text_fault),
    ("DFL", thread::data_fault),
    ("LCK", thread::lock_wait),
    ("SLP", thread::sleep),
    ("LAT", thread::run_queue_wait),
];

/// The columns of one header.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) kind: Kind,
    names: Vec<String>,
}

impl Columns {
    /// Reads a header line.
    pub(super) fn read(fields: &Fields<'_>) -> Option<Columns> {
        let first = fields.get(0);
        let last = fields.get(fields.len().checked_sub(1)?);
        let usage = fields.iter().any(|name| name == "USR");
        let kind = match (first, last) {
            ("PID", "PROCESS/NLWP") => {
                if usage {
                    Kind::Usage
                } else {
                    Kind::Size
                }
            }
            ("PID", "PROCESS/LWPID" | "PROCESS/LWPNAME" | "PROCESS/LWP") => {
                if usage {
                    Kind::UsageLwp
                } else {
                    Kind::SizeLwp
                }
            }
            _ if fields.iter().any(|name| name == "MEMORY") => Kind::Group(Group::read(fields)?),
            _ => return None,
        };
        Some(Columns { kind, names: fields.iter().map(str::to_owned).collect() })
    }

    /// The columns of a line about a process without any header.
    pub(super) fn guess(fields: &Fields<'_>) -> Option<Columns> {
        let of = |kind, names: &str| Some(Columns { kind, names: names.split(' ').map(str::to_owned).collect() });
        let named = fields.rest(9).contains('/');
        if named && fields.get(7).contains(':') && fields.get(8).ends_with('%') {
            return of(Kind::Size, "PID USERNAME SIZE RSS STATE PRI NICE TIME CPU PROCESS/NLWP");
        }
        if fields.len() >= 15 && fields.rest(14).contains('/') {
            return of(Kind::Usage, "PID USERNAME USR SYS TRP TFL DFL LCK SLP LAT VCX ICX SCL SIG PROCESS/NLWP");
        }
        None
    }

    pub(super) fn is_lwp(&self) -> bool {
        matches!(self.kind, Kind::SizeLwp | Kind::UsageLwp)
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The cell in the column called `name`.
    pub(super) fn cell<'a>(&self, fields: &Fields<'a>, name: &str) -> Option<&'a str> {
        self.names.iter().position(|n| n == name).map(|at| fields.get(at)).filter(|cell| !cell.is_empty())
    }

    pub(super) fn number(&self, fields: &Fields<'_>, name: &str) -> Option<f64> {
        self.cell(fields, name).and_then(number)
    }

    /// `1.8%`
    pub(super) fn percent(&self, fields: &Fields<'_>, name: &str) -> Option<f64> {
        self.cell(fields, name).and_then(|cell| number(cell.trim_end_matches('%')))
    }

    /// `917`, `11K`, `.2M`
    pub(super) fn count(&self, fields: &Fields<'_>, name: &str) -> Option<f64> {
        self.cell(fields, name).and_then(|cell| scaled(cell, 1000.0))
    }

    /// User, system and trap time: all that is spent on a CPU.
    pub(super) fn busy(&self, fields: &Fields<'_>) -> Option<f64> {
        let (usr, sys) = self.number(fields, "USR").zip(self.number(fields, "SYS"))?;
        Some(usr + sys + self.number(fields, "TRP").unwrap_or(0.0))
    }
}

/// `0:38:13`, also with more hours or none, in seconds.
pub(super) fn clock(text: &str) -> Option<f64> {
    text.split(':').try_fold(0.0, |sum, part| number(part).map(|n| sum * 60.0 + n)).filter(|_| text.contains(':'))
}

/// The state as one letter, and the CPU for a process that is on one.
pub(super) fn state(text: &str) -> (Option<&str>, Option<i64>) {
    let letter = match text {
        "" | "?" => return (None, None),
        "sleep" => "S",
        "run" => "R",
        "zombie" => "Z",
        "stop" => "T",
        "idle" => "I",
        "wait" => "W",
        _ => match text.strip_prefix("cpu").and_then(|cpu| cpu.parse().ok()) {
            Some(cpu) => return (Some("R"), Some(cpu)),
            None => text,
        },
    };
    (Some(letter), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_as_prstat_prints_them() {
        assert_eq!(clock("0:38:13"), Some(2293.0));
        assert_eq!(clock("300:37:03"), Some(1_082_223.0));
        assert_eq!(clock("12"), None);
        assert_eq!(state("cpu12"), (Some("R"), Some(12)));
        assert_eq!(state("sleep"), (Some("S"), None));
        assert_eq!(state("?"), (None, None));
    }
}
