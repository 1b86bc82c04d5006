//! The slow query log of MySQL, MariaDB and Percona Server, with any verbosity.
//!
//! Statements are added up by digest over the whole log. It holds those above `long_query_time` (or without an index, or one of
//! many, as the server is set up), so that rates and means are of the statements logged. `# Time` of newer MySQL is when one
//! ended; without it `SET timestamp` is the time, at which it ended or, of some servers, began. `use` names the database of what
//! follows, and of a session without one the last. Values of statements are hidden.

use fenxi_model::{
    Micros,
    catalog::{db_statement, histogram},
    statement::Quotes,
};
use jiff::civil::{Date, Time};

use super::statements::{Execution, Statements};
use crate::{Clock, Family, Format, Head, Input, Out, Sure, generic::when::moment, number};

/// Importer for slow query log of MySQL, MariaDB and Percona Server.
pub static FORMAT: Format = Format {
    name: "mysql-slow-log",
    summary: "slow query log of MySQL, MariaDB and Percona Server",
    family: Family::Database,
    tables: &[&db_statement::TABLE, &histogram::TABLE],
    example: "\
# User@Host: alice[alice] @ localhost []
# Query_time: 0.050183  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0
SET timestamp=1795407918;
select sleep(0.05);
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let figures =
        |l: &str| l.starts_with("# Query_time: ") && l.contains("Lock_time: ") && l.contains("Rows_examined: ");
    Sure::Certain.when(head.any(figures))
}

/// The longest text of a statement that is kept.
const MAX_TEXT: usize = 16 << 10;
/// Figures of one statement that are kept.
const MAX_FIGURES: usize = 64;

/// Names of members that are no figures to add up, or are read otherwise.
const OTHERS: &[&str] = &[
    "Id",
    "Thread_id",
    "Schema",
    "QC_hit",
    "Query_time",
    "Rows_sent",
    "Rows_examined",
    "Errno",
    "Last_errno",
    "Killed",
    "Start",
    "End",
    "Log_slow_rate_type",
    "Log_slow_rate_limit",
    "InnoDB_trx_id",
    "Stored_routine",
    "Stored routine",
];

/// A statement of the log.
#[derive(Default)]
struct Statement {
    t: Option<Micros>,
    user: String,
    database: Option<String>,
    seconds: Option<f64>,
    rows: Option<f64>,
    examined: Option<f64>,
    failed: Option<bool>,
    stamped: bool,
    figures: Vec<(String, f64)>,
    text: String,
}

struct Reader {
    clock: Clock,
    statements: Statements,
    /// When the server wrote what follows, and whether that was in UTC or with an offset.
    time: Option<(Micros, bool)>,
    database: String,
    open: Option<Statement>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        clock: Clock::new(out.hints()),
        statements: Statements::new(FORMAT.name, Quotes::Backslash),
        time: None,
        database: String::new(),
        open: None,
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.close(0, out);
    reader.statements.flush(out);
}

/// Whether a server begins its log with this line, each time that it opens it.
fn is_banner(line: &str) -> bool {
    (line.contains(", Version: ") && line.ends_with("started with:"))
        || (line.starts_with("Tcp port: ") && line.contains("Unix socket: "))
        || (line.starts_with("TCP Port: ") && line.contains("Named Pipe: "))
        || line.split_ascii_whitespace().eq(["Time", "Id", "Command", "Argument"])
}

impl Reader {
    fn line(&mut self, at: u64, line: &str, out: &mut Out<'_>) {
        let bare = line.trim();
        if let Some(time) = bare.strip_prefix("# Time: ") {
            self.close(at, out);
            self.time = self.stamp(time.trim(), out);
            if self.time.is_none() {
                out.unknown(at, line, "no time");
            }
        } else if let Some(user) = bare.strip_prefix("# User@Host: ") {
            self.close(at, out);
            let user = user.split(['[', ' ']).next().unwrap_or("").to_owned();
            self.open = Some(Statement { user, ..Statement::default() });
        } else if is_banner(bare) {
            self.close(at, out);
            if let Some((_, version)) = bare.split_once(", Version: ") {
                out.fact(
                    "mysql-slow-log",
                    "version",
                    version.trim_end_matches("started with:").trim().trim_end_matches('.'),
                );
            }
        } else if bare.starts_with("# Query_time: ") && self.open.as_ref().is_none_or(|open| !open.text.is_empty()) {
            // The server can leave out who ran it.
            self.close(at, out);
            self.open = Some(Statement::default());
            self.header(bare);
        } else if self.open.is_none() {
            if !bare.is_empty() {
                out.unknown(at, line, "no statement's figures before it");
            }
        } else {
            self.within(bare);
        }
    }

    /// A line of a statement: its figures, then its text.
    fn within(&mut self, bare: &str) {
        let Some(open) = &mut self.open else { return };
        if let Some(command) = bare.strip_prefix("# administrator command: ") {
            open.text = format!("administrator command: {}", command.trim_end_matches(';'));
        } else if open.text.is_empty() && bare.starts_with('#') {
            self.header(bare);
        } else if let Some(name) = bare.strip_prefix("use ").filter(|_| open.text.is_empty() && !open.stamped) {
            name.trim_end_matches(';').trim_matches('`').clone_into(&mut self.database);
        } else if let Some(stamp) = stamp_of(bare).filter(|_| open.text.is_empty() && !open.stamped) {
            open.stamped = true;
            open.t = Some(Micros((stamp * 1e6) as i64));
        } else if open.text.len() + bare.len() < MAX_TEXT {
            if !open.text.is_empty() {
                // A comment ends with its line.
                open.text.push('\n');
            }
            open.text.push_str(bare);
        }
    }

    /// `# Query_time: 0.05  Lock_time: 0.00  Rows_sent: 1 …`: names with a colon, each with a value or none.
    fn header(&mut self, line: &str) {
        let Some(open) = &mut self.open else { return };
        if line.starts_with("# explain:") {
            return;
        }
        let mut words = line.trim_start_matches('#').split_ascii_whitespace().peekable();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_suffix(':') else { continue };
            let Some(value) = words.next_if(|next| !next.ends_with(':')) else { continue };
            match name {
                "Query_time" => open.seconds = number(value),
                "Rows_sent" => open.rows = number(value),
                "Rows_examined" => open.examined = number(value),
                "Schema" => open.database = Some(value.to_owned()),
                "Errno" | "Last_errno" | "Killed" => open.failed = Some(value != "0" || open.failed == Some(true)),
                _ if OTHERS.contains(&name) => {}
                _ => {
                    let figure = match value {
                        "Yes" => Some(1.0),
                        "No" => Some(0.0),
                        _ => number(value),
                    };
                    if let Some(figure) = figure.filter(|_| open.figures.len() < MAX_FIGURES) {
                        open.figures.push((name.to_lowercase(), figure));
                    }
                }
            }
            if name == "Schema" && value.is_empty() {
                open.database = Some(String::new());
            }
        }
        // A session without a database has the name and nothing behind it.
        if line.contains(" Schema: ") && open.database.is_none() {
            open.database = Some(String::new());
        }
    }

    /// `261123  4:25:18` in the server's zone, or `2026-11-23T04:25:18.123456Z`; whether it names its zone.
    fn stamp(&mut self, text: &str, out: &mut Out<'_>) -> Option<(Micros, bool)> {
        if text.contains('T') {
            let zone = out.hints().zone.clone();
            let named = text.ends_with('Z') || text.get(19..).is_some_and(|rest| rest.contains(['+', '-']));
            return Some((moment(text, &zone)?, named));
        }
        let (date, time) = text.split_once(char::is_whitespace)?;
        let digits = |range: std::ops::Range<usize>| date.get(range)?.parse::<i8>().ok();
        let date = Date::new(2000 + i16::from(digits(0..2)?), digits(2..4)?, digits(4..6)?).ok()?;
        let mut parts = time.trim().split(':').map(|part| part.split('.').next()?.parse::<i8>().ok());
        let time = Time::new(parts.next()??, parts.next()??, parts.next()??, 0).ok()?;
        Some((self.clock.moment(date.to_datetime(time)), false))
    }

    fn close(&mut self, at: u64, out: &mut Out<'_>) {
        let Some(open) = self.open.take() else { return };
        let Some(seconds) = open.seconds else {
            if at > 0 {
                out.note(at, "a statement before this line has no `Query_time`");
            }
            return;
        };
        let t = self.time.filter(|(_, named)| *named).map(|(t, _)| t).or(open.t).or(self.time.map(|(t, _)| t));
        if let Some(t) = t {
            self.statements.cover(t);
        }
        let figures: Vec<(&str, f64)> = open.figures.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        self.statements.add(&Execution {
            t,
            database: open.database.as_deref().unwrap_or(&self.database),
            user: &open.user,
            text: open.text.trim_end_matches(';'),
            ms: Some(seconds * 1000.0),
            calls: 1.0,
            errors: open.failed.map(|failed| f64::from(u8::from(failed))),
            rows: open.rows,
            examined: open.examined,
            figures: &figures,
        });
    }
}

/// `SET timestamp=1795407918;`, also behind other variables.
fn stamp_of(line: &str) -> Option<f64> {
    let rest = line.strip_prefix("SET ")?;
    let (before, stamp) = rest.split_once("timestamp=")?;
    let others = before.is_empty() || before.ends_with(',');
    others.then(|| number(stamp.strip_suffix(';')?))?
}

#[cfg(test)]
mod tests {
    use crate::fixtures::read;

    #[test]
    fn a_statement_of_several_lines_and_an_administrator_command_are_read() {
        let text = "\
/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time                 Id Command    Argument
# Time: 2026-11-23T04:25:18.250000Z
# User@Host: bob[bob] @  [10.0.0.5]  Id:     8
# Query_time: 2.000000  Lock_time: 0.000100 Rows_sent: 5  Rows_examined: 1000
use shop;
SET timestamp=1795407916;
select *
  from item # a secret
 where name = \"secret\"
    or name = 'it\\'s secret';
# Time: 2026-11-23T04:25:20.250000Z
# User@Host: bob[bob] @  [10.0.0.5]  Id:     8
# Query_time: 0.500000  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0
SET timestamp=1795407920;
# administrator command: Ping;
";
        let read = read(&super::FORMAT, text.as_bytes());
        assert!(!read.text.contains("secret") && read.tally.notes == 0, "{}", read.text);
        assert!(read.text.contains("shop\t"), "{}", read.text);
        assert!(
            read.text.contains("bob\tselect * from item where name = ? or name = ?\t0.5\t2000\t2000\t1\t2.5\t500"),
            "{}",
            read.text
        );
        assert!(read.text.contains("bob\tadministrator command: ping\t0.5\t500"), "{}", read.text);
        assert!(read.text.contains("2026-11-23T04:25:18.250000Z\tfixture\tslow statement"), "{}", read.text);
    }
}
