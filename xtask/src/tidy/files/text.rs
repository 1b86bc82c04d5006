//! Rust text as the graph of files needs it: without comments, strings and tests, and its `use` declarations taken apart.

/// The text without comments and tests, strings and characters empty.
pub fn code(text: &str) -> String {
    without_tests(&without_comments(text))
}

/// Modules that a file declares for tests only.
pub fn test_modules(text: &str) -> Vec<String> {
    let code = without_comments(text);
    let declared = code.split("#[cfg(test)]").skip(1).filter_map(|after| {
        let after = after.trim_start().strip_prefix("pub ").unwrap_or(after.trim_start());
        let (name, _) = after.strip_prefix("mod ")?.split_once(';')?;
        name.chars().all(is_word).then(|| name.to_owned())
    });
    declared.collect()
}

/// Whether a name can contain the character.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_in_word = out.ends_with(is_word);
        let skipped = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            'r' | 'b' if !is_in_word => raw_string(rest),
            '"' => string(rest),
            '\'' => character(rest),
            _ => 0,
        };
        if skipped == 0 {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            rest = &rest[skipped..];
            out.push(' ');
        }
    }
    out
}

/// The length of the raw string that the text begins with; 0 of anything else.
fn raw_string(text: &str) -> usize {
    let after = text.strip_prefix('b').unwrap_or(text);
    let Some(after) = after.strip_prefix('r') else { return 0 };
    let content = after.trim_start_matches('#');
    let marks = &after[..after.len() - content.len()];
    let Some(content) = content.strip_prefix('"') else { return 0 };
    let end = format!("\"{marks}");
    text.len() - content.len() + content.find(&end).map_or(content.len(), |at| at + end.len())
}

/// The length of the string that the text begins with.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the character that the text begins with; 0 of a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text.get(3..).and_then(|after| after.find('\'')).map_or(0, |at| 3 + at + 1),
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

/// Without the items that only tests have.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        out.push_str(&rest[..at]);
        rest = &rest[at + MARK.len()..];
        rest = &rest[item_length(rest)..];
    }
    out + rest
}

/// The length of the item that the text begins with: to its semicolon, or to the brace that closes it.
fn item_length(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A name that a `use` brings in.
#[derive(Debug, PartialEq, Eq)]
pub struct Use {
    /// Its path, which ends with `*` for all names.
    pub path: Vec<String>,
    /// Its name here.
    pub name: String,
    /// Whether others may use it from here.
    pub is_public: bool,
}

/// The `use` declarations of code, and the code without them.
pub fn uses(code: &str) -> (Vec<Use>, String) {
    let (mut found, mut left, mut rest) = (Vec::new(), String::new(), code);
    while let Some(at) = rest.find("use ") {
        let before = &rest[..at];
        let Some(end) = rest[at..].find(';').filter(|_| !before.ends_with(is_word)) else {
            left.push_str(&rest[..at + 4]);
            rest = &rest[at + 4..];
            continue;
        };
        let declared = before.trim_end();
        let is_public = declared.ends_with("pub")
            || declared.ends_with(')')
                && declared.rfind("pub(").is_some_and(|open| !declared[open..].contains(['\n', ';', '}']));
        left.push_str(before);
        names(&[], &rest[at + 4..at + end], is_public, &mut found);
        rest = &rest[at + end + 1..];
    }
    (found, left + rest)
}

/// The names of a tree behind `prefix`.
fn names(prefix: &[String], tree: &str, is_public: bool, found: &mut Vec<Use>) {
    for branch in branches(tree) {
        let (path, inner) = branch.split_once('{').map_or((branch, None), |(path, inner)| (path, Some(inner)));
        let (path, alias) = path.split_once(" as ").map_or((path, None), |(path, alias)| (path, Some(alias.trim())));
        let mut whole = prefix.to_vec();
        whole.extend(path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned));
        if let Some(inner) = inner {
            names(&whole, inner.trim_end().strip_suffix('}').unwrap_or(inner), is_public, found);
            continue;
        }
        whole.pop_if(|last| last == "self" && !prefix.is_empty());
        let Some(name) = alias.map(str::to_owned).or_else(|| whole.last().cloned()) else { continue };
        found.push(Use { path: whole, name, is_public });
    }
}

/// The parts of a tree between its outer commas.
fn branches(tree: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0usize, 0);
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(tree[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(tree[begin..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Paths in code that begin with one of `first`: each as its parts.
pub fn paths(code: &str, first: &dyn Fn(&str) -> bool) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("::") {
        let start = rest[..at]
            .rfind(|c| !is_word(c))
            .map_or(0, |before| before + rest[before..].chars().next().map_or(1, char::len_utf8));
        let end = path_end(rest, at);
        // A path that is part of a longer one, as behind `>`, or a method's, is not of this crate.
        let is_begin = !rest[..start].ends_with([':', '.', '>']);
        if is_begin && first(&rest[start..at]) {
            found.push(rest[start..end].split("::").map(str::to_owned).collect());
        }
        rest = &rest[end.max(at + 2)..];
    }
    found
}

/// Where the path ends whose first `::` is at `at`.
fn path_end(text: &str, at: usize) -> usize {
    let mut end = at;
    while let Some(after) = text[end..].strip_prefix("::") {
        let word = after.find(|c| !is_word(c)).unwrap_or(after.len());
        if word == 0 {
            break;
        }
        end += 2 + word;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_of_names_is_taken_apart() {
        let (found, left) = uses("pub use a::B;\nuse crate::{c::{self, D as E}, f::*};\nfn because() {}");
        let found: Vec<_> = found.into_iter().map(|u| (u.path.join("::"), u.name, u.is_public)).collect();
        let expected =
            [("a::B", "B", true), ("crate::c", "c", false), ("crate::c::D", "E", false), ("crate::f::*", "*", false)];
        assert_eq!(found, expected.map(|(path, name, public)| (path.to_owned(), name.to_owned(), public)));
        assert_eq!(left.trim(), "pub \n\nfn because() {}");
    }

    #[test]
    fn comments_strings_and_characters_are_left_out_and_lifetimes_are_not() {
        let text = "a // b\n/* c */ d(\"e\\\"\", r#\"f\"g\"#, b\"h\", 'i', '\\'', '\"') -> &'j str";
        assert_eq!(code(text).split_whitespace().collect::<String>(), "ad(,,b,,,)->&'jstr");
        assert_eq!(test_modules("#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more { }"), ["tests"]);
    }

    #[test]
    fn paths_of_this_crate_are_found() {
        let code = "fn f() { crate::a::b(super::c::D::new(), std::e::f, <X>::super::g, x.self::h) }";
        let found = paths(code, &|first| ["crate", "super", "self"].contains(&first));
        assert_eq!(found, [vec!["crate", "a", "b"], vec!["super", "c", "D", "new"]]);
    }
}
