//! User questions of a store: files in `questions/`, saved by fenxi or edited by hand.
//!
//! Of what fenxi keeps there is a second copy with a checksum, `questions/.kept/<name>.json`. A text that differs from
//! it in one bit is damaged; one that differs more was edited by hand, which is no damage.

use std::{io, path::PathBuf};

use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::{Store, StoreError, digest, locks::Keeps};

#[derive(Debug, Serialize, Deserialize)]
struct SavedText {
    text: String,
}

/// How a text is related to what fenxi kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is what was kept.
    Kept,
    /// It was kept, and then edited.
    Edited,
    /// It was put there by hand.
    ByHand,
}

impl Store {
    fn questions_dir(&self) -> PathBuf {
        self.path().join("questions")
    }

    fn kept_path(&self, name: &str) -> PathBuf {
        self.questions_dir().join(".kept").join(format!("{name}.json"))
    }

    /// Keeps `text` as the question `name` (a plain file name), in place of one that was there.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn keep_question(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let _turn = self.changing()?;
        self.make_dir("questions/.kept")?;
        let path = self.questions_dir().join(format!("{name}.sql"));
        // While it is replaced there is no second copy: a kill in between leaves a text as if put there by hand.
        remove(&self.kept_path(name))?;
        self.replace(&path, text.as_bytes(), Keeps::OverPowerLoss)?;
        self.put_json(&self.kept_path(name), &SavedText { text: text.to_owned() })
    }

    /// Removes the question `name`; whether there was one.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn forget_question(&self, name: &str) -> Result<bool, StoreError> {
        let path = self.questions_dir().join(format!("{name}.sql"));
        if !path.exists() {
            return Ok(false);
        }
        let _turn = self.changing()?;
        let names = [format!("questions/{name}.sql"), format!("questions/.kept/{name}.json")];
        self.mirrored(&names, || {
            remove(&self.kept_path(name))?;
            remove(&path)
        })
    }

    /// The text of the question `name`.
    ///
    /// # Errors
    /// When there is none, it is no text, or it is damaged.
    pub fn question_text(&self, name: &str) -> Result<String, StoreError> {
        self.question_of(name).map(|(text, _)| text)
    }

    pub(crate) fn question_of(&self, name: &str) -> Result<(String, Origin), StoreError> {
        let path = self.questions_dir().join(format!("{name}.sql"));
        let bytes = self.read_own(&path)?;
        // A copy that is damaged vouches for nothing; `fenxi store verify` names it.
        let copy = self.kept_path(name);
        let kept = self.read_own(&copy).ok().and_then(|text| digest::value_of::<SavedText>(&text, &copy, &[]).ok());
        let origin = match &kept {
            None => Origin::ByHand,
            Some((kept, _)) if kept.text.as_bytes() == bytes => Origin::Kept,
            Some((kept, _)) if is_one_bit(kept.text.as_bytes(), &bytes) => {
                let why = format!(
                    "it differs in one bit from what was kept: keep it again, or remove {} if it was edited by hand",
                    copy.display()
                );
                return Err(StoreError::damaged(path, why));
            }
            Some(_) => Origin::Edited,
        };
        let text = String::from_utf8(bytes).map_err(|e| StoreError::damaged(path, format!("it is no text: {e}")))?;
        Ok((text, origin))
    }
}

fn is_one_bit(a: &[u8], b: &[u8]) -> bool {
    let bits = || a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones());
    a.len() == b.len() && bits().filter(|n| *n > 0).take(2).sum::<u32>() == 1
}

/// Removes a file; whether there was one.
fn remove(path: &std::path::Path) -> Result<bool, StoreError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e.into()),
    }
}
