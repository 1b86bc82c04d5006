//! User questions: `.sql` files in the store's directory `questions`, saved by fenxi or edited by hand.

use fenxi_store::Store;

use crate::{QueryError, Question};

/// Letters of a question's name.
const LONGEST: usize = 64;

/// Keeps `text` as the question `name`, in place of one that the store had under it.
///
/// # Errors
/// A name that is none, a text that is no question, a store that cannot be written.
pub fn keep_question(store: &Store, name: &str, text: &str) -> Result<(), QueryError> {
    is_name(name)?;
    Question::parse(name, text)?;
    // Whole or not at all: a half-written question would stop every report.
    Ok(store.keep_question(name, text)?)
}

/// Removes the store's own question `name`.
///
/// # Errors
/// When the store has none of this name, or cannot be written.
pub fn forget_question(store: &Store, name: &str) -> Result<(), QueryError> {
    is_name(name)?;
    match store.forget_question(name)? {
        true => Ok(()),
        false => Err(QueryError::UnknownQuestion { name: name.to_owned(), near: Vec::new() }),
    }
}

/// Whether a name is one: that of a file and nothing else, of lower-case letters, digits, `-` and `_`.
fn is_name(name: &str) -> Result<(), QueryError> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !begins || name.len() > LONGEST || !name.chars().all(fits) {
        let message = "a question's name begins with a letter or digit and has only a-z, 0-9, `-` and `_`, at most 64";
        let file = name.escape_debug().to_string();
        return Err(QueryError::Question { file, line: 0, message: message.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{forget_question, keep_question};
    use crate::{QueryError, question};
    use fenxi_store::Store;

    #[test]
    fn a_question_is_kept_replaced_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path().join("store")).unwrap();
        keep_question(&store, "mine", "-- title: Mine\nSELECT 1 AS a").unwrap();
        keep_question(&store, "mine", "-- title: Still mine\nSELECT 2 AS a").unwrap();
        assert_eq!(question(&store, "mine").unwrap().title, "Still mine");
        assert!(question(&store, "mine").unwrap().own);
        assert!(matches!(keep_question(&store, "mine", "SELECT 1"), Err(QueryError::Question { line: 1, .. })));
        forget_question(&store, "mine").unwrap();
        assert!(matches!(question(&store, "mine"), Err(QueryError::UnknownQuestion { .. })));
        assert!(matches!(forget_question(&store, "mine"), Err(QueryError::UnknownQuestion { .. })));
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_or_create(dir.path().join("store")).unwrap();
        for name in ["", "../a", "a/b", ".hidden", "-", "A", "a.sql", "a\0", &"x".repeat(65)] {
            assert!(keep_question(&store, name, "-- title: T\nSELECT 1").is_err(), "{name:?}");
            assert!(forget_question(&store, name).is_err(), "{name:?}");
        }
    }
}
