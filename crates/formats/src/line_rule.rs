//! The rule of a description that reads a line.

/// A rule that reads a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineRule {
    /// A pattern of `[[line]]`, from 1.
    Pattern(usize),
    /// The header of a `[[table]]`, from 1.
    Header(usize),
    /// A key of `[pairs]`.
    Pair(String),
    /// A pattern of `ignore`, from 1.
    Ignored(usize),
}
