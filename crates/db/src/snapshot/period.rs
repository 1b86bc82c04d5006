//! The interval between two snapshots, as a poller sees it that read one and then the other.

use fenxi_model::{Micros, Rows};
use fenxi_wire::target::{Surroundings, Target};

use super::{Head, Played, Snapshot};
use crate::{
    gather::{Heard, heard},
    moment::Interval,
    sample::Sample,
    server::{Server, ServerError},
};

/// Two snapshots are less than this apart: their counters say nothing.
const SHORTEST_S: f64 = 0.5;

/// A server's identity.
const IDENTITY: &[&str] = &["system_identifier", "server_uuid", "hostname", "port", "data_directory", "datadir"];

/// The interval between two snapshots.
#[derive(Debug)]
pub struct Period {
    /// Its begin.
    pub start: Micros,
    /// Its end, by the server's clock.
    pub end: Micros,
    /// Its rows.
    pub rows: Rows,
    /// Restarts and resets that make some of its figures unknown.
    pub warnings: Vec<String>,
}

/// Why two snapshots are no interval.
#[derive(Debug, thiserror::Error)]
pub enum PeriodError {
    /// They are of different servers.
    #[error("they are of different servers: {0}")]
    Differ(String),
    /// They were taken at the same time.
    #[error("both were taken at the same time")]
    SameTime,
    /// The pollers cannot read them.
    #[error(transparent)]
    Server(#[from] ServerError),
}

impl From<fenxi_wire::client::ClientError> for PeriodError {
    fn from(error: fenxi_wire::client::ClientError) -> PeriodError {
        PeriodError::Server(error.into())
    }
}

/// Why two snapshots are not of one server; None when they are.
fn difference(a: &Head, b: &Head) -> Option<String> {
    if a.dialect != b.dialect {
        return Some(format!("{} is no {}", a.version, b.version));
    }
    let known = |name: &&&str| Some((a.identity.get(**name)?, b.identity.get(**name)?));
    for name in IDENTITY {
        if let Some((a, b)) = known(&name).filter(|(a, b)| a != b) {
            return Some(format!("{name} is `{a}` and `{b}`"));
        }
    }
    // A standby has its primary's identifier, and often the port and folder, too.
    let same_process = known(&&"started").is_some_and(|(a, b)| a == b);
    let has_name_of_its_own = ["server_uuid", "hostname"].iter().any(|name| known(&name).is_some());
    let is_same = a.server == b.server || same_process || has_name_of_its_own;
    (!is_same).then(|| format!("`{}` and `{}`; name one server the same way each time", a.server, b.server))
}

/// Which counters began anew between the two.
fn resets(a: &Head, b: &Head) -> Vec<String> {
    b.resets.iter().filter(|(what, when)| a.resets.get(*what) != Some(when)).map(|(what, _)| what.clone()).collect()
}

/// Rows of the interval between two snapshots of a server, in whichever order they are given. `between`: snapshots of
/// it that were taken in between, as they are no load.
///
/// # Errors
/// When they are none of one server, or not to be read.
pub fn period(first: Snapshot, second: Snapshot, between: Vec<Head>) -> Result<Period, PeriodError> {
    let when = |snapshot: &Snapshot| snapshot.head.clock_s.unwrap_or(snapshot.head.taken_us as f64 / 1e6);
    let (first, second) = if when(&first) > when(&second) { (second, first) } else { (first, second) };
    let seconds = when(&second) - when(&first);
    if seconds < SHORTEST_S {
        return Err(PeriodError::SameTime);
    }
    if let Some(why) = difference(&first.head, &second.head) {
        return Err(PeriodError::Differ(why));
    }
    let start = Micros(first.head.taken_us);
    let end = start.after(seconds);
    let began_anew = resets(&first.head, &second.head);
    let target = target(&first.head)?;
    let played = Played::new(first, second, seconds, between);
    let server = Server::new(&target).saved(target, &played);
    let mut rows = Rows::new("");
    rows.set_source("db");
    look(&server, start, &mut rows);
    let mut poller = server.poller()?;
    poller.poll(Interval { t: start, dt: None }, &Heard::default(), &mut rows)?;
    played.turn();
    look(&server, end, &mut rows);
    for what in &began_anew {
        poller.was_reset(what);
        rows.event(end, "counter reset", server.name(), &format!("{what}: counters began anew between the snapshots"));
    }
    poller.hurry();
    server.allow_poll();
    poller.poll(Interval { t: end, dt: Some(seconds) }, &Heard::default(), &mut rows)?;
    let warnings = warnings(&rows);
    Ok(Period { start, end, rows, warnings })
}

/// Adds the sessions that a snapshot saw.
fn look(server: &Server, t: Micros, rows: &mut Rows) {
    let mut sample = Sample::default();
    let looked = server.sampler().is_ok_and(|mut sampler| sampler.sample(&mut sample).is_ok());
    if looked {
        heard::sessions(server.name(), &sample, Interval { t, dt: None }, rows);
    }
}

/// A target for the server's name: nothing is ever connected to.
fn target(head: &Head) -> Result<Target, ServerError> {
    let url = format!("{}://127.0.0.1:1/", head.dialect);
    let around = Surroundings { user: Some(head.user.clone()), ..Surroundings::default() };
    let target = Target::parse(&url, &around).map_err(fenxi_wire::client::ClientError::from)?;
    Ok(target.to_database(&head.database))
}

/// Events of the interval that make figures unknown.
fn warnings(rows: &Rows) -> Vec<String> {
    use fenxi_model::catalog::event;
    let Some(events) = rows.of(&event::TABLE) else { return Vec::new() };
    let told = |row| Some(format!("{}: {}", events.str(row, event::kind)?, events.str(row, event::message)?));
    (0..events.n_rows()).filter_map(told).collect()
}
