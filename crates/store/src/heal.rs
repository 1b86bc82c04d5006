//! Damaged files of the store are read from a copy that has them whole, before any row is used, and written anew.

use std::{
    io::{self, Write},
    path::Path,
};

use fenxi_model::RunId;

use crate::{
    CopiesStatus, Manifest, Store, StoreError,
    bounds::WHOLE,
    checked::Expected,
    copies::{Harm, SELF, copy_hashed, name},
    folder::read_regular,
    runs::parse_manifest,
};

impl Store {
    /// Repairs a file that is not what it must be from a copy that has it; `why` is what is wrong with it. Gives that back where
    /// no copy has it, or the store cannot be written.
    pub(crate) fn heal(&self, expected: &Expected, why: StoreError) -> Result<(), StoreError> {
        let Some(file) = self.name_of(&expected.path).ok().filter(|_| !self.copies.is_empty()) else { return Err(why) };
        let is_mirrored = ["runs/", "compacted/"].iter().any(|folder| file.starts_with(folder));
        let harm = match why {
            StoreError::Damaged { .. } => Harm::Wrong,
            StoreError::Io { .. } => Harm::Unreadable,
            _ => return Err(why),
        };
        if !is_mirrored {
            return Err(why);
        }
        let cannot = |error: StoreError| unhealed(&expected.path, &why, &[error.to_string()]);
        let _turn = self.mirroring().map_err(cannot)?;
        // Another process may have repaired it while we waited: it counts once.
        if self.compare_anew(expected.clone()).is_ok() {
            return Ok(());
        }
        let mut status = self.load_status()?;
        let result = self.heal_from_copies(expected, &mut status);
        match &result {
            Ok(()) => status.repaired(SELF, file, harm),
            Err(_) => status.lost(file, harm, why.to_string()),
        }
        // That it cannot be counted changes nothing of what is there.
        let _ = self.save_status(&status);
        result.map_err(|wrong| unhealed(&expected.path, &why, &wrong))
    }

    /// Replaces a file by the first copy that fits; the error has what is wrong with each.
    fn heal_from_copies(&self, expected: &Expected, status: &mut CopiesStatus) -> Result<(), Vec<String>> {
        let mut wrong = Vec::new();
        let Ok(file) = self.name_of(&expected.path) else { return Err(wrong) };
        for path in &*self.copies {
            // Whether it is older does not matter: the checksum decides.
            let folder = match self.open_copy(path, status) {
                Ok((folder, _)) => folder,
                Err(why) => {
                    wrong.push(format!("{}: {why}", path.display()));
                    continue;
                }
            };
            let compared =
                folder.file(file).and_then(|mut from| copy_hashed(&mut from, &mut io::sink(), &expected.blake3));
            if let Err(error) = compared {
                match error.kind() {
                    // A scrub counts it, if it should be there.
                    io::ErrorKind::NotFound => {}
                    io::ErrorKind::InvalidData if status.damaged.contains_key(file) => {}
                    io::ErrorKind::InvalidData => status.count(&name(path), Harm::Wrong),
                    _ => status.count(&name(path), Harm::Unreadable),
                }
                wrong.push(format!("{}: {error}", path.display()));
                continue;
            }
            let copied = folder.file(file).map_err(StoreError::from).and_then(|mut from| {
                self.replace_with(&expected.path, |to| copy_hashed(&mut from, to, &expected.blake3).map(drop))
            });
            match copied {
                Ok(()) => return Ok(()),
                Err(error) => {
                    status.of(SELF).write += 1;
                    wrong.push(format!("{} has it whole, and it cannot be written here: {error}", path.display()));
                }
            }
        }
        Err(wrong)
    }

    /// Repairs the manifest of a run from a copy that is as this store left it; None where none has it.
    pub(crate) fn heal_manifest(&self, id: &RunId) -> Option<Manifest> {
        let parsed = |text: &[u8]| parse_manifest(id, self.own_dir(id).join("run.json"), text).ok();
        // A run without its folder is one that was removed, until a scrub finds that a copy has it.
        if !self.own_dir(id).is_dir() {
            return None;
        }
        let text = self.heal_small(&format!("runs/run={id}/run.json"), |text| parsed(text).is_some())?;
        parsed(&text)
    }

    /// The text of a small file that `fits`, from a copy that is as this store left it; it replaces the one here.
    pub(crate) fn heal_small(&self, file: &str, fits: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        if self.copies.is_empty() {
            return None;
        }
        let _turn = self.mirroring().ok()?;
        let path = self.path().join(file);
        if let Some(text) = read_regular(&path, WHOLE).ok().filter(|text| fits(text)) {
            return Some(text);
        }
        let mut status = self.load_status().ok()?;
        let found = self.sides(&status).into_iter().skip(1).find_map(|side| {
            let text = side.folder.read(file, WHOLE).ok()?;
            (side.vouches_for(file) && fits(&text)).then_some(text)
        });
        match &found {
            Some(text) if self.replace_with(&path, |to| to.write_all(text)).is_ok() => {
                status.repaired(SELF, file, Harm::Wrong)
            }
            _ => status.lost(file, Harm::Wrong, "its digest does not fit".to_owned()),
        }
        let _ = self.save_status(&status);
        found
    }
}

fn unhealed(path: &Path, why: &StoreError, copies: &[String]) -> StoreError {
    let what = match why {
        StoreError::Damaged { why, .. } => why.clone(),
        other => other.to_string(),
    };
    StoreError::damaged(path, format!("{what}; no copy could repair it ({})", copies.join("; ")))
}
