//! A sync, which carries out a plan, and its undoing from the trash.

use std::{
    collections::BTreeSet, ffi::OsStr, fs::TryLockError, io::ErrorKind, os::unix::ffi::OsStrExt, process::Command,
};

use fs_err::{self as fs, File};

use crate::{
    Check, Entry, Error, Item, Line, Pair, Plan, STATE, Side, TRASH,
    history::{History, Record, States, write},
    judge::has_above,
    rsync::{ENVIRONMENT, FORMAT, Report, Rsync},
};

impl Pair {
    /// Takes the lock against other syncs of this home; it ends with the process, however that ends.
    ///
    /// # Errors
    /// Another sync has it.
    pub fn lock(&self) -> Result<File, Error> {
        let path = self.home.join(STATE).join("lock");
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
        match file.file().try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(Error::Failed(format!("another sync holds {}", path.display()))),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// Carries out a plan; `each` gets each path that is deleted or sent. `trash` is the name of a new folder in the trash: its time,
    /// in digits.
    ///
    /// # Errors
    /// rsync failed: what was done stays, and the next check knows of it.
    pub fn sync(&self, check: &Check, plan: &Plan, trash: &str, each: &mut dyn FnMut(&Line)) -> Result<Report, Error> {
        let mut report = Report { is_whole: true, ..Report::default() };
        let mut record = Record::new(Some(trash.to_owned()), check.from.other(), States::new());
        let History { list, plans } = &check.history;
        if plan.is_empty() {
            // Checksums are to be in the list, where they were asked for.
            if list.is_some() && plans.is_empty() && !check.with_hash {
                return Ok(report);
            }
            // It has no trash: the sync before it can still be undone.
            record.trash = None;
            record = check.history.last().cloned().unwrap_or(record);
        } else {
            let items = plan.transfers.iter().chain(&plan.deletions);
            record.states = items.map(|item| (item.path.clone(), item.sender.clone())).collect();
            write(&[&plans[..], &[record.clone()]].concat(), &self.home.join(self.state("plan")))?;
        }
        // Deletions come last: nothing is lost as long as the files are there.
        let sent = plan.transfers.iter().map(|item| item.path.as_slice()).collect();
        for (paths, missing) in [(sent, "--ignore-missing-args"), (deleted(plan), "--delete-missing-args")] {
            if paths.is_empty() {
                continue;
            }
            let rsync = self.writing(check.with_hash)?.args(["-i", "--force", "--backup", missing]);
            let rsync = rsync.args([format!("--backup-dir={TRASH}/{trash}")]);
            // A file that is only begun when the connection is lost is no one's work.
            let rsync = rsync.args([format!("--temp-dir={}", self.state("tmp"))]).only(paths);
            let rsync = rsync.args([self.location(check.from, ""), self.location(check.from.other(), "")]);
            let ended = rsync.run(&mut |line| {
                if !line.path.is_empty() && check.scope.has(&line.path) {
                    each(&line);
                }
            })?;
            report.totals.extend(ended.totals);
            report.messages.extend(ended.messages);
            report.is_whole &= ended.is_whole;
        }
        self.keep(check, record)?;
        Ok(report)
    }

    /// An rsync that may write into either home: a shell makes room there and takes old trash away, so that it needs no other
    /// connection.
    fn writing(&self, with_hash: bool) -> Result<Rsync, Error> {
        let temporary = self.state("tmp");
        let script = format!(
            "rm -rf {temporary}; mkdir -p {temporary}; find {TRASH} -mindepth 1 -maxdepth 1 -name \"[0-9]*\" \
             -mtime +{} -exec rm -rf {{}} + 2>/dev/null",
            self.trash_days
        );
        Command::new("sh").args(["-c", &script]).current_dir(&self.home).status()?;
        Ok(Rsync::new(self, with_hash).args([format!("--rsync-path=sh -c '{script}; exec rsync \"$@\"' rsync")]))
    }

    /// Writes the list of what both homes have in common now, as another check finds it. The other home has it first: until it is
    /// here as well, the plan is.
    fn keep(&self, before: &Check, record: Record) -> Result<(), Error> {
        let after = Check::of("-ii", self, before)?;
        let (list, new) = (self.state("list"), self.home.join(self.state("new")));
        write(&[Record { states: self.common(&after), ..record }], &new)?;
        let there = self.location(self.here.other(), &list);
        let ended = self.writing(false)?.args([new.clone().into(), there]).run(&mut |_| ())?;
        if !ended.is_whole {
            return Err(Error::Failed(ended.messages.join("\n")));
        }
        fs::rename(new, self.home.join(list))?;
        Ok(fs::remove_file(self.home.join(self.state("plan"))).or_else(|error| match error.kind() {
            ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?)
    }

    /// States that were common before and are not known to have changed, and those that are the same now.
    fn common(&self, after: &Check) -> States {
        let differs: BTreeSet<&[u8]> = after.items.iter().map(|item| item.path.as_slice()).collect();
        let before = after.history.list.as_ref().map(|list| &list.states);
        // A path that a check does not see is excluded by a rule, unreadable, or deleted on both sides.
        let is_there = |path: &[u8]| fs::symlink_metadata(self.home.join(OsStr::from_bytes(path))).is_ok();
        let stays =
            |path: &[u8]| !after.scope.has(path) || differs.contains(path) || !after.report.is_whole || is_there(path);
        let old = before.into_iter().flatten().filter(|(path, _)| !after.same.contains_key(*path) && stays(path));
        let same = after.same.iter().map(|(path, entry)| {
            let hash = || before?.get(path)?.as_ref().filter(|old| old.same(entry))?.hash.clone();
            let hash = entry.hash.clone().or_else(hash);
            (path.clone(), Some(Entry { hash, ..entry.clone() }))
        });
        old.map(|(path, state)| (path.clone(), state.clone())).chain(same).collect()
    }
}

/// Paths that are deleted, but for what goes with a directory that a file replaces.
fn deleted(plan: &Plan) -> Vec<&[u8]> {
    let is_file = |item: &&Item| item.sender.as_ref().is_some_and(|entry| !entry.is_dir());
    let files: BTreeSet<&[u8]> = plan.transfers.iter().filter(is_file).map(|item| item.path.as_slice()).collect();
    let paths = plan.deletions.iter().map(|item| item.path.as_slice());
    paths.filter(|path| !has_above(&files, path)).collect()
}

/// The undoing of the last sync: what it replaced and deleted is restored from the trash. What it made stays, as the other home has it.
#[derive(Clone, Debug)]
pub struct Undo {
    /// The side whose files it restores.
    pub receiver: Side,
    /// The folder that they are restored from, below the home.
    pub from: String,
}

impl Undo {
    /// That of the last sync of these homes, if there was one.
    ///
    /// # Errors
    /// A list cannot be read.
    pub fn last(pair: &Pair) -> Result<Option<Undo>, Error> {
        let of = |last: &Record| Some((last.receiver(), format!("{TRASH}/{}", last.trash.as_ref()?)));
        let last = History::read(pair, false, 1)?.last().and_then(of);
        Ok(last.map(|(receiver, from)| Undo { receiver, from }))
    }

    /// Lists what would be restored.
    ///
    /// # Errors
    /// There is no such trash any more.
    pub fn list(&self, pair: &Pair) -> Result<Vec<Vec<u8>>, Error> {
        let mut all = Vec::new();
        let ended = self.rsync(pair, "-n").run(&mut |line| all.push(line))?;
        if !ended.is_whole && all.is_empty() {
            let (from, on) = (&self.from, pair.name(self.receiver));
            return Err(Error::Failed(format!("cannot restore from ~/{from} on {on}: {}", ended.messages.join("\n"))));
        }
        all.retain(|line| !line.is_dir && line.entry.is_some());
        Ok(all.into_iter().map(|line| line.path).collect())
    }

    /// Restores it, and moves what is in its place to the folder `trash` in the trash.
    ///
    /// # Errors
    /// rsync failed.
    pub fn apply(&self, pair: &Pair, trash: &str) -> Result<Report, Error> {
        self.rsync(pair, &format!("--backup --backup-dir={TRASH}/{trash}")).run(&mut |_| ())
    }

    /// rsync from a folder to another of the same host, which a shell there starts.
    fn rsync(&self, pair: &Pair, options: &str) -> Rsync {
        let environment = ENVIRONMENT.map(|(name, value)| format!("{name}={value}")).join(" ");
        // Times of folders are those of now: the trash made them.
        let script = format!(
            "env {environment} rsync -i --recursive --links --perms --times --omit-dir-times --force --info=nonreg0 \
             '{FORMAT}' {options} {}/ ./",
            self.from
        );
        if self.receiver == pair.here {
            return Rsync::by(Command::new("sh"), pair).args(["-c", &script]);
        }
        let mut words = pair.rsh.split_whitespace();
        let shell = Rsync::by(Command::new(words.next().unwrap_or("ssh")), pair).args(words);
        let user = pair.user.as_ref().map(|user| ["-l", user]);
        shell.args(user.into_iter().flatten()).args([pair.name(self.receiver), &script])
    }
}
