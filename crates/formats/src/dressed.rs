//! Outputs as people keep them: with ends of lines of Windows, a byte order mark, inside `script`, below a prompt or a warning of
//! `sudo`. Each fixture gives the rows that it gives by itself.

use super::{
    Format, Head, Input, detect,
    fixtures::{fixtures, read},
};

/// A text that holds another one.
type Dress = fn(&str) -> String;

/// Changes without effect.
const SAME: &[(&str, Dress)] =
    &[("CR LF", |text| text.replace('\n', "\r\n")), ("a byte order mark", |text| format!("\u{feff}{text}"))];

/// Additions of lines that hold no figures.
const AROUND: &[(&str, Dress)] = &[
    ("script", |text| {
        format!(
            "Script started on 2026-11-25 07:10:35+00:00 [TERM=\"xterm\" TTY=\"/dev/pts/0\" COLUMNS=\"80\" LINES=\"24\"]\n{text}\nScript done on 2026-11-25 07:10:37+00:00 [COMMAND_EXIT_CODE=\"0\"]\n"
        )
        .replace('\n', "\r\n")
    }),
    ("a warning of sudo", |text| format!("sudo: unable to resolve host db1: Name or service not known\n{text}")),
    ("a prompt behind it", |text| format!("{text}[root@db1 ~]# \n")),
];

/// The rows without notes, whose lines and numbers may be others.
fn rows(format: &'static Format, text: &str) -> String {
    let read = read(format, text.as_bytes());
    let mut kept = String::new();
    for table in read.text.split_inclusive('\n').fold(Vec::<String>::new(), |mut tables, line| {
        if line.starts_with("# ") {
            tables.push(String::new());
        }
        if let Some(last) = tables.last_mut() {
            last.push_str(line);
        }
        tables
    }) {
        if !table.starts_with("# note") {
            kept.push_str(&table);
        }
    }
    kept
}

fn found(text: &str) -> Option<&'static str> {
    detect(&Head { text: &Input::new(text.as_bytes()).head() }).map(|format| format.name)
}

fn differences(dresses: &[(&str, Dress)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (format, path, bytes) in fixtures() {
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        let is_document = text.trim_start().starts_with(['{', '[', '<']);
        if is_document || text.contains('\r') {
            continue;
        }
        let name = format!("{}/{}", format.name, path.file_name().unwrap_or_default().to_string_lossy());
        let plain = rows(format, text);
        for (what, dress) in dresses {
            let dressed = dress(text);
            if found(&dressed) != Some(format.name) {
                wrong.push(format!("{name} with {what}: recognised as {:?}", found(&dressed)));
            } else if rows(format, &dressed) != plain {
                wrong.push(format!("{name} with {what}: other rows"));
            }
        }
    }
    wrong
}

#[test]
fn how_a_text_was_kept_changes_no_row() {
    let wrong = differences(SAME);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn lines_around_an_output_change_no_row() {
    let wrong = differences(AROUND);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
