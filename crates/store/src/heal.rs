//! What is damaged in the store is read from a copy that has it whole, before any row of it is used, and written anew.

use std::io;

use fenxi_model::RunId;

use crate::{
    Manifest, Store, StoreError,
    checked::Expected,
    copies::{SELF, copy_hashed, manifest_in, name},
};

impl Store {
    /// Repairs a file that is not what it must be from a copy that has it; `why` is what is wrong with it. Gives that back where
    /// no copy has it, or the store cannot be written.
    pub(crate) fn heal(&self, expected: &Expected, why: StoreError) -> Result<(), StoreError> {
        let Some(file) = self.name_of(&expected.path).ok().filter(|_| !self.copies.is_empty()) else { return Err(why) };
        let is_mirrored = ["runs/", "compacted/"].iter().any(|folder| file.starts_with(folder));
        let is_damage = matches!(why, StoreError::Damaged { .. } | StoreError::Io { .. });
        if !is_mirrored || !is_damage {
            return Err(why);
        }
        let _turn = match self.mirroring() {
            Ok(turn) => turn,
            Err(error) => return Err(unhealed(&expected.path, &why, &[error.to_string()])),
        };
        // Another process may have repaired it while we waited: it counts once.
        if self.compare_anew(expected.clone()).is_ok() {
            return Ok(());
        }
        let mut status = self.load_status()?;
        let own = status.of(SELF);
        if matches!(why, StoreError::Io { .. }) { own.read += 1 } else { own.cksum += 1 }
        let mut wrong = Vec::new();
        for path in &*self.copies {
            // Whether it is older does not matter: the checksum decides.
            let found = self.open_copy(path, &status).map_err(io::Error::other);
            let opened = found.and_then(|(folder, _)| folder.file(file));
            let copied = opened.map_err(StoreError::from).and_then(|mut from| {
                self.replace_with(&expected.path, |to| copy_hashed(&mut from, to, &expected.blake3).map(drop))
            });
            match copied {
                Ok(()) => {
                    status.of(SELF).repaired += 1;
                    status.damaged.remove(file);
                    self.save_status(&status)?;
                    return Ok(());
                }
                Err(error) => {
                    let kind = if let StoreError::Io { source } = &error { Some(source.kind()) } else { None };
                    let copy = status.of(&name(path));
                    match kind {
                        Some(io::ErrorKind::InvalidData) => copy.cksum += 1,
                        // It was never brought there, or the copy is away.
                        Some(io::ErrorKind::NotFound | io::ErrorKind::Other) => {}
                        _ => copy.read += 1,
                    }
                    wrong.push(format!("{}: {error}", path.display()));
                }
            }
        }
        status.damaged.insert(file.to_owned(), why.to_string());
        // The damage is what is to be reported, and not that it cannot be counted.
        let _ = self.save_status(&status);
        Err(unhealed(&expected.path, &why, &wrong))
    }

    /// Repairs the manifest of a run from a copy that is as this store left it; None where none has it.
    pub(crate) fn heal_manifest(&self, id: &RunId) -> Option<Manifest> {
        let own = self.own_dir(id);
        if self.copies.is_empty() || !own.is_dir() {
            return None;
        }
        let (folder, file) = (format!("runs/run={id}"), format!("runs/run={id}/run.json"));
        let _turn = self.mirroring().ok()?;
        let mut status = self.load_status().ok()?;
        for path in &*self.copies {
            let Ok((copy, is_equal)) = self.open_copy(path, &status) else { continue };
            let is_behind = status.of(&name(path)).behind.iter().any(|behind| *behind == folder || *behind == file);
            if !is_equal || is_behind {
                continue;
            }
            let Some((manifest, text)) = manifest_in(&copy, id) else { continue };
            let written = self.replace_with(&own.join("run.json"), |to| io::Write::write_all(to, &text));
            if written.is_ok() {
                let own = status.of(SELF);
                (own.cksum, own.repaired) = (own.cksum + 1, own.repaired + 1);
                status.damaged.remove(&file);
                let _ = self.save_status(&status);
                return Some(manifest);
            }
        }
        status.of(SELF).cksum += 1;
        status.damaged.insert(file, "its manifest is damaged".to_owned());
        let _ = self.save_status(&status);
        None
    }

    /// The text of a small file that `fits`, from a copy that is as this store left it; it replaces the one here.
    pub(crate) fn heal_small(&self, file: &str, fits: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        if self.copies.is_empty() {
            return None;
        }
        let _turn = self.mirroring().ok()?;
        let mut status = self.load_status().ok()?;
        let found = self.copies.iter().find_map(|path| {
            let (copy, is_equal) = self.open_copy(path, &status).ok()?;
            let is_behind = status.copies.iter().any(|c| c.path == name(path) && c.behind.contains(file));
            let text = copy.read(file, crate::bounds::WHOLE).ok()?;
            (is_equal && !is_behind && fits(&text)).then_some(text)
        });
        let own = status.of(SELF);
        own.cksum += 1;
        if let Some(text) = &found {
            if self.replace_with(&self.path().join(file), |to| io::Write::write_all(to, text)).is_ok() {
                status.of(SELF).repaired += 1;
                status.damaged.remove(file);
            }
        } else {
            status.damaged.insert(file.to_owned(), "its digest does not fit".to_owned());
        }
        let _ = self.save_status(&status);
        found
    }
}

fn unhealed(path: &std::path::Path, why: &StoreError, copies: &[String]) -> StoreError {
    let what = match why {
        StoreError::Damaged { why, .. } => why.clone(),
        other => other.to_string(),
    };
    StoreError::damaged(path, format!("{what}; no copy could repair it ({})", copies.join("; ")))
}
