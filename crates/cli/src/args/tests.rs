//! Properties of the command line as a whole.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, Command, CommandFactory};

use super::*;
use crate::{
    overview,
    renamed::{self, COMMANDS},
};

/// Commands that have the letters of another tool, or of many, and whose: what people know by heart stays.
const MIRRORS: [(&str, &str); 10] = [
    ("fenxi watch mpstat", "mpstat of sysstat and of Solaris: -P, -I, -A, -u, -a; -f is its file"),
    ("fenxi watch nicstat", "nicstat 1.95: -i, -s, -S, -z, -n, -p, -l, -x, -t, -u, -a, -M, -U, -v"),
    ("fenxi watch pstime", "ps and top: -p, -u, -s; prstat: -c, -n"),
    ("fenxi tamp", "gzip, zstd and xz: -d, -t, -l, -c, -k, -f, -r, -1 to -9"),
    ("fenxi tamp bench", "as `tamp` itself: -p is its threads"),
    ("fenxi trace procsystime", "procsystime of the DTrace toolkit: -c counts"),
    ("fenxi trace plockstat", "plockstat of Solaris"),
    ("fenxi trace profile", "perf record: -F is a frequency"),
    ("fenxi trace querystat", "querystat of the DTrace toolkit: -e"),
    ("fenxi trace iopattern", "iopattern of the DTrace toolkit"),
];

/// Options in sight by their names, as people learn them once for all commands; and commands.
const MOST_OPTIONS: usize = 219;
const MOST_COMMANDS: usize = 32;
/// Options of one command that stand in no group of its help.
const MOST_UNGROUPED: usize = 10;

/// Each command in sight that does something, with its name in full.
fn commands() -> Vec<(String, Command)> {
    fn below(name: &str, command: &Command, all: &mut Vec<(String, Command)>) {
        let shown: Vec<&Command> =
            command.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help").collect();
        if shown.is_empty() || !command.is_arg_required_else_help_set() && !command.is_subcommand_required_set() {
            all.push((name.to_owned(), command.clone()));
        }
        shown.into_iter().for_each(|c| below(&format!("{name} {}", c.get_name()), c, all));
    }
    let mut all = Vec::new();
    below("fenxi", &overview::built(), &mut all);
    all.retain(|(name, _)| name != "fenxi");
    all
}

/// Options of a command in sight, without those of all commands.
fn options(command: &Command) -> Vec<&Arg> {
    let general = ["help", "version", "store", "quiet"];
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_positional());
    shown.filter(|arg| !general.contains(&arg.get_id().as_str())).collect()
}

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

/// Lines of the text behind the options that terminals of 80 columns would break, of all commands below.
fn too_long(command: &Command) -> Vec<String> {
    let texts = [command.get_after_help(), command.get_after_long_help(), command.get_before_help()];
    let texts: Vec<_> = texts.into_iter().flatten().map(ToString::to_string).collect();
    let own = texts.iter().flat_map(|text| text.lines()).filter(|line| line.chars().count() > 80);
    let own = own.map(|line| format!("{}: {line}", command.get_name()));
    own.chain(command.get_subcommands().flat_map(too_long)).collect()
}

#[test]
fn notes_and_examples_fit_a_terminal() {
    assert_eq!(too_long(&Cli::command()), Vec::<String>::new());
}

#[test]
fn a_letter_means_one_thing_in_all_commands() {
    let all = commands();
    for (name, _) in MIRRORS {
        assert!(all.iter().any(|(known, _)| known == name), "no command {name}");
    }
    let mut meanings: BTreeMap<char, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for (name, command) in all.iter().filter(|(name, _)| MIRRORS.iter().all(|(mirror, _)| name != mirror)) {
        for arg in options(command) {
            if let (Some(letter), Some(long)) = (arg.get_short(), arg.get_long()) {
                meanings.entry(letter).or_default().entry(long).or_default().push(name);
            }
        }
    }
    meanings.retain(|_, options| options.len() > 1);
    assert!(meanings.is_empty(), "{meanings:#?}");
    // The letters of the form and of the file, wherever there are such.
    for (name, command) in all.iter().filter(|(name, _)| MIRRORS.iter().all(|(mirror, _)| name != mirror)) {
        for arg in options(command) {
            let expected = match arg.get_long() {
                Some("format") if !name.starts_with("fenxi watch") && !name.starts_with("fenxi trace") => Some('f'),
                Some("output") => Some('o'),
                _ => continue,
            };
            assert_eq!(arg.get_short(), expected, "{name} --{}", arg.get_long().unwrap_or_default());
        }
    }
}

#[test]
fn there_are_not_too_many_commands_and_options() {
    let first = overview::built();
    let n_commands = first.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != "help").count();
    assert!(n_commands <= MOST_COMMANDS, "{n_commands} commands");
    let commands = commands();
    let names = commands.iter().flat_map(|(_, command)| options(command)).filter_map(Arg::get_long);
    let n_options = names.collect::<BTreeSet<_>>().len();
    assert!(n_options <= MOST_OPTIONS, "{n_options} options");
    for (name, command) in &commands {
        let ungrouped = options(command).iter().filter(|arg| arg.get_help_heading().is_none()).count();
        assert!(ungrouped <= MOST_UNGROUPED, "{name} has {ungrouped} options in no group");
    }
}

#[test]
fn each_command_has_an_example() {
    let lacks = |(name, command): &(String, Command)| {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        (!text.contains("Example")).then(|| name.clone())
    };
    let without: Vec<String> = commands().iter().filter_map(lacks).collect();
    assert_eq!(without, Vec::<String>::new());
}

#[test]
fn names_of_before_are_hidden_and_those_of_now_are_not() {
    let root = overview::built();
    for (before, now) in COMMANDS {
        assert!(root.find_subcommand(before).is_some_and(Command::is_hide_set), "{before}");
        assert_eq!(renamed::name(before), Some(now));
        let mut words = now.split(' ').filter(|word| !word.starts_with('-'));
        let found = words.try_fold(&root, |command, word| command.find_subcommand(word));
        assert!(found.is_some_and(|command| !command.is_hide_set()), "{now}");
    }
}
