//! The mark of the statements of pollers: servers list them among those of their users.

/// A comment in each statement of pollers, before its first word or behind it.
pub const MARK: &str = "/* fenxi-db */";

/// Returns true if a statement is one of a poller's.
pub fn is_marked(text: &str) -> bool {
    text.starts_with(MARK) || text.split_once(' ').is_some_and(|(_, rest)| rest.starts_with(MARK))
}
