//! `fenxi complete`: what a command line can go on with. Shells ask it with each Tab, so that no engine is started and no
//! finding evaluated: all it knows is in the command line's own description, the store's index and its small files.

mod values;

use std::process::ExitCode;

use clap::{Arg, Args, Command};

use self::values::Values;
use crate::{options::Global, overview, print};

/// `fenxi complete`
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// The words are one line, as a shell has it
    #[arg(long)]
    pub line: bool,
    /// Words behind `fenxi`, the last of which is to be completed
    #[arg(last = true, value_name = "WORD", allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// A way to go on: the word, and what it is.
type Candidate = (String, String);

/// Prints a word and what it is on each line, with a tab between them.
pub fn run(global: &Global, args: &CompleteArgs) -> anyhow::Result<ExitCode> {
    let words = match (args.line, args.words.as_slice()) {
        (true, [line]) => words_of(line).into_iter().skip(1).collect(),
        (_, words) => words.to_vec(),
    };
    let text: String = candidates(&words, &mut Values::of(global, &words))
        .into_iter()
        .map(|(word, about)| format!("{word}\t{}\n", about.lines().next().unwrap_or_default().replace('\t', " ")))
        .collect();
    print::text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The words of a line as a shell would take it apart; the last one may be empty or open.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut quote, mut is_escaped) = (None, false);
    for c in line.chars() {
        match (c, quote) {
            _ if is_escaped => {
                word.push(c);
                is_escaped = false;
            }
            ('\\', None | Some('"')) => is_escaped = true,
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            (c, None) if c.is_whitespace() => {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()))
            }
            _ => word.push(c),
        }
    }
    words.push(word);
    words
}

/// Where a command line has come to.
struct Place<'a> {
    command: &'a Command,
    /// Words behind the command that are no options.
    n_words: usize,
    /// The option that the next word is the value of.
    open: Option<&'a Arg>,
    /// Whether words belong to another program from here on.
    is_foreign: bool,
}

impl<'a> Place<'a> {
    fn pass(&mut self, word: &str) {
        if self.open.take().is_some() || self.is_foreign {
            return;
        }
        if word == "--" {
            self.is_foreign = true;
        } else if let Some(option) = word.strip_prefix("--") {
            self.open =
                if option.contains('=') { None } else { long(self.command, option).filter(|arg| takes_value(arg)) };
        } else if word.len() > 1 && word.starts_with('-') {
            self.open = self.short(&word[1..]);
        } else if let Some(below) = self.command.find_subcommand(word).filter(|_| self.n_words == 0) {
            self.command = below;
        } else {
            self.n_words += 1;
        }
    }

    /// The option that the last of some letters is, if the next word is its value.
    fn short(&self, letters: &str) -> Option<&'a Arg> {
        let of = |letter: char| self.command.get_arguments().find(|arg| arg.get_short() == Some(letter));
        let valued = letters
            .char_indices()
            .find_map(|(at, letter)| Some((at, letter, of(letter).filter(|arg| takes_value(arg))?)));
        valued.filter(|(at, letter, _)| at + letter.len_utf8() == letters.len()).map(|(_, _, arg)| arg)
    }
}

fn long<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let is_called =
        |arg: &&Arg| arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name));
    command.get_arguments().find(is_called)
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values() && !arg.is_require_equals_set()
}

/// How the last of `words` can go on.
fn candidates(words: &[String], values: &mut Values) -> Vec<Candidate> {
    let (last, before) = words.split_last().map_or(("", [].as_slice()), |(last, before)| (last.as_str(), before));
    let root = overview::built();
    let mut place = Place { command: &root, n_words: 0, open: None, is_foreign: false };
    before.iter().for_each(|word| place.pass(word));
    if place.is_foreign {
        return Vec::new();
    }
    if let Some(arg) = place.open {
        return values.matching(arg, last);
    }
    if let Some((name, value)) = last.strip_prefix("--").and_then(|option| option.split_once('=')) {
        let found = long(place.command, name).map_or_else(Vec::new, |arg| values.matching(arg, value));
        return found.into_iter().map(|(word, about)| (format!("--{name}={word}"), about)).collect();
    }
    let about = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string).unwrap_or_default();
    if last.starts_with('-') {
        let shown = place.command.get_arguments().filter(|arg| !arg.is_hide_set());
        let named = shown.filter_map(|arg| Some((format!("--{}", arg.get_long()?), about(arg.get_help()))));
        return named.filter(|(name, _)| name.starts_with(last)).collect();
    }
    let mut found: Vec<Candidate> = Vec::new();
    if place.n_words == 0 {
        let shown =
            place.command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name().starts_with(last));
        found.extend(shown.map(|below| (below.get_name().to_owned(), about(below.get_about()))));
    }
    found.extend(positional(place.command, place.n_words).map_or_else(Vec::new, |arg| values.matching(arg, last)));
    found
}

/// The argument that the word at a place is: the last one takes all that follow, if it takes several.
fn positional(command: &Command, at: usize) -> Option<&Arg> {
    let all: Vec<&Arg> = command.get_positionals().filter(|arg| !arg.is_last_set()).collect();
    let takes_more = |arg: &&&Arg| arg.get_num_args().is_some_and(|n| n.max_values() > 1);
    all.get(at).or_else(|| all.last().filter(takes_more)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<String> {
        let words: Vec<String> = words_of(line).into_iter().skip(1).collect();
        candidates(&words, &mut Values::of_no_store()).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn commands_options_and_names_are_known() {
        assert_eq!(found("fenxi comp"), ["compare", "completions"]);
        assert_eq!(found("fenxi watch n"), ["nicstat"]);
        assert_eq!(found("fenxi --store x list tab"), ["tables"]);
        assert_eq!(found("fenxi compare --marg"), ["--margin"]);
        assert_eq!(found("fenxi explain -f mark"), ["markdown"]);
        assert_eq!(found("fenxi sql --format=pa"), ["--format=parquet"]);
        assert_eq!(found("fenxi list tables db_rep"), ["db_replication"]);
        assert_eq!(found("fenxi record -s cpu,+press"), ["cpu,+pressure"]);
        assert_eq!(found("fenxi import --as mpst"), ["mpstat", "mpstat-json"]);
        assert!(found("fenxi trend cpu.us").contains(&"cpu.usr".to_owned()));
        // No names of before, and nothing for another program's words.
        assert_eq!(found("fenxi tag"), Vec::<String>::new());
        assert_eq!(found("fenxi record -- comp"), Vec::<String>::new());
    }

    #[test]
    fn a_line_is_taken_apart_as_a_shell_does() {
        let words = |line: &str| words_of(line).join("|");
        assert_eq!(words("fenxi show "), "fenxi|show|");
        assert_eq!(words("fenxi  show 'a b' \"c"), "fenxi|show|a b|c");
        assert_eq!(words("fenxi a\\ b"), "fenxi|a b");
    }
}
