//! Which functions a statement may call: a list of those that may, and one of those that may not, with the reason.
//!
//! Together they are the engine's whole list, which a test holds: a new version of the engine adds no function
//! that nobody has looked at. A name that is on neither list may not be called.

use std::{collections::BTreeSet, sync::LazyLock};

/// Names, one a line.
const ALLOWED: &str = include_str!("functions/allowed.txt");
/// Names with the reason after `#`, one a line.
const REFUSED: &str = include_str!("functions/refused.txt");

static ALLOWED_NAMES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| names(ALLOWED));
static REFUSED_NAMES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| names(REFUSED));

/// The names of a list; what follows a blank and `#` is said about the name.
fn names(list: &'static str) -> BTreeSet<&'static str> {
    let name = |line: &'static str| line.split_once(" #").map_or(line, |(name, _)| name).trim();
    list.lines().map(name).filter(|name| !name.is_empty()).collect()
}

/// Whether a statement may call `name`.
pub(crate) fn is_allowed(name: &str) -> bool {
    ALLOWED_NAMES.contains(name.to_lowercase().as_str())
}

/// A refused function that a text might call, as far as characters tell: its name, then something that may end
/// with a parenthesis.
pub(crate) fn refused_in(sql: &str) -> Option<String> {
    let text = sql.to_lowercase();
    // Names can be written as U&"\0061…" too.
    if text.contains("u&\"") || text.contains("u&'") {
        return Some("u&".to_owned());
    }
    let part_of_name = |c: char| c == '_' || c == '$' || c.is_alphanumeric();
    let is_called = |name: &str| {
        text.match_indices(name).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            let after = after.trim_start_matches(|c: char| c == '"' || c.is_whitespace());
            !before.ends_with(part_of_name) && after.starts_with(['(', '/', '-'])
        })
    };
    REFUSED_NAMES.iter().find(|name| is_called(name)).map(|name| (*name).to_owned())
}

/// What the parser's tree of a text tells.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// How many statements there are.
    pub statements: usize,
    /// Names of the functions that they call.
    pub functions: BTreeSet<String>,
}

/// Reads the parser's tree, JSON of `{"error":…,"statements":[{…},…]}`.
///
/// It goes through the text once and keeps no tree, so that no depth is too much for it.
pub(crate) fn read(tree: &str) -> Parts {
    let mut parts = Parts::default();
    let bytes = tree.as_bytes();
    let (mut depth, mut i) = (0_usize, 0);
    // Whether the string before was the key of a function's name.
    let mut is_name = false;
    while i < bytes.len() {
        match bytes[i] {
            b'{' | b'[' => {
                if bytes[i] == b'{' && depth == 2 {
                    parts.statements += 1;
                }
                (depth, is_name) = (depth + 1, false);
            }
            b'}' | b']' => (depth, is_name) = (depth.saturating_sub(1), false),
            b'"' => {
                let end = end_of_string(bytes, i);
                let text = &tree[i + 1..end];
                let is_key = bytes.get(end + 1) == Some(&b':');
                if is_name && !is_key {
                    // A name with escapes is none of the engine's; it only must not become one.
                    parts.functions.insert(text.to_owned());
                }
                is_name = is_key && text == "function_name";
                i = end;
            }
            b':' => {}
            _ => is_name = false,
        }
        i += 1;
    }
    parts
}

/// The place of the quote that ends the string which begins at `begin`.
fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut i = begin + 1;
    while i < bytes.len() && bytes[i] != b'"' {
        i += if bytes[i] == b'\\' { 2 } else { 1 };
    }
    i.min(bytes.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::{ALLOWED_NAMES, Parts, REFUSED_NAMES, is_allowed, read, refused_in};
    use crate::database::Template;

    #[test]
    fn the_two_lists_are_the_whole_list_of_the_engine() {
        let template = Template::open().unwrap();
        let database = template.session().unwrap();
        let list = "SELECT string_agg(DISTINCT lower(function_name), chr(10)) FROM duckdb_functions()";
        let names = database.con().prepare(list).unwrap().rows().unwrap().text().unwrap();
        let names: Vec<String> = names.lines().map(str::to_owned).collect();
        assert!(names.len() > 800, "{}", names.len());
        let on_one = |name: &&String| ALLOWED_NAMES.contains(name.as_str()) == REFUSED_NAMES.contains(name.as_str());
        let not: Vec<&String> = names.iter().filter(on_one).collect();
        assert!(not.is_empty(), "on neither list, or on both: {not:?}");
    }

    #[test]
    fn statements_are_counted_and_functions_named() {
        let tree = r#"{"error":false,"statements":[{"node":{"a":[{"function_name":"avg","x":"function_name"}],
            "b":{"value":"\"function_name\":\"evil\""}}},{"node":{"function_name":"query"}}]}"#;
        let functions = ["avg", "query"].map(str::to_owned).into();
        assert_eq!(read(tree), Parts { statements: 2, functions });
    }

    #[test]
    fn what_writes_reads_files_or_takes_statements_may_not_be_called() {
        for name in ["enable_profiling", "QUERY", "read_text", "glob", "arrow_scan", "write_log", "nobody_knows"] {
            assert!(!is_allowed(name), "{name}");
        }
        for name in ["avg", "approx_percentile", "wmean", "CONCAT", "+", "row_number", "range", "list_transform"] {
            assert!(is_allowed(name), "{name}");
        }
    }

    #[test]
    fn a_refused_function_is_found_in_a_text_that_has_no_tree() {
        assert_eq!(refused_in("PIVOT x ON \"Query\" ('a')").as_deref(), Some("query"));
        assert_eq!(refused_in("PIVOT x ON glob/**/('a')").as_deref(), Some("glob"));
        assert_eq!(refused_in("PIVOT querystat ON query USING avg(x)"), None);
    }
}
