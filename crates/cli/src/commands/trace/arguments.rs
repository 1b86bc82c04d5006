//! Arguments of observers, made of their declarations.

use std::ffi::OsString;

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
    parser::ValueSource,
    value_parser,
};
use fenxi_ebpf::{Meanwhile, OBSERVERS, Observer, observer};
use fenxi_source::{Opt, Options, Takes, Value};

use super::{ObserverArgs, TraceCommand, check::CheckArgs};
use crate::options::LiveArgs;

const CHECK: &str = "check";
const COMMAND: &str = "command";

impl Subcommand for TraceCommand {
    fn augment_subcommands(command: Command) -> Command {
        let check = CheckArgs::augment_args(Command::new(CHECK));
        let check = check.long_about(None).about("Check which observers and attach types work on this kernel");
        let mut observers: Vec<_> = OBSERVERS.to_vec();
        observers.sort_by_key(|observer| observer.name());
        command.subcommand(check).subcommands(observers.into_iter().map(described))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        name == CHECK || observer(name).is_some()
    }
}

impl FromArgMatches for TraceCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<TraceCommand, Error> {
        match matches.subcommand() {
            Some((CHECK, matches)) => Ok(TraceCommand::Check(Box::new(CheckArgs::from_arg_matches(matches)?))),
            Some((name, matches)) => {
                let observer = observer(name).ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?;
                Ok(TraceCommand::Observe(Box::new(ObserverArgs::read(observer, matches)?)))
            }
            None => Err(Error::new(ErrorKind::MissingSubcommand)),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The command of an observer.
fn described(observer: &'static Observer) -> Command {
    let mut command = Command::new(observer.name()).after_help(observer.help);
    if let Some(name) = observer.formerly {
        command = command.alias(name);
    }
    // Its own line of help after what comes with the shared options, which would replace it.
    command = LiveArgs::augment_args(command.args(observer.options().iter().map(argument))).about(observer.about);
    command = command.long_about(None);
    let help = match observer.command {
        Meanwhile::ObservesIt => "Command to run and observe with its children; tracing ends when it exits",
        Meanwhile::UntilItEnds => "Command to run meanwhile; tracing ends when it exits",
        Meanwhile::None => return command,
    };
    command.arg(
        Arg::new(COMMAND)
            .value_name("COMMAND")
            .help(help)
            .value_parser(value_parser!(OsString))
            .action(ArgAction::Append)
            .num_args(1..)
            .last(true)
            .conflicts_with("run"),
    )
}

fn argument(option: &'static Opt) -> Arg {
    let mut argument = Arg::new(option.name).long(option.name).help(option.about).conflicts_with_all(option.not_with);
    if let Some(short) = option.short {
        argument = argument.short(short);
    }
    let parsed = |text: &str| option.takes.parse(text);
    match option.takes {
        Takes::Nothing => argument.action(ArgAction::SetTrue),
        Takes::Number { what, default, .. } => {
            argument.value_name(what).default_value(default.to_string()).value_parser(parsed)
        }
        Takes::Decimal { what, default } => {
            argument.value_name(what).default_value(default.to_string()).value_parser(parsed)
        }
        Takes::Time => argument.value_name("TIME").value_parser(parsed),
        Takes::Word(words) => {
            let values = words.iter().map(|(word, about)| PossibleValue::new(*word).help(*about));
            let default = words.first().map(|(word, _)| *word);
            let name = option.name.to_uppercase();
            argument
                .value_name(name)
                .default_value(default)
                .value_parser(PossibleValuesParser::new(values).map(Value::Text))
        }
        Takes::Processes => argument.value_name("PID").action(ArgAction::Append).value_parser(parsed),
        Takes::Text { what, .. } => argument.value_name(what).value_parser(parsed),
    }
}

impl ObserverArgs {
    fn read(observer: &'static Observer, matches: &ArgMatches) -> Result<ObserverArgs, Error> {
        let mut options = Options::new(observer.options());
        for option in observer.options() {
            if matches.value_source(option.name) != Some(ValueSource::CommandLine) {
                continue;
            }
            match option.takes {
                Takes::Nothing => options.put(option, Value::Given),
                _ => {
                    let values = matches.get_many::<Value>(option.name).into_iter().flatten();
                    values.for_each(|value| options.put(option, value.clone()));
                }
            }
        }
        let takes_command = observer.command != Meanwhile::None;
        let words = takes_command.then(|| matches.get_many::<OsString>(COMMAND)).flatten();
        let command: Vec<OsString> = words.into_iter().flatten().cloned().collect();
        options.command_only = observer.command == Meanwhile::ObservesIt && !command.is_empty();
        Ok(ObserverArgs { observer, options, live: LiveArgs::from_arg_matches(matches)?, command })
    }
}
