//! How an input is read, by whichever thread reads it.

use fenxi_formats::{AnyFormat, Foreign, Hints, Input, Out};
use fenxi_store::IMPORT;

use crate::{Plan, Source, error::says};

/// What is known about `source` besides its content; `default_host` is that of all inputs together.
pub(crate) fn hints(plan: &Plan, source: &Source, default_host: &str) -> Hints {
    Hints {
        file: source.name.clone(),
        host: plan.host.clone(),
        default_host: source.host.clone().unwrap_or_else(|| default_host.to_owned()),
        start: plan.start,
        interval_s: plan.interval_s,
        zone: plan.zone.clone(),
        modified: source.modified.or(Some(plan.now)),
        overrun_s: None,
        label: plan.label(source),
        mapping: plan.mapping.clone(),
    }
}

/// The source that rows of an input name: its format, or the import itself.
pub(crate) fn source_of(format: Option<&AnyFormat>) -> &'static str {
    format.map_or(IMPORT, AnyFormat::name)
}

/// Reads `input` as its format, or says what it is; `unknown` is done with a text that nobody knows. `guessed` is what is
/// said of the host where the content names none.
pub(crate) fn read_into(
    input: &mut Input<'_>,
    out: &mut Out<'_>,
    (format, foreign): (Option<&AnyFormat>, Option<&Foreign>),
    guessed: Option<String>,
    unknown: impl FnOnce(&mut Input<'_>, &mut Out<'_>),
) {
    match (format, foreign) {
        (Some(format), _) => format.read(input, out),
        (None, Some(foreign)) => out.note(None, &format!("{}; it is kept as it is", says("it", foreign))),
        (None, None) => unknown(input, out),
    }
    if let Some(guessed) = guessed.filter(|_| format.is_some() && !out.names_host()) {
        out.assume(&guessed);
    }
    if input.around() > 0 {
        out.assume(&format!(
            "{} lines of script, sudo or a shell are around the output and no part of it",
            input.around()
        ));
    }
    if input.long_lines() > 0 {
        out.note(None, &format!("{} lines are longer than 1 MiB and were cut", input.long_lines()));
    }
    if let Some(error) = input.error() {
        out.note(None, &format!("reading ended early: {error}"));
    }
}
