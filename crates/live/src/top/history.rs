//! History of one server, moment by moment, so that time can be stepped through.

use std::{collections::VecDeque, sync::Arc};

use fenxi_model::{
    Micros, Rows, TableRows,
    catalog::{T, db_session, db_statement},
};
use rustc_hash::FxHashMap;

use super::panes::{PANES, Pane};
use crate::{
    Frame,
    dbstat::{Line, Lines},
};

/// Moments that are kept: an hour of seconds.
const MOST: usize = 3600;

/// One interval: the line of `dbstat`, and the rows that the panes show.
#[derive(Debug)]
pub struct Moment {
    /// Figures of the server.
    pub line: Line,
    /// For each of [`PANES`] the last rows so far; those that are read less often stay from their last reading.
    pub rows: Vec<Arc<Rows>>,
}

/// The moments of one server.
#[derive(Debug)]
pub struct History {
    lines: Lines,
    server: Option<String>,
    latest: Vec<(Micros, Arc<Rows>)>,
    /// Texts of statements by their digests.
    pub statements: FxHashMap<String, String>,
    /// Moments, the oldest first.
    pub moments: VecDeque<Moment>,
}

impl History {
    /// Of one server; without a name of the first that appears.
    pub fn new(server: Option<String>) -> History {
        let none = || (Micros(i64::MIN), Arc::new(Rows::new("")));
        History {
            lines: Lines::new(server.clone()),
            server,
            latest: PANES.iter().map(|_| none()).collect(),
            statements: FxHashMap::default(),
            moments: VecDeque::new(),
        }
    }

    /// Takes a frame's rows.
    pub fn take(&mut self, frame: &Frame<'_>) {
        let lines = self.lines.take(frame.rows);
        if self.server.is_none() {
            self.server = lines.first().map(|line| line.server.clone());
        }
        self.learn(frame.rows);
        for (pane, latest) in PANES.iter().zip(&mut self.latest) {
            if let Some(found) = last_of(pane, frame.rows, self.server.as_deref()) {
                *latest = found;
            }
        }
        for line in lines {
            // Rows that were not seen again within their time are over.
            let rows = PANES.iter().zip(&self.latest).map(|(pane, (t, rows))| {
                let age_s = line.t.seconds_since(*t);
                let is_fresh = t.0 > i64::MIN && age_s <= pane.lasts_s.max(1.5 * line.dt);
                if is_fresh { rows.clone() } else { Arc::new(Rows::new("")) }
            });
            let rows = rows.collect();
            let is_ours = self.server.as_deref().is_none_or(|server| server == line.server);
            // A reading a moment after the last interval is no separate interval.
            let is_whole = self.moments.back().is_none_or(|last| line.dt >= last.line.dt / 2.0);
            if is_ours && is_whole {
                self.moments.push_back(Moment { line, rows });
            }
        }
        while self.moments.len() > MOST {
            self.moments.pop_front();
        }
    }

    fn learn(&mut self, rows: &Rows) {
        let places = [
            (&db_statement::TABLE.name, db_statement::digest.index(), db_statement::statement.index()),
            (&db_session::TABLE.name, db_session::digest.index(), db_session::statement.index()),
        ];
        for table in rows.tables() {
            let Some((_, digest, text)) = places.iter().find(|(name, ..)| **name == table.table().name) else {
                continue;
            };
            for row in 0..table.n_rows() {
                if let (Some(digest), Some(text)) = (table.str(row, *digest), table.str(row, *text))
                    && !self.statements.contains_key(digest)
                {
                    self.statements.insert(digest.to_owned(), text.to_owned());
                }
            }
        }
    }
}

/// The rows of the last moment of a pane's table.
fn last_of(pane: &Pane, rows: &Rows, server: Option<&str>) -> Option<(Micros, Arc<Rows>)> {
    let tables = rows.tables().filter(|table| pane.tables.contains(&table.table().name));
    let mut own = Rows::new("");
    let mut last = None;
    for table in tables {
        let is_ours = |row: &usize| server.is_none_or(|server| table.str(*row, SERVER) == Some(server));
        let Some(t) = (0..table.n_rows()).filter(is_ours).filter_map(|row| table.micros(row, T)).max() else {
            continue;
        };
        for row in (0..table.n_rows()).filter(is_ours).filter(|row| table.micros(*row, T) == Some(t)) {
            copy(table, row, &mut own);
        }
        last = last.max(Some(t));
    }
    Some((last?, Arc::new(own)))
}

/// The server comes after time, interval and host in every table of databases.
pub const SERVER: usize = 3;

fn copy(from: &TableRows, row: usize, into: &mut Rows) {
    crate::moments::copy(from, row, into);
}

/// Whether the place of the server is where it is looked for.
const _: () = assert!(db_session::server.index() == SERVER);
