//! `mysqldumpslow`: the statements of a slow log, with their mean figures and counts.
//!
//! It does not say how long the log was written, so that there are no rates: how often a statement
//! ran is a metric.

use fenxi_model::{
    catalog::db_statement,
    statement::{digest, form},
};

use crate::{Family, Format, Head, Input, Out, Sure, generic::labels::Labels, number};

/// Importer for mysqldumpslow of MySQL and MariaDB.
pub static FORMAT: Format = Format {
    name: "mysqldumpslow",
    summary: "mysqldumpslow of MySQL and MariaDB: the statements of a slow log",
    family: Family::Database,
    tables: &[&db_statement::TABLE],
    example: "\
Count: 6  Time=0.05s (0s)  Lock=0.00s (0s)  Rows=1.0 (6), root[root]@localhost
  select sleep(N.N)
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    Sure::Certain
        .when(head.any(|line| line.starts_with("Count: ") && line.contains("  Time=") && line.contains("  Lock=")))
}

/// The longest text of a statement that is kept.
const MAX_TEXT: usize = 16 << 10;

/// A statement and what is known of it.
#[derive(Default)]
struct Statement {
    user: String,
    database: String,
    text: String,
    mean_s: Option<f64>,
    /// Names of metrics and their values.
    figures: Vec<(&'static str, f64, &'static str)>,
}

/// The figures of the head line: in how it is called, what becomes of the mean and of the sum.
const FIGURES: &[(&str, Option<&str>, Option<&str>, &str)] = &[
    ("Lock", Some("mysqldumpslow.lock_time_mean"), None, "s"),
    ("Rows", Some("mysqldumpslow.rows_sent_mean"), Some("mysqldumpslow.rows_sent"), ""),
    ("Rows_sent", Some("mysqldumpslow.rows_sent_mean"), Some("mysqldumpslow.rows_sent"), ""),
    ("Rows_examined", Some("mysqldumpslow.rows_examined_mean"), Some("mysqldumpslow.rows_examined"), ""),
    ("Rows_affected", Some("mysqldumpslow.rows_affected_mean"), Some("mysqldumpslow.rows_affected"), ""),
];

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut open: Option<Statement> = None;
    while input.line().is_some() {
        let (line_number, line) = (input.number(), input.text());
        let text = line.trim();
        if text.starts_with("Count: ") {
            write(open.take(), out);
            open = head(text);
            if open.is_none() {
                out.unknown(line_number, line, "no count and times");
            }
            continue;
        }
        if text.is_empty() || text.starts_with('#') || text.starts_with("Reading mysql slow query log") {
            continue;
        }
        match &mut open {
            Some(_) if text.starts_with("SET timestamp=") => {}
            Some(statement) => match text.strip_prefix("use ") {
                Some(database) if statement.text.is_empty() => {
                    database.trim_end_matches(';').trim_matches('`').clone_into(&mut statement.database);
                }
                _ if statement.text.len() + text.len() < MAX_TEXT => {
                    if !statement.text.is_empty() {
                        statement.text.push(' ');
                    }
                    statement.text.push_str(text);
                }
                _ => {}
            },
            None => out.unknown(line_number, line, "no statement before it"),
        }
    }
    write(open, out);
}

/// `Count: 6  Time=0.05s (0s)  Lock=0.00s (0s)  Rows_sent=1.0 (6), Rows_examined=0.0 (0), root[root]@localhost`.
fn head(line: &str) -> Option<Statement> {
    let mut statement = Statement::default();
    let mut words = line.split_ascii_whitespace().skip(1);
    statement.figures.push(("mysqldumpslow.calls", number(words.next()?)?, ""));
    while let Some(word) = words.next() {
        let Some((name, mean)) = word.split_once('=') else {
            // Several are only counted: `2users@3hosts`.
            let one = word.split(['[', '@']).next().filter(|user| !user.starts_with(|c: char| c.is_ascii_digit()));
            one.unwrap_or("").clone_into(&mut statement.user);
            continue;
        };
        let mean = number(mean.trim_end_matches('s'))?;
        let sum = words.next().map(|word| word.trim_matches(['(', ')', ',', 's'])).and_then(number);
        if name == "Time" {
            statement.mean_s = Some(mean);
            statement.figures.extend(sum.map(|sum| ("mysqldumpslow.time", sum, "s")));
        }
        for (_, mean_name, sum_name, unit) in FIGURES.iter().filter(|(known, ..)| *known == name) {
            statement.figures.extend(mean_name.map(|to| (to, mean, *unit)));
            statement.figures.extend(sum_name.zip(sum).map(|(to, sum)| (to, sum, *unit)));
        }
    }
    Some(statement)
}

/// The statement with `?` where mysqldumpslow put `N` for a number; `'S'` for a text is a literal as others are.
fn with_placeholders(text: &str) -> String {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '`' | '"' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(if matches!(word, "N" | "N.N") { "?" } else { word });
        let next = after.find(in_word).unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    out
}

fn write(statement: Option<Statement>, out: &mut Out<'_>) {
    let Some(statement) = statement else { return };
    let digest = digest(&form(&with_placeholders(&statement.text), false));
    let some = |text: &'_ str| if text.is_empty() { None } else { Some(text.to_owned()) };
    let (text, database, user) = (some(&statement.text), some(&statement.database), some(&statement.user));
    let mut row = out.row(&db_statement::TABLE, None, None);
    row.str(db_statement::digest, digest.as_str()).str(db_statement::statement, text.as_deref());
    row.str(db_statement::database, database.as_deref()).str(db_statement::user, user.as_deref());
    row.f64(db_statement::mean_ms, statement.mean_s.map(|seconds| seconds * 1000.0));
    let labels = Labels::of("digest", &digest);
    for (name, value, unit) in statement.figures {
        out.metric(None, None, name, labels.text(), value, unit);
    }
}
