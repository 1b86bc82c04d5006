//! Two snapshots that answer as the server did: the first one until it is turned, then the second.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use fenxi_wire::{ServerError, client::ClientError};
use rustc_hash::FxHashMap;

use super::{Answer, Head, OwnAmount, Snapshot};
use crate::{mark::MARK, own_amounts::Own};

/// How often each question was asked, by database and question.
type Asked = FxHashMap<(String, String), usize>;

/// Two snapshots.
#[derive(Debug)]
pub struct Played {
    snapshots: [Snapshot; 2],
    is_second: AtomicBool,
    begun: Instant,
    /// Seconds between the two.
    seconds: f64,
    asked: Mutex<Asked>,
    /// Snapshots between the two, with the amounts that they added to counters.
    between: Vec<Head>,
}

impl Played {
    /// These two, and what else was asked between them.
    pub fn new(first: Snapshot, second: Snapshot, seconds: f64, between: Vec<Head>) -> Arc<Played> {
        Arc::new(Played {
            snapshots: [first, second],
            is_second: AtomicBool::new(false),
            begun: Instant::now(),
            seconds,
            asked: Mutex::default(),
            between,
        })
    }

    /// The first one.
    pub fn first(&self) -> &Head {
        &self.snapshots[0].head
    }

    /// Lets the second one answer from now on.
    pub fn turn(&self) {
        self.is_second.store(true, Ordering::Relaxed);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The moment of the snapshot that answers.
    pub fn now(&self) -> Instant {
        let later = if self.is_second.load(Ordering::Relaxed) { self.seconds } else { 0.0 };
        self.begun + Duration::try_from_secs_f64(later).unwrap_or_default()
    }

    fn snapshot(&self) -> &Snapshot {
        &self.snapshots[usize::from(self.is_second.load(Ordering::Relaxed))]
    }

    /// The answer to a question; to the same one asked again, the next one, and in the end the last one.
    ///
    /// # Errors
    /// When the server refused it, or was not asked.
    pub fn answer(&self, database: &str, sql: &str) -> Result<&Answer, ClientError> {
        // Earlier snapshots have the mark at another place.
        let bare = |sql: &str| sql.replacen(MARK, "", 1).replace("  ", " ").trim_start().to_owned();
        let asked = bare(sql);
        let fits = |answer: &&Answer| answer.database == database && (answer.sql == sql || bare(&answer.sql) == asked);
        let all: Vec<_> = self.snapshot().answers.iter().filter(fits).collect();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let nth = asked.entry((database.to_owned(), sql.to_owned())).or_default();
        let found = all.get((*nth).min(all.len().saturating_sub(1))).copied();
        *nth += 1;
        let refused = |message: String| {
            let sql = sql.chars().take(120).collect();
            let error = Box::new(ServerError { state: *b"58000", number: 0, message });
            Err(ClientError::Refused { sql, error })
        };
        match found {
            None => refused("the snapshot has no answer".to_owned()),
            Some(Answer { refused: Some(why), .. }) => refused(why.clone()),
            Some(answer) => Ok(answer),
        }
    }

    /// Own amounts in the counters of the snapshot that answers, counted from before the first one.
    pub fn own(&self) -> Own {
        let [first, second] = &self.snapshots;
        let mut own = Own::default();
        let mut add = |of: &OwnAmount, amount: f64| {
            let amounts = own.entry(of.row.clone()).or_default();
            match amounts.iter_mut().find(|(name, _)| *name == of.name) {
                Some((_, sum)) => *sum += amount,
                None => amounts.push((of.name.clone(), amount)),
            }
        };
        if !self.is_second.load(Ordering::Relaxed) {
            first.head.own.iter().for_each(|of| add(of, of.then));
            return own;
        }
        let whole = std::iter::once(&first.head).chain(&self.between).flat_map(|head| &head.own);
        whole.for_each(|of| add(of, of.all));
        second.head.own.iter().for_each(|of| add(of, of.then));
        own
    }
}
