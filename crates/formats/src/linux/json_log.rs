//! Logs of programs that write one JSON object a line: pino, bunyan, zap, logrus, zerolog, slog, Python's JSON formatters, Docker's
//! `json-file`. Each line becomes an event of kind `log`; its other fields are left out, as those of the journal are.
//!
//! The numbers in such lines (a process, a port, a level) are no measurements, so such a log is never read as JSON lines by itself.

use fenxi_model::catalog::event;
use serde_json::{Map, Value};

use super::syslog::message;
use crate::{
    Family, Format, Head, Input, Out, Sure,
    generic::when::{Times, When},
    json::object,
};

/// Importer for structured JSON logs, one object per line.
pub static FORMAT: Format = Format {
    name: "json-log",
    summary: "structured JSON logs, one object per line: pino, bunyan, zap, logrus, zerolog, slog, Docker's json-file",
    family: Family::Linux,
    tables: &[&event::TABLE],
    example: "\
{\"level\":\"warn\",\"ts\":1795255200.25,\"logger\":\"store\",\"msg\":\"compaction took long\",\"ms\":812}
{\"level\":\"info\",\"ts\":1795255201.5,\"logger\":\"store\",\"msg\":\"compaction done\",\"ms\":12}
",
    sniff,
    read,
};

/// Names of the fields, the usual ones first.
const TIMES: &[&str] = &["time", "ts", "timestamp", "@timestamp", "asctime", "datetime", "date", "t"];
const MESSAGES: &[&str] = &["msg", "message", "log", "event", "@message"];
const LEVELS: &[&str] = &["level", "severity", "levelname", "lvl", "log.level", "@level", "stream"];
const PROGRAMS: &[&str] = &["logger", "name", "app", "service", "component", "module", "caller", "container"];
const HOSTS: &[&str] = &["hostname", "host"];

/// Lines that are looked at.
const LOOKED_AT: usize = 20;
/// Fewer do not show that it is a log.
const FEWEST: usize = 2;

fn sniff(head: &Head<'_>) -> Sure {
    let whole = head.text.rfind('\n').map_or("", |end| &head.text[..end]);
    let mut lines = 0;
    for line in whole.lines().map(str::trim).filter(|line| !line.is_empty()).take(LOOKED_AT) {
        let Some(entry) = line.starts_with('{').then(|| object(line)).flatten() else { return Sure::No };
        let is_entry = time(&entry).is_some() && text(&entry, MESSAGES).is_some() && first(&entry, LEVELS).is_some();
        // Lines between those of the log, of another library.
        if !is_entry {
            return Sure::No;
        }
        lines += 1;
    }
    Sure::Likely.when(lines >= FEWEST)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut times = Times::in_zone(out, None);
    input.each_line(|at, line| {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let Some(entry) = object(line) else {
            out.unknown(at, line, "no JSON object");
            return;
        };
        if !self::entry(&entry, &mut times, out) {
            out.unknown(at, line, "no time and no message");
        }
    });
}

/// Writes an entry of a log as an event; false where it has no time or no message.
pub(crate) fn entry(entry: &Map<String, Value>, times: &mut Times, out: &mut Out<'_>) -> bool {
    let t = time(entry).and_then(|(when, cell)| times.read(&when, &cell, out));
    let (Some(t), Some(said)) = (t, text(entry, MESSAGES)) else { return false };
    out.set_host(text(entry, HOSTS).unwrap_or(""));
    let pid = first(entry, &["pid"]).filter(|pid| pid.is_number()).map(Value::to_string).unwrap_or_default();
    let program = text(entry, PROGRAMS).unwrap_or("log");
    out.log(t, program, first(entry, LEVELS).and_then(priority), &message(&pid, said.trim_end()));
    true
}

/// The first of some fields that is there.
fn first<'e>(entry: &'e Map<String, Value>, names: &[&str]) -> Option<&'e Value> {
    names.iter().find_map(|name| entry.get(*name)).filter(|value| !value.is_null())
}

/// The first of some fields that is a text with something in it.
fn text<'e>(entry: &'e Map<String, Value>, names: &[&str]) -> Option<&'e str> {
    names.iter().find_map(|name| entry.get(*name)?.as_str()).filter(|text| !text.is_empty())
}

/// The moment of an entry, and how it is written.
fn time(entry: &Map<String, Value>) -> Option<(When, String)> {
    TIMES.iter().find_map(|name| {
        let cell = match entry.get(*name)? {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        // Whatever it is called, a number is since 1970.
        let when = When::detect("time", &cell)?;
        (!matches!(when, When::Elapsed(_))).then_some((when, cell))
    })
}

/// The priority in the words of syslog, of a word or of a number of pino and bunyan.
fn priority(level: &Value) -> Option<&'static str> {
    if let Some(number) = level.as_u64() {
        return match number {
            10 | 20 => Some("debug"),
            30 => Some("info"),
            40 => Some("warning"),
            50 => Some("err"),
            60 => Some("crit"),
            _ => None,
        };
    }
    match level.as_str()?.to_ascii_lowercase().as_str() {
        "trace" | "debug" => Some("debug"),
        "info" | "information" => Some("info"),
        "notice" => Some("notice"),
        "warn" | "warning" => Some("warning"),
        "err" | "error" => Some("err"),
        "fatal" | "critical" | "crit" | "panic" | "dpanic" => Some("crit"),
        "alert" => Some("alert"),
        "emerg" | "emergency" => Some("emerg"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read};

    #[test]
    fn lines_of_loggers_become_events_and_no_metrics() {
        let text = concat!(
            r#"{"level":30,"time":1795255200017,"pid":657,"hostname":"h1","msg":"hello"}"#,
            "\n",
            r#"{"level":50,"time":1795255201017,"pid":657,"hostname":"h1","msg":"broken","ms":12}"#,
            "\n"
        );
        assert_eq!(detect(&Head { text }).unwrap().name, "json-log");
        let read = read(&FORMAT, text.as_bytes());
        let expected = "\
# event
t	host	kind	subject	priority	message
2026-11-21T10:00:00.017000Z	h1	log	log	info	[657] hello
2026-11-21T10:00:01.017000Z	h1	log	log	err	[657] broken
";
        assert_eq!(read.text.trim_end(), expected.trim_end());
        assert_eq!(read.tally.notes, 0);
    }

    #[test]
    fn measurements_are_not_taken_for_a_log() {
        for text in [
            "{\"time\":\"2026-11-21T14:00:00Z\",\"queue\":3}\n{\"time\":\"2026-11-21T14:00:10Z\",\"queue\":4}\n",
            "{\"level\":3,\"time\":1795255200,\"value\":5}\n{\"level\":4,\"time\":1795255201,\"value\":6}\n",
            "{\"msg\":\"no time\",\"level\":\"info\"}\n{\"msg\":\"no time\",\"level\":\"info\"}\n",
        ] {
            assert_eq!(sniff(&Head { text }), Sure::No, "{text}");
        }
    }
}
