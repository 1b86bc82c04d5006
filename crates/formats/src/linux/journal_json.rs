//! `journalctl -o json` and `-o json-pretty`: entries of the systemd journal with all their fields.
//!
//! Each becomes an event of kind `log`, as those of the text forms: the program is the subject, and the message begins
//! with the process. Other fields are left out.

use fenxi_model::{Micros, catalog::event};
use serde_json::{Map, Value};

use super::syslog::{PRIORITIES, message};
use crate::{Family, Format, Head, Input, Out, Sure, json::object};

/// Importer for journalctl -o json and -o json-pretty.
pub static FORMAT: Format = Format {
    name: "journal-json",
    summary: "journalctl -o json and -o json-pretty",
    family: Family::Linux,
    tables: &[&event::TABLE],
    example: "\
{\"__CURSOR\":\"s=f7;i=1;b=01;m=1;t=6;x=6\",\"__REALTIME_TIMESTAMP\":\"1795407901250000\",\"_HOSTNAME\":\"db1\",\"PRIORITY\":\"6\",\"SYSLOG_IDENTIFIER\":\"sshd\",\"_PID\":\"88\",\"MESSAGE\":\"Accepted publickey\"}
",
    sniff,
    read,
};

/// The longest entry that is read.
const MAX_ENTRY: usize = 1 << 20;

fn sniff(head: &Head<'_>) -> Sure {
    let begins = head.first().trim_start_matches('\u{1e}').starts_with('{');
    let own = head.text.contains("\"__REALTIME_TIMESTAMP\"") && head.text.contains("\"__CURSOR\"");
    Sure::Certain.when(begins && own)
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    // An entry that goes over several lines.
    let (mut open, mut begin) = (String::new(), 0);
    input.each_line(|at, line| {
        let bare = line.trim().trim_start_matches('\u{1e}');
        if bare.is_empty() {
            return;
        }
        if open.is_empty() && bare.starts_with('{') && bare.ends_with('}') {
            return entry(at, bare, out);
        }
        if open.is_empty() {
            begin = at;
        }
        if open.len() + bare.len() > MAX_ENTRY {
            out.unknown(begin, &open, "an entry that does not end");
            open.clear();
            return;
        }
        open.push_str(bare);
        open.push('\n');
        if bare == "}" {
            entry(begin, &std::mem::take(&mut open), out);
        }
    });
    if !open.is_empty() {
        out.unknown(begin, &open, "an entry that does not end");
    }
}

fn entry(at: u64, text: &str, out: &mut Out<'_>) {
    let Some(entry) = object(text) else {
        out.unknown(at, text, "no JSON object");
        return;
    };
    let micros = member(&entry, "__REALTIME_TIMESTAMP").parse::<i64>().ok();
    let Some(t) = micros else {
        out.unknown(at, text, "no `__REALTIME_TIMESTAMP`");
        return;
    };
    let priority = member(&entry, "PRIORITY").parse::<usize>().ok().and_then(|code| PRIORITIES.get(code).copied());
    let program =
        ["SYSLOG_IDENTIFIER", "_COMM"].map(|name| member(&entry, name)).into_iter().find(|name| !name.is_empty());
    let pid = ["_PID", "SYSLOG_PID"]
        .map(|name| member(&entry, name))
        .into_iter()
        .find(|pid| !pid.is_empty())
        .unwrap_or_default();
    out.set_host(&member(&entry, "_HOSTNAME"));
    let subject = program.unwrap_or_else(|| "journal".to_owned());
    out.log(Micros(t), &subject, priority, &message(&pid, &member(&entry, "MESSAGE")));
}

/// A field as text: one that is not UTF-8 is a list of bytes, one that comes several times a list of texts.
fn member(entry: &Map<String, Value>, name: &str) -> String {
    match entry.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(list)) => {
            let bytes: Option<Vec<u8>> = list.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect();
            match bytes {
                Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                None => list.first().and_then(Value::as_str).unwrap_or("").to_owned(),
            }
        }
        _ => String::new(),
    }
}
