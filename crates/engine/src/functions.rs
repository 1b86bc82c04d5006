//! Which functions a statement may call: a list of those that may, and one of those that may not, with the reason.
//!
//! Together they are the engine's whole list, which a test holds: a new version of the engine adds no function
//! that was not reviewed. A name that is on neither list may not be called.

use std::{collections::BTreeSet, sync::LazyLock};

/// Names, one a line.
const ALLOWED: &str = include_str!("functions/allowed.txt");
/// Names with the reason after `#`, one a line.
const REFUSED: &str = include_str!("functions/refused.txt");

/// The engine's own views as `schema.name`, one a line; those that may not be read have the reason after `#`.
const VIEWS: &str = include_str!("functions/views.txt");

/// Schemas and names of the engine's views that reveal paths, or other statements.
static REFUSED_VIEWS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let refused = VIEWS.lines().filter_map(|line| line.split_once(" #"));
    refused.filter_map(|(name, _)| name.trim().split_once('.')).collect()
});

static ALLOWED_NAMES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| names(ALLOWED));
static REFUSED_NAMES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| names(REFUSED));

/// The names of a list; what follows a blank and `#` is a remark on the name.
fn names(list: &'static str) -> BTreeSet<&'static str> {
    let name = |line: &'static str| line.split_once(" #").map_or(line, |(name, _)| name).trim();
    list.lines().map(name).filter(|name| !name.is_empty()).collect()
}

/// Whether a statement may call `name`.
pub(crate) fn is_allowed(name: &str) -> bool {
    ALLOWED_NAMES.contains(name.to_lowercase().as_str())
}

/// Whether a statement may read the table or view `name` of `schema`, which is empty where the statement names none. Views of the
/// schema `main` and of `pg_catalog` are found without it.
pub(crate) fn may_read(schema: &str, name: &str) -> bool {
    let is = |a: &str, b: &str| a.eq_ignore_ascii_case(b);
    let refused = |(of, view): &&(&str, &str)| is(view, name) && (is(schema, of) || *of != "information_schema");
    !REFUSED_VIEWS.iter().any(|view| refused(&view))
}

/// A refused function that a text might call, by its characters: its name, then something that may end
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
    let is_read = |name: &str| {
        let part_of_name = |c: &char| part_of_name(*c);
        let mut places = text.match_indices(name);
        places.any(|(at, _)| {
            let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
            before.as_ref().is_none_or(|c| !part_of_name(c)) && after.as_ref().is_none_or(|c| !part_of_name(c))
        })
    };
    // Views of that schema have names that others may have too, and are found only with it.
    let views = REFUSED_VIEWS.iter().map(|(of, name)| if *of == "information_schema" { *of } else { *name });
    let called = REFUSED_NAMES.iter().copied().find(|name| is_called(name));
    called.or_else(|| views.into_iter().find(|name| is_read(name))).map(str::to_owned)
}

/// Facts read from the parser's tree of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Number of statements.
    pub statements: usize,
    /// Names of the functions that they call.
    pub functions: BTreeSet<String>,
    /// Schemas and names of the tables that they read; the schema is empty where they name none.
    pub tables: BTreeSet<(String, String)>,
}

/// Keys of the tree whose values are of interest.
#[derive(Default)]
enum Key {
    Function,
    Schema,
    Table,
    #[default]
    Other,
}

impl Key {
    fn from_text(text: &str) -> Key {
        match text {
            "function_name" => Key::Function,
            "schema_name" => Key::Schema,
            "table_name" => Key::Table,
            _ => Key::Other,
        }
    }
}

/// Reads the parser's tree, JSON of `{"error":…,"statements":[{…},…]}`.
///
/// It goes through the text once and keeps no tree, so that no depth is too much for it.
pub(crate) fn read(tree: &str) -> Parts {
    let mut parts = Parts::default();
    let bytes = tree.as_bytes();
    let (mut depth, mut i) = (0_usize, 0);
    // The key before, if its value is of interest, and the last schema that was named.
    let (mut key, mut schema) = (Key::Other, "");
    while i < bytes.len() {
        match bytes[i] {
            b'{' | b'[' => {
                if bytes[i] == b'{' && depth == 2 {
                    parts.statements += 1;
                }
                (depth, key) = (depth + 1, Key::Other);
            }
            b'}' | b']' => (depth, key) = (depth.saturating_sub(1), Key::Other),
            b'"' => {
                let end = end_of_string(bytes, i);
                let text = &tree[i + 1..end];
                if bytes.get(end + 1) == Some(&b':') {
                    key = Key::from_text(text);
                } else {
                    // A name with escapes is none of the engine's; it only must not become one.
                    match std::mem::take(&mut key) {
                        Key::Function => drop(parts.functions.insert(text.to_owned())),
                        Key::Schema => schema = text,
                        Key::Table => drop(parts.tables.insert((schema.to_owned(), text.to_owned()))),
                        Key::Other => {}
                    }
                }
                i = end;
            }
            b':' => {}
            _ => key = Key::Other,
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
    use super::{ALLOWED_NAMES, Parts, REFUSED_NAMES, VIEWS, is_allowed, may_read, read, refused_in};
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
        assert_eq!(read(tree), Parts { statements: 2, functions, ..Parts::default() });
    }

    #[test]
    fn tables_are_named_with_their_schemas() {
        let tree = r#"{"error":false,"statements":[{"node":{"a":{"schema_name":"pg_catalog","table_name":"pg_settings"},
            "b":{"schema_name":"","table_name":"cpu"}}}]}"#;
        let tables = [("", "cpu"), ("pg_catalog", "pg_settings")].map(|(s, n)| (s.to_owned(), n.to_owned())).into();
        assert_eq!(read(tree), Parts { statements: 1, tables, ..Parts::default() });
    }

    #[test]
    fn views_of_the_engine_are_all_on_the_list_and_those_that_tell_paths_may_not_be_read() {
        let template = Template::open().unwrap();
        let database = template.session().unwrap();
        let sql =
            "SELECT string_agg(schema_name || '.' || view_name, ' ' ORDER BY ALL) FROM duckdb_views() WHERE internal";
        let views = database.con().prepare(sql).unwrap().rows().unwrap().text().unwrap();
        let mut listed: Vec<&str> =
            VIEWS.lines().map(|line| line.split_once(" #").map_or(line, |(name, _)| name)).collect();
        listed.sort_unstable();
        let mut views: Vec<&str> = views.split(' ').collect();
        views.sort_unstable();
        assert_eq!(views, listed);
        let refused = [
            ("pg_catalog", "pg_settings"),
            ("", "SQLITE_master"),
            ("main", "duckdb_views"),
            ("information_schema", "views"),
        ];
        let read = [("", "views"), ("information_schema", "tables"), ("", "cpu"), ("boot", "disk")];
        assert!(refused.iter().all(|(schema, name)| !may_read(schema, name)));
        assert!(read.iter().all(|(schema, name)| may_read(schema, name)));
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
        assert_eq!(refused_in("PIVOT pg_settings ON name").as_deref(), Some("pg_settings"));
        assert_eq!(refused_in("PIVOT my_pg_settings ON name"), None);
        let all_views =
            ["information_schema.views", "Information_Schema /**/ . \"views\"", "x.\"information_schema\".views"];
        for views in all_views {
            assert_eq!(refused_in(&format!("PIVOT {views} ON a")).as_deref(), Some("information_schema"), "{views}");
        }
        assert_eq!(refused_in("PIVOT views ON information_schemas"), None);
        assert_eq!(refused_in("PIVOT querystat ON query USING avg(x)"), None);
    }
}
