//! Outputs of several hosts or of several commands in one text, or with a time in front of each line: what is left is read in the
//! format that recognises it.

mod prompt;
pub(crate) mod segment;

formats! {
    by_host,
    stamped,
    session,
    quoted,
}

/// Whether a format leaves a text or its parts to other formats. A part is not split again.
pub(crate) fn is_of_parts(format: &crate::Format) -> bool {
    FORMATS.iter().any(|known| known.name == format.name)
}
