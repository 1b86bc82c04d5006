//! A server's message about a statement, in our words: what is wrong, where, and what may have been meant.

use fenxi_query::Place;

/// Lines of a message that has no end that is known.
const LINES: usize = 5;

/// A server's message, understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServerMessage {
    pub message: String,
    pub place: Option<Place>,
    pub hint: Option<String>,
}

impl ServerMessage {
    /// Understands the server's message; `own` is the statement when its places are those of a person's text.
    pub(crate) fn of(raw: &str, own: Option<&str>) -> ServerMessage {
        let raw = raw.trim();
        let (message, rest) = match raw.split_once("SQLSTATE: ") {
            // Places and plans follow.
            Some((message, rest)) => (message.lines().next().unwrap_or(message).trim_end().to_owned(), rest),
            None => (raw.lines().take(LINES).collect::<Vec<_>>().join("\n"), ""),
        };
        ServerMessage { place: own.and_then(|sql| place(rest, sql)), hint: hint(&message), message }
    }
}

/// Whether the server found no file where it looked for the store. To others than Spark such a file has no columns.
pub(crate) fn is_no_file(raw: &str, is_spark: bool) -> bool {
    if !is_spark && raw.contains("is missing from the schema") && raw.contains("Identifier(\"t\")") {
        return true;
    }
    ["PATH_NOT_FOUND", "No such file", "FILE_NOT_EXIST", "FileNotFoundException", "No files found"]
        .iter()
        .any(|word| raw.contains(word))
}

/// A place as messages end with it: `; line 2 pos 7;`, `(line 2, pos 7)` or `(line 2, position 8)`.
fn place(rest: &str, sql: &str) -> Option<Place> {
    let after = &rest[rest.find("line ")? + 5..];
    let (line, after) = number(after)?;
    let after = after.trim_start_matches([',', ' ']);
    let (column, is_first_0) = match after.strip_prefix("position ") {
        Some(after) => (number(after)?.0, false),
        None => (number(after.strip_prefix("pos ")?)?.0, true),
    };
    // The statement follows a line of ours.
    let line = line.checked_sub(1)?;
    let text = sql.lines().nth(line.checked_sub(1)?)?;
    Some(Place { line, column: column + usize::from(is_first_0), text: text.to_owned() })
}

fn number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Tables with a similar name.
fn hint(message: &str) -> Option<String> {
    let name = message.strip_prefix("[TABLE_OR_VIEW_NOT_FOUND]")?.split('`').nth(1)?;
    let known = fenxi_model::TABLES.iter().map(|table| table.name).chain(["runs", "stats", "cost", "time_part"]);
    let near: Vec<String> = fenxi_model::near(name, known).iter().map(|name| format!("`{name}`")).collect();
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{ServerMessage, is_no_file};
    use fenxi_query::QueryError;

    fn shown(raw: &str, sql: &str) -> String {
        let ServerMessage { message, place, hint } = ServerMessage::of(raw, Some(sql));
        QueryError::Sql { message, place, hint }.to_string()
    }

    #[test]
    fn a_message_of_spark_is_cut_and_its_place_is_the_persons() {
        let raw = "\n[PARSE_SYNTAX_ERROR] Syntax error at or near '1': extra input '1'. SQLSTATE: 42601 (line 2, pos 6)\n\n\
                   == SQL ==\nSELECT * FROM (\nSELEC 1\n------^^^\n)\n";
        let want = "[PARSE_SYNTAX_ERROR] Syntax error at or near '1': extra input '1'.\n  line 1 | SELEC 1\n                 ^";
        assert_eq!(shown(raw, "SELEC 1"), want);
        let raw = "[TABLE_OR_VIEW_NOT_FOUND] The table or view `proces` cannot be found. Verify the spelling.\nSearch path: [`a`].\n\
                   To tolerate the error. SQLSTATE: 42P01; line 2 pos 14;\n'Project [*]\n+- 'UnresolvedRelation [proces], [], false\n";
        let text = shown(raw, "SELECT * FROM proces");
        assert!(text.starts_with("[TABLE_OR_VIEW_NOT_FOUND] The table or view `proces` cannot be found."), "{text}");
        assert!(
            text.contains("line 1 | SELECT * FROM proces\n")
                && text.ends_with("did you mean `process`, `gpu_process`?"),
            "{text}"
        );
        assert!(!text.contains("Project") && !text.contains("Search path"), "{text}");
    }

    #[test]
    fn a_place_that_cannot_be_is_none() {
        let end = "[PARSE_SYNTAX_ERROR] Syntax error at or near end of input. SQLSTATE: 42601 (line 9, pos 1)";
        assert_eq!(ServerMessage::of(end, Some("SELECT (")).place, None);
        assert_eq!(ServerMessage::of("Job aborted\n1\n2\n3\n4\n5\n6", Some("x")).message, "Job aborted\n1\n2\n3\n4");
        assert!(is_no_file("[PATH_NOT_FOUND] Path does not exist: file:/a. SQLSTATE: 42K03", true));
    }
}
