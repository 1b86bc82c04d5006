//! `csvlog` and `jsonlog`: one record for each report, with all its parts in columns or members. CloudNativePG logs records of
//! `csvlog` as JSON, among its own lines.

use serde_json::{Map, Value};

use super::{Entry, Times, line::time, message::Log};
use crate::{Input, Out, generic::when, json::object, linux::json_log};

/// Columns of a record, before and since the type of the process, its leader and the query's identifier were added.
const COLUMNS: std::ops::RangeInclusive<usize> = 22..=30;

/// Whether a line begins a record: a time with a zone, the process, its session, and a severity.
pub(super) fn is_csv(line: &str) -> bool {
    // Who exports a log again may quote all of it.
    let mut fields = line.split(',').map(|field| field.trim_matches('"'));
    let stamped = fields.next().is_some_and(|field| {
        time(field).is_some_and(|(before, _, zone, rest)| before.is_empty() && !zone.is_empty() && rest.is_empty())
    });
    let process = fields.nth(2).is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()));
    let session = fields.nth(1).is_some_and(|session| {
        session
            .split_once('.')
            .is_some_and(|(a, b)| [a, b].iter().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_hexdigit())))
    });
    stamped && process && session
}

/// Whether a line is a record as JSON.
pub(super) fn is_json(line: &str) -> bool {
    line.starts_with("{\"timestamp\":\"")
        && line.contains("\"error_severity\":\"")
        && line.contains("\"session_id\":\"")
}

/// Whether a line has a record within an entry of CloudNativePG.
pub(super) fn is_within(line: &str) -> bool {
    line.starts_with('{')
        && ["\"record\":{", "\"log_time\":\"", "\"error_severity\":\""].iter().all(|has| line.contains(has))
}

pub(super) fn read_csv(input: &mut Input<'_>, times: &mut Times, log: &mut Log, out: &mut Out<'_>) {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(input.bytes());
    let mut record = csv::ByteRecord::new();
    loop {
        let line = reader.position().line();
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                out.note(line, &format!("no record: {error}"));
                return;
            }
        }
        let field = |i: usize| String::from_utf8_lossy(record.get(i).unwrap_or(b"")).into_owned();
        let stamp = field(0);
        match time(&stamp) {
            Some((_, when, zone, _)) if COLUMNS.contains(&record.len()) => {
                let entry = Entry {
                    line,
                    t: Some(times.moment(when, zone, out)),
                    pid: field(3).parse().ok(),
                    user: field(1),
                    database: field(2),
                    severity: field(11),
                    foreign: false,
                    sqlstate: field(12),
                    message: field(13),
                    detail: field(14),
                    statement: field(19),
                };
                log.entry(entry, out);
            }
            _ => out.unknown(line, &stamp, "no record of this log"),
        }
    }
}

pub(super) fn read_json(input: &mut Input<'_>, times: &mut Times, log: &mut Log, out: &mut Out<'_>) {
    let mut of_others = when::Times::in_zone(out, None);
    while input.line().is_some() {
        let (line, text) = (input.number(), input.text());
        if text.trim().is_empty() {
            continue;
        }
        let Some(whole) = object(text) else {
            out.unknown(line, text, "no JSON object");
            continue;
        };
        let within = whole.get("record").and_then(Value::as_object).filter(|record| record.contains_key("log_time"));
        if within.is_none() && whole.contains_key("logger") {
            if !json_log::entry(&whole, &mut of_others, out) {
                out.unknown(line, text, "no time and no message");
            }
            continue;
        }
        let record = within.unwrap_or(&whole);
        let of = |name: &str| member(record, if within.is_some() { as_csv(name) } else { name });
        let stamp = of("timestamp");
        let Some((_, when, zone, _)) = time(&stamp) else {
            out.unknown(line, text, "no time");
            continue;
        };
        let entry = Entry {
            line,
            t: Some(times.moment(when, zone, out)),
            pid: record.get("pid").and_then(Value::as_i64).or_else(|| of("pid").parse().ok()),
            user: of("user"),
            database: of("dbname"),
            severity: of("error_severity"),
            foreign: false,
            sqlstate: of("state_code"),
            message: of("message"),
            detail: of("detail"),
            statement: of("statement"),
        };
        log.entry(entry, out);
    }
}

/// Name of the column of `csvlog` for a member.
fn as_csv(member: &str) -> &str {
    match member {
        "timestamp" => "log_time",
        "pid" => "process_id",
        "user" => "user_name",
        "dbname" => "database_name",
        "state_code" => "sql_state_code",
        "statement" => "query",
        same => same,
    }
}

fn member(record: &Map<String, Value>, name: &str) -> String {
    record.get(name).and_then(Value::as_str).unwrap_or("").to_owned()
}
