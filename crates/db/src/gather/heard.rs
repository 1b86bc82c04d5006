//! Findings of the sampler since the last poll: sums from which the poller makes rows of its interval.

use fenxi_model::{
    Rows,
    catalog::{db_session, db_wait},
};
use rustc_hash::FxHashMap;

use crate::{
    activity,
    moment::Interval,
    observed::{BySample, add_sampled},
    sample::{Sample, Session, some},
};

/// An activity, and whose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Wait {
    class: String,
    event: String,
    activity: &'static str,
    is_client: bool,
}

/// Sums over samples.
#[derive(Debug, Default)]
pub struct Heard {
    /// Samples that were taken.
    pub samples: u32,
    /// Samples that were due and not taken.
    pub late: u32,
    /// Sessions of clients seen at work, over all samples.
    pub active: u64,
    /// Sessions seen waiting for a lock, over all samples.
    pub locked: u64,
    /// The oldest transaction of a client.
    pub oldest_transaction_s: Option<f64>,
    /// The oldest statement of a client.
    pub oldest_statement_s: Option<f64>,
    /// The oldest snapshot.
    pub oldest_xmin: Option<f64>,
    /// The most sessions that were hidden in one sample.
    pub hidden: usize,
    waits: FxHashMap<Wait, u64>,
    /// Statements of clients at work.
    pub statements: BySample,
}

impl Heard {
    /// Returns true if samples were taken and no client was seen at work.
    pub fn is_quiet(&self) -> bool {
        self.samples > 0 && self.active == 0 && self.hidden == 0
    }

    /// Adds a sample.
    pub fn add(&mut self, sample: &Sample) {
        self.samples += 1;
        self.hidden = self.hidden.max(sample.hidden);
        for session in sample.sessions() {
            self.add_session(session);
        }
    }

    fn add_session(&mut self, session: &Session) {
        if session.is_client && activity::is_work(session.activity) {
            self.active += 1;
            add_sampled(&mut self.statements, session);
        }
        if session.activity == activity::LOCK {
            self.locked += 1;
        }
        let older = |so_far: &mut Option<f64>, age: Option<f64>| {
            if let Some(age) = age {
                *so_far = Some(so_far.map_or(age, |so_far| so_far.max(age)));
            }
        };
        older(&mut self.oldest_xmin, session.xmin_age);
        if session.is_client {
            older(&mut self.oldest_transaction_s, session.transaction_age_s);
            if activity::is_work(session.activity) {
                older(&mut self.oldest_statement_s, session.statement_age_s);
            }
        }
        if let Some(count) = self.waits.iter_mut().find_map(|(wait, n)| wait.is_of(session).then_some(n)) {
            *count += 1;
            return;
        }
        let wait = Wait {
            class: session.wait_class.clone(),
            event: session.wait_event.clone(),
            activity: session.activity,
            is_client: session.is_client,
        };
        self.waits.insert(wait, 1);
    }

    /// Mean number of active sessions; None without a sample.
    pub fn mean(&self, seen: u64) -> Option<f64> {
        (self.samples > 0).then(|| seen as f64 / f64::from(self.samples))
    }

    /// Adds a row for each activity: the mean number of sessions in it, over the samples of the interval.
    pub fn waits(&self, server: &str, interval: Interval, rows: &mut Rows) {
        let Some(dt) = interval.dt.filter(|_| self.samples > 0) else { return };
        for (wait, count) in &self.waits {
            rows.row(&db_wait::TABLE, interval.t, dt)
                .str(db_wait::server, server)
                .str(db_wait::wait_class, some(&wait.class))
                .str(db_wait::wait_event, some(&wait.event))
                .str(db_wait::kind, if wait.is_client { "client" } else { "background" })
                .str(db_wait::measured, "sampled")
                .str(db_wait::activity, wait.activity)
                .f64(db_wait::samples, *count as f64)
                .f64(db_wait::time, *count as f64 / f64::from(self.samples));
        }
    }
}

impl Wait {
    fn is_of(&self, session: &Session) -> bool {
        self.activity == session.activity
            && self.is_client == session.is_client
            && self.event == session.wait_event
            && self.class == session.wait_class
    }
}

/// Memory of the rows for the sessions of a sample, in bytes.
pub fn bytes(sample: &Sample) -> u64 {
    /// Numbers, and what each text takes besides its bytes.
    const ROW: usize = 300;
    let of = |session: &Session| {
        let texts = [
            &session.database,
            &session.user,
            &session.application,
            &session.client,
            &session.kind,
            &session.state,
            &session.wait_class,
            &session.wait_event,
            &session.query_id,
        ];
        let statement = session.statement.as_ref().map_or(0, |text| text.form.len());
        ROW + statement + texts.iter().map(|text| text.len()).sum::<usize>()
    };
    sample.sessions().iter().map(of).sum::<usize>() as u64
}

/// Adds a row for each session of a sample.
pub fn sessions(server: &str, sample: &Sample, interval: Interval, rows: &mut Rows) {
    for session in sample.sessions() {
        rows.row(&db_session::TABLE, interval.t, interval.dt)
            .str(db_session::server, server)
            .i64(db_session::session, session.number)
            .str(db_session::database, some(&session.database))
            .str(db_session::user, some(&session.user))
            .str(db_session::application, some(&session.application))
            .str(db_session::state, some(&session.state))
            .str(db_session::wait_class, some(&session.wait_class))
            .str(db_session::wait_event, some(&session.wait_event))
            .i64(db_session::blocked_by, session.blocked_by)
            .f64(db_session::transaction_age_s, rounded(session.transaction_age_s))
            .f64(db_session::statement_age_s, rounded(session.statement_age_s))
            .str(db_session::digest, session.statement.as_ref().map(|text| text.digest.as_str()))
            .str(db_session::statement, session.statement.as_ref().map(|text| text.form.as_str()))
            .i64(db_session::pid, session.pid)
            .i64(db_session::tid, session.tid)
            .str(db_session::kind, some(&session.kind))
            .str(db_session::activity, some(session.activity))
            .i64(db_session::leader, session.leader)
            .str(db_session::client, some(&session.client))
            .str(db_session::query_id, some(&session.query_id))
            .f64(db_session::state_age_s, rounded(session.state_age_s))
            .f64(db_session::session_age_s, rounded(session.session_age_s))
            .f64(db_session::xmin_age, session.xmin_age)
            .f64(db_session::rows_locked, session.rows_locked)
            .f64(db_session::rows_changed, session.rows_changed)
            .f64(db_session::memory_bytes, session.memory_bytes);
    }
}

/// An age in milliseconds, an older one in hundredths or tenths of a second: a look is no more exact, and microseconds are
/// most of what a recording of sessions takes on disk.
fn rounded(age_s: Option<f64>) -> Option<f64> {
    let per_s = |age: f64| {
        if age < 10.0 {
            1e3
        } else if age < 100.0 {
            1e2
        } else {
            1e1
        }
    };
    age_s.map(|age| (age * per_s(age)).round() / per_s(age))
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use super::*;

    #[test]
    fn ages_are_as_exact_as_a_look() {
        let ages = [0.0123456, 9.99951, 12.3456, 123.456].map(|age| rounded(Some(age)));
        assert_eq!(ages, [0.012, 10.0, 12.35, 123.5].map(Some));
        assert_eq!(rounded(None), None);
    }

    #[test]
    fn waits_are_sessions_seen_over_samples_taken() {
        let mut heard = Heard::default();
        let mut sample = Sample::default();
        for round in 0..4 {
            sample.clear();
            let session = sample.add();
            session.activity = activity::LOCK;
            session.wait_class.push_str("Lock");
            session.is_client = true;
            session.transaction_age_s = Some(f64::from(round));
            if round == 0 {
                sample.add().activity = activity::PACING;
            }
            heard.add(&sample);
        }
        assert_eq!((heard.mean(heard.active), heard.mean(heard.locked)), (Some(1.0), Some(1.0)));
        assert_eq!(heard.oldest_transaction_s, Some(3.0));
        let mut rows = Rows::new("h");
        heard.waits("s", Interval { t: Micros(5), dt: Some(0.4) }, &mut rows);
        let waits = rows.of(&db_wait::TABLE).unwrap();
        let found = |row: usize| (waits.str(row, db_wait::activity).unwrap(), waits.f64(row, db_wait::time).unwrap());
        let mut both = [found(0), found(1)];
        both.sort_by(|a, b| a.0.cmp(b.0));
        assert_eq!(both, [("lock", 1.0), ("pacing", 0.25)]);
        assert_eq!(Heard::default().mean(0), None, "an outage has no samples");
    }
}
