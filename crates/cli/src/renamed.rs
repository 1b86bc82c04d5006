//! Calls of before: commands and options that have other names now, and work as they did for a release.
//!
//! Most of them are aliases that clap knows; here are the few that would mean something else, and the hint at what the call is
//! now. The hint is for people: scripts see nothing, as nothing is printed where standard error is no terminal.

use std::{
    ffi::{OsStr, OsString},
    io::IsTerminal,
};

use crate::{options::FORMS, print};

/// Commands with their names of before and of now.
pub const COMMANDS: [(&str, &str); 18] = [
    ("mpstat", "watch mpstat"),
    ("nicstat", "watch nicstat"),
    ("pstime", "watch pstime"),
    ("util", "watch util"),
    ("memstat", "watch memstat"),
    ("dbstat", "watch db"),
    ("tag", "label tag"),
    ("window", "label window"),
    ("mark", "label mark"),
    ("formats", "list formats"),
    ("tables", "list tables"),
    ("representative", "average --representative"),
    ("rm", "store rm"),
    ("verify", "store verify"),
    ("compact", "store compact"),
    ("push", "store push"),
    ("pull", "store pull"),
    ("export", "store export"),
];

/// Options of commands with their names of before and of now; those of `*` are of all.
const OPTIONS: [(&str, &str, &str); 14] = [
    ("record", "--whom", "--only"),
    ("load", "--whom", "--only"),
    ("explain", "--markdown", "-f markdown"),
    ("compare", "--markdown", "-f markdown"),
    ("findings", "--markdown", "-f markdown"),
    ("study", "--markdown", "-f markdown"),
    ("*", "--csv", "--format csv"),
    ("findings", "--all", "fenxi list findings"),
    ("ask", "--playbooks", "fenxi list playbooks"),
    ("ask", "--boards", "fenxi list boards"),
    ("ask", "-p", "--param"),
    ("runs", "-n", "--limit"),
    ("study", "-n", "--dry-run"),
    ("rm", "-f", "--force"),
];

/// Current name of a renamed command.
pub fn name(command: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|(before, _)| *before == command).map(|(_, now)| *now)
}

/// Makes a command line of before one of now, where it would mean something else; gives a hint if it is one of before.
pub fn change(words: &mut Vec<OsString>) -> Option<String> {
    let at = command(words)?;
    let called = words[at].to_str()?.to_owned();
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let changed = match called.as_str() {
        "sql" | "ask" => form_of_answer(words, at + 1..end),
        "compare" => force(words, at + 1..end),
        "import" => format_of_inputs(words, at + 1..end),
        _ => None,
    };
    changed.or_else(|| command_hint(&called, words.get(at + 1))).or_else(|| option_hint(&called, &words[at + 1..end]))
}

/// Prints the hint on a terminal.
pub fn tell(hint: &str) {
    if std::io::stderr().is_terminal() {
        print::message(hint);
    }
}

/// The index of the command, behind the options of all commands.
fn command(words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    loop {
        let word = words.get(at)?;
        match word.to_str() {
            Some("--store") => at += 2,
            Some(option) if option.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
}

fn hint(before: &str, now: &str) -> String {
    format!("hint: `{before}` is now `{now}`")
}

fn command_hint(called: &str, next: Option<&OsString>) -> Option<String> {
    let below = next.and_then(|word| word.to_str()).filter(|word| called == "db" && ["top", "check"].contains(word));
    Some(match below {
        Some(word) => hint(&format!("fenxi db {word}"), &format!("fenxi watch db-{word}")),
        None => hint(&format!("fenxi {called}"), &format!("fenxi {}", name(called)?)),
    })
}

fn option_hint(called: &str, words: &[OsString]) -> Option<String> {
    let is_given = |option: &str| words.iter().any(|word| word == option || begins(word, &format!("{option}=")));
    let found = OPTIONS.iter().find(|(of, before, _)| (*of == "*" || *of == called) && is_given(before));
    found.map(|(_, before, now)| hint(before, now))
}

fn begins(word: &OsStr, text: &str) -> bool {
    word.as_encoded_bytes().starts_with(text.as_bytes())
}

/// The value of an option: behind it, in the word itself or as the next one; and how many words both are.
fn value(words: &[OsString], at: usize, options: &[&str]) -> Option<(String, usize)> {
    let word = words[at].to_str()?;
    if options.contains(&word) {
        return Some((words.get(at + 1)?.to_str()?.to_owned(), 2));
    }
    options.iter().find_map(|option| {
        let rest = word.strip_prefix(option)?;
        let rest = rest.strip_prefix('=').or(Some(rest).filter(|_| !option.starts_with("--")))?;
        Some((rest.to_owned(), 1))
    })
}

/// `sql -o csv` is `sql -f csv`: a file of that name is `./csv`.
fn form_of_answer(words: &mut Vec<OsString>, range: std::ops::Range<usize>) -> Option<String> {
    let (at, form, n) = range.into_iter().find_map(|at| {
        let (form, n) = value(words, at, &["-o"])?;
        FORMS.contains(&form.as_str()).then_some((at, form, n))
    })?;
    words.splice(at..at + n, ["-f".into(), form.clone().into()]);
    Some(hint(&format!("-o {form}"), &format!("-f {form}")))
}

/// Forms that no `-f` meant before there was another option of its name.
const FORMS_SINCE: [&str; 2] = ["junit", "openmetrics"];

/// `compare -f` is `compare --force`, unless a form follows.
fn force(words: &mut [OsString], range: std::ops::Range<usize>) -> Option<String> {
    let is_form = |at: usize| {
        let next = words.get(at + 1).and_then(|word| word.to_str());
        next.is_some_and(|word| FORMS.iter().chain(&FORMS_SINCE).any(|form| *form == word))
    };
    let at = range.into_iter().find(|at| words[*at] == "-f" && !is_form(*at))?;
    words[at] = "--force".into();
    Some(hint("-f", "--force"))
}

/// `import -f mpstat` is `import --as mpstat`, unless it is a form of output.
fn format_of_inputs(words: &mut Vec<OsString>, range: std::ops::Range<usize>) -> Option<String> {
    let (at, name, n) = range.into_iter().find_map(|at| {
        let (name, n) = value(words, at, &["-f", "--format"])?;
        (!["table", "json"].contains(&name.as_str())).then_some((at, name, n))
    })?;
    let before = words[at].to_string_lossy().split('=').next().unwrap_or_default().to_owned();
    words.splice(at..at + n, ["--as".into(), name.clone().into()]);
    Some(hint(&format!("{before} {name}"), &format!("--as {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(line: &str) -> (String, Option<String>) {
        let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let hint = change(&mut words);
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        (words.join(" "), hint)
    }

    #[test]
    fn what_would_mean_something_else_is_changed() {
        for (before, now) in [
            ("fenxi sql -o csv x", "fenxi sql -f csv x"),
            ("fenxi --store s sql x -ojson", "fenxi --store s sql x -f json"),
            ("fenxi ask -o=markdown x", "fenxi ask -f markdown x"),
            ("fenxi compare a b -f", "fenxi compare a b --force"),
            ("fenxi compare -f a b", "fenxi compare --force a b"),
            ("fenxi import -f mpstat x", "fenxi import --as mpstat x"),
            ("fenxi -q import x --format=csv", "fenxi -q import x --as csv"),
        ] {
            let (words, hint) = changed(before);
            assert_eq!(words, now);
            assert!(hint.is_some_and(|hint| hint.starts_with("hint: `-")), "{before}");
        }
    }

    #[test]
    fn calls_of_now_are_left_alone() {
        for line in [
            "fenxi sql -f csv x",
            "fenxi sql -o ./csv x",
            "fenxi sql -o answer.csv x",
            "fenxi compare a b -f markdown",
            "fenxi import -f json x",
            "fenxi import --format table x",
            "fenxi record -- x sql -o csv",
            "fenxi record -- compare -f --whom",
            "fenxi watch mpstat",
            "fenxi --help",
            "fenxi",
        ] {
            assert_eq!(changed(line), (line.to_owned(), None));
        }
    }

    #[test]
    fn names_of_before_are_hinted_at() {
        let hint = |line: &str| changed(line).1.unwrap_or_default();
        assert_eq!(hint("fenxi tag @1 a=b"), "hint: `fenxi tag` is now `fenxi label tag`");
        assert_eq!(hint("fenxi db top"), "hint: `fenxi db top` is now `fenxi watch db-top`");
        assert_eq!(hint("fenxi record --when x --then y --whom=session"), "hint: `--whom` is now `--only`");
        assert_eq!(hint("fenxi findings --all"), "hint: `--all` is now `fenxi list findings`");
        assert_eq!(hint("fenxi compare a b --all"), "");
    }
}
