//! Resolves run selectors.

use fenxi_model::{RunId, Selector, near};

use crate::{Store, StoreError, Summary};

impl Store {
    /// The runs that `selector` names, newest first, at least one.
    ///
    /// A whole id or `@1` reads directory names and at most a few manifests, whatever the number
    /// of runs; names and tags are looked up in the index.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] with near names, [`StoreError::Ambiguous`] for a beginning of several ids.
    pub fn select(&self, selector: &str) -> Result<Vec<RunId>, StoreError> {
        let found = match selector.parse()? {
            Selector::Latest(n) => self.latest(n)?.into_iter().collect(),
            Selector::Tag { key, value } => {
                let wears = |s: &Summary| s.labels.tags.get(&key).or_else(|| s.params.get(&key)) == Some(&value);
                self.summaries()?.into_iter().filter(wears).map(|s| s.id).collect()
            }
            Selector::Name(name) => self.named(&name)?,
            Selector::Range { of, range } => vec![self.range(selector, of.as_deref(), &range)?],
        };
        if found.is_empty() { Err(self.unknown(selector)) } else { Ok(found) }
    }

    /// All runs that `selectors` name, in that order, each once.
    ///
    /// # Errors
    /// As [`Store::select`].
    pub fn select_all(&self, selectors: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Vec<RunId>, StoreError> {
        let mut ids: Vec<RunId> = Vec::new();
        for selector in selectors {
            for id in self.select(selector.as_ref())? {
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
        Ok(ids)
    }

    /// The one run that `selector` names.
    ///
    /// # Errors
    /// As [`Store::select`], and [`StoreError::Ambiguous`] when there are several.
    pub fn select_one(&self, selector: &str) -> Result<RunId, StoreError> {
        let mut found = self.select(selector)?;
        match found.pop() {
            Some(id) if found.is_empty() => Ok(id),
            Some(id) => {
                found.push(id);
                Err(StoreError::Ambiguous { selector: selector.to_owned(), candidates: found })
            }
            None => Err(self.unknown(selector)),
        }
    }

    /// The `n`-th latest run, from 1.
    fn latest(&self, n: usize) -> Result<Option<RunId>, StoreError> {
        let mut ids = self.ids()?;
        ids.sort_by(|a, b| b.cmp(a));
        let Some(id) = ids.get(n - 1) else { return Ok(None) };
        // Ids have the second; which of one second's runs began later is only in the manifests.
        let second = |id: &RunId| id.as_str().get(..15).map(str::to_owned);
        let same = |other: &&RunId| second(other) == second(id);
        let first = ids.iter().position(|other| same(&other)).unwrap_or(n - 1);
        let peers: Vec<&RunId> = ids[first..].iter().take_while(same).collect();
        if peers.len() == 1 {
            return Ok(Some(id.clone()));
        }
        let mut started = Vec::with_capacity(peers.len());
        for peer in peers {
            started.push((self.manifest(peer)?.start, peer));
        }
        started.sort_by(|a, b| b.cmp(a));
        Ok(started.get(n - 1 - first).map(|(_, id)| (*id).clone()))
    }

    /// A whole id, else all runs of that name, else the one run whose id begins so.
    fn named(&self, name: &str) -> Result<Vec<RunId>, StoreError> {
        if let Some(id) = RunId::parse(name)
            && self.run_dir(&id).is_dir()
        {
            return Ok(vec![id]);
        }
        let mut begins: Vec<RunId> = self.ids()?.into_iter().filter(|id| id.as_str().starts_with(name)).collect();
        // A name that looks like the beginning of an id and is one needs no index.
        let dated = name.len() >= 8 && name.bytes().take(8).all(|b| b.is_ascii_digit());
        if dated && begins.len() == 1 {
            return Ok(begins);
        }
        let called = self.summaries()?.into_iter().filter(|s| s.labels.name.as_deref() == Some(name));
        let called: Vec<RunId> = called.map(|s| s.id).collect();
        if !called.is_empty() {
            return Ok(called);
        }
        if begins.len() > 1 {
            begins.sort_by(|a, b| b.cmp(a));
            return Err(StoreError::Ambiguous { selector: name.to_owned(), candidates: begins });
        }
        Ok(begins)
    }

    /// The error for a selector that names nothing, with what looks like it.
    pub(crate) fn unknown(&self, selector: &str) -> StoreError {
        let mut known = Vec::new();
        // Without an index there is nothing to suggest; the error itself is what matters.
        for summary in self.summaries().unwrap_or_default() {
            let tags = summary.labels.tags.iter().chain(&summary.params).map(|(k, v)| format!("{k}={v}"));
            known.extend(summary.labels.name.iter().cloned().chain([summary.id.to_string()]).chain(tags));
        }
        let near = near(selector, known.iter().map(String::as_str));
        StoreError::Unknown { selector: selector.to_owned(), near }
    }
}
