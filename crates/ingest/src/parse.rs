//! Parses one input into rows; runs in whichever thread reads that input.

use fenxi_formats::{AnyFormat, Foreign, Input, Out};
use fenxi_store::IMPORT;

use crate::error::says;

/// Format or kind that an input was recognised as; neither of a text in an unknown format.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recognised {
    pub(crate) format: Option<AnyFormat>,
    /// Kind of file, where it is no text.
    pub(crate) foreign: Option<Foreign>,
}

impl Recognised {
    /// Whether it can be read without knowing other inputs, and more than once.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.foreign.is_some() || self.format.as_ref().is_some_and(AnyFormat::surveys)
    }

    /// The source that rows of the input name: its format, or the import itself.
    pub(crate) fn source(&self) -> &'static str {
        self.format.as_ref().map_or(IMPORT, AnyFormat::name)
    }

    /// Reads `input` as its format, or notes what it is; `unknown` is done with a text in an unknown format. `assumed_host` is
    /// the note on the host, for an input whose content names none.
    pub(crate) fn read_into(
        &self,
        input: &mut Input<'_>,
        out: &mut Out<'_>,
        assumed_host: Option<String>,
        unknown: impl FnOnce(&mut Input<'_>, &mut Out<'_>),
    ) {
        match (&self.format, &self.foreign) {
            (Some(format), _) => format.read(input, out),
            (None, Some(foreign)) => out.note(None, &format!("{}; it is kept as it is", says("it", foreign))),
            (None, None) => unknown(input, out),
        }
        if let Some(assumed) = assumed_host.filter(|_| self.format.is_some() && !out.names_host()) {
            out.assume(&assumed);
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
}
