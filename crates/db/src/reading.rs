//! Readings: what is asked of a server again and again, as data.
//!
//! A reading names a view, and for each column of ours the columns of the view that can fill it, in order of preference:
//! servers rename, add and drop them. Which of them a server has is asked once, and the statement put together from what
//! both know. What the server lacks is NULL.

use fenxi_model::{
    Place, Row, Rows, Table,
    place::{F64, I64, Label},
};
use fenxi_wire::client::ClientError;
use rustc_hash::FxHashMap;

use crate::{client::Client, moment::Interval, number::Number, own_amounts::Own};

/// Origin of a column: a column of the view, or an expression over several.
#[derive(Debug)]
pub enum From {
    /// A column of the view.
    Name(&'static str),
    /// An expression, and the columns of the view that it needs.
    Sql(&'static str, &'static [&'static str]),
}

/// Conversion of the value of a column.
#[derive(Debug)]
pub enum Fill<S> {
    /// A counter, times a factor, per second.
    Rate(Place<S, F64>, f64),
    /// A counter: its growth in the interval.
    Count(Place<S, F64>),
    /// A value at a moment, times a factor.
    Gauge(Place<S, F64>, f64),
    /// A word.
    Word(Place<S, Label>),
    /// Yes or no.
    YesNo(Place<S, Label>),
    /// A number that names something.
    Id(Place<S, I64>),
}

/// One column of ours.
#[derive(Debug)]
pub struct Column<S> {
    /// Possible origins, the preferred first.
    pub from: &'static [From],
    /// Conversion.
    pub fill: Fill<S>,
    /// A setting without which the server reports 0 for unknown.
    pub needs: Option<&'static str>,
}

impl<S> Column<S> {
    /// Whether `name` can fill it.
    fn is_of(&self, name: &str) -> bool {
        self.from.iter().any(|from| matches!(from, From::Name(of) | From::Sql(of, _) if *of == name))
    }

    /// How much of an amount of our own is in it.
    fn own(&self, own: &Own, row: &str) -> f64 {
        let mut amounts = own.get(row).into_iter().flatten();
        amounts.find(|(name, _)| self.is_of(name)).map_or(0.0, |(_, amount)| *amount)
    }

    /// Whether it shows the growth of a counter.
    fn is_counter(&self) -> bool {
        matches!(self.fill, Fill::Rate(..) | Fill::Count(_))
    }
}

/// Shorthand for the lists of columns.
pub const fn column<S>(from: &'static [From], fill: Fill<S>) -> Column<S> {
    Column { from, fill, needs: None }
}

/// Shorthand for a column that is NULL while a setting is off.
pub const fn needing<S>(setting: &'static str, from: &'static [From], fill: Fill<S>) -> Column<S> {
    Column { from, fill, needs: Some(setting) }
}

/// A figure of each row that is asked for once, at the end.
#[derive(Debug)]
pub struct AtEnd<S> {
    /// The statement: the reading's key, and the figure.
    pub sql: &'static str,
    /// Where the figure goes.
    pub place: Place<S, F64>,
}

/// When a reading is read, and how its counters behave.
#[derive(Debug)]
pub struct Rules {
    /// A better view of the same: where there is one, this one is not read.
    pub unless: Option<&'static str>,
    /// A setting without which it has no rows.
    pub needs: Option<&'static str>,
    /// A kind of session without which it has no rows: it is read while there is one.
    pub only_with: Option<&'static str>,
    /// True if a new row began within the interval, so that its whole value is growth.
    pub counts_new: bool,
    /// Rows whose counters did not move are left out, but for the last time.
    pub movers_only: bool,
    /// Counters of what is gone are gone, too: one that goes back is unknown, and no reset.
    pub forgets: bool,
    /// Counters of the work that sessions end: where they did not grow beyond our own, and no one works, whatever else grew belongs to our
    /// sessions. Rows that have no separate work come last, and are as the others.
    pub work: &'static [&'static str],
}

impl Rules {
    /// Always read, all rows kept, counters as a server has them that forgets nothing.
    pub const PLAIN: Rules = Rules {
        unless: None,
        needs: None,
        only_with: None,
        counts_new: false,
        movers_only: false,
        forgets: false,
        work: &[],
    };
}

/// One thing that is asked for.
#[derive(Debug)]
pub struct Reading<S: 'static> {
    /// Its name in messages.
    pub name: &'static str,
    /// The view whose columns are asked for.
    pub view: &'static str,
    /// When it is read, and how its counters behave.
    pub rules: Rules,
    /// Query that is too costly for each interval, and runs once at the end.
    pub at_end: Option<AtEnd<S>>,
    /// The FROM clause, with conditions.
    pub from: &'static str,
    /// An expression that identifies its rows: counters are followed by it.
    pub key: &'static str,
    /// Seconds between two readings.
    pub every_s: u32,
    /// The table it fills.
    pub table: &'static Table<S>,
    /// The place of the server's name.
    pub server: Place<S, Label>,
    /// Its columns.
    pub columns: &'static [Column<S>],
}

/// Capabilities of a server: columns of its views, and settings that are on.
#[derive(Debug, Default)]
pub struct Having {
    /// Columns of each view that there is.
    pub views: FxHashMap<String, Vec<String>>,
    /// Settings whose value is `on`.
    pub on: Vec<String>,
}

impl Having {
    /// Returns true if a view has a column.
    pub fn has(&self, view: &str, column: &str) -> bool {
        self.views.get(view).is_some_and(|columns| columns.iter().any(|c| c.eq_ignore_ascii_case(column)))
    }

    /// Returns true if a setting is on.
    pub fn is_on(&self, setting: &str) -> bool {
        self.on.iter().any(|name| name == setting)
    }

    /// The expression for a column; None when the server lacks it.
    fn expression<S>(&self, view: &str, column: &Column<S>) -> Option<&'static str> {
        if column.needs.is_some_and(|setting| !self.is_on(setting)) {
            return None;
        }
        column.from.iter().find_map(|from| match from {
            From::Name(name) => self.has(view, name).then_some(*name),
            From::Sql(sql, needs) => needs.iter().all(|name| self.has(view, name)).then_some(*sql),
        })
    }
}

/// A reading of any table.
pub trait AnyReading: Sync {
    /// The view that it needs.
    fn view(&self) -> &'static str;

    /// The reading for a server that has these columns; None when it lacks the view.
    fn prepare(&'static self, having: &Having) -> Option<Box<dyn Active>>;
}

/// A reading at work.
pub trait Active: Send {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Seconds between two readings.
    fn every_s(&self) -> u32;

    /// A kind of session without which it has no rows.
    fn only_with(&self) -> Option<&'static str>;

    /// Asks the server and adds rows for the interval that ends now.
    ///
    /// # Errors
    /// When the server refuses, or the connection is lost.
    fn read(&mut self, client: &mut Client, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError>;

    /// Forgets all counters: the server was started anew.
    fn forget(&mut self);

    /// Forgets the counters of one row, by its key.
    fn forget_row(&mut self, key: &str) {
        let _ = key;
    }
}

/// Of which server and interval a reading is.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The server's name.
    pub server: &'a str,
    /// The interval since this reading's last time.
    pub interval: Interval,
    /// True if it is the last one of a recording.
    pub is_last: bool,
}

impl<S: std::fmt::Debug + Send + Sync> AnyReading for Reading<S> {
    fn view(&self) -> &'static str {
        self.view
    }

    fn prepare(&'static self, having: &Having) -> Option<Box<dyn Active>> {
        Ready::new(self, having).map(|ready| Box::new(ready) as Box<dyn Active>)
    }
}

/// A row's counters as they were last seen.
struct Seen {
    values: Vec<Option<Number>>,
    round: u64,
}

/// A reading with its statement and its counters.
pub struct Ready<S: 'static> {
    reading: &'static Reading<S>,
    sql: String,
    columns: Vec<&'static Column<S>>,
    seen: FxHashMap<Box<str>, Seen>,
    round: u64,
    /// Sums of rates and counts of all rows, in the order of `columns`; None where no row has one.
    totals: Vec<Option<f64>>,
    /// Amounts of our own sessions, at this reading and at the one before.
    own: (Own, Own),
    /// No one but our own sessions was seen at work since the last reading.
    is_quiet: bool,
}

impl<S> Ready<S> {
    /// For a server that has these columns; None when it lacks the view or all of the columns.
    pub fn new(reading: &'static Reading<S>, having: &Having) -> Option<Ready<S>> {
        having.views.get(reading.view)?;
        if reading.rules.needs.is_some_and(|setting| !having.is_on(setting)) {
            return None;
        }
        if reading.rules.unless.is_some_and(|view| having.views.contains_key(view)) {
            return None;
        }
        let found = |column: &'static Column<S>| Some((column, having.expression(reading.view, column)?));
        let found: Vec<_> = reading.columns.iter().filter_map(found).collect();
        if found.is_empty() {
            return None;
        }
        let list: Vec<_> = std::iter::once(reading.key).chain(found.iter().map(|(_, sql)| *sql)).collect();
        let sql = format!("SELECT /* fenxi-db */ {} FROM {}", list.join(", "), reading.from);
        let columns: Vec<_> = found.into_iter().map(|(column, _)| column).collect();
        let totals = vec![None; columns.len()];
        Some(Ready {
            reading,
            sql,
            columns,
            seen: FxHashMap::default(),
            round: 0,
            totals,
            own: <(Own, Own)>::default(),
            is_quiet: false,
        })
    }

    /// Sets own amounts that the next reading leaves out, and whether no one else was seen at work since the last.
    pub fn leave_out(&mut self, own: Own, is_quiet: bool) {
        self.own.1 = std::mem::replace(&mut self.own.0, own);
        self.is_quiet = is_quiet;
    }

    /// Adds what all rows of the last reading add up to.
    pub fn fill_totals(&self, row: &mut Row<'_, S>) {
        for (column, total) in self.columns.iter().zip(&self.totals) {
            match column.fill {
                Fill::Rate(place, _) | Fill::Count(place) => row.f64(place, *total),
                _ => continue,
            };
        }
    }

    /// How much a row's counters of work grew, and whether it has any; None without such counters, or where one went back.
    fn work_grown(
        (rules, columns): (&Rules, &[&'static Column<S>]),
        values: &[Value<'_>],
        last: Option<&Seen>,
    ) -> Option<(f64, bool)> {
        let last = last?;
        let is_work = |at: &usize| rules.work.iter().any(|name| columns[*at].is_of(name));
        let of = |at: usize| Some((values[at].number?.since(last.values[at]?)?, values[at].number?.as_f64() > 0.0));
        let each = (0..columns.len()).filter(is_work).map(of);
        each.reduce(|sum, of| sum.zip(of).map(|(sum, of)| (sum.0 + of.0, sum.1 || of.1))).flatten()
    }

    /// Sets the columns of a row, and adds to the totals; true when a counter went back. Counters whose growth `is_ours` did not move.
    fn fill(
        (columns, counts_new, is_ours): (&[&'static Column<S>], bool, bool),
        values: &[Value<'_>],
        last: Option<&Seen>,
        dt: f64,
        row: &mut Row<'_, S>,
        totals: &mut [Option<f64>],
    ) -> bool {
        let number = |at: usize| values[at].number;
        let grown = |at: usize| match last {
            Some(last) => Some(number(at)?.since(last.values[at]?)),
            None if counts_new => Some(Some(number(at)?.as_f64())),
            None => None,
        };
        let reset = (0..columns.len()).any(|at| columns[at].is_counter() && grown(at) == Some(None));
        for (at, column) in columns.iter().enumerate() {
            let growth = if reset { None } else { grown(at).flatten() };
            let growth = if is_ours { growth.map(|_| 0.0) } else { growth };
            let value = match column.fill {
                Fill::Rate(_, factor) => growth.map(|growth| growth * factor / dt),
                Fill::Count(_) => growth,
                Fill::Gauge(_, factor) => number(at).map(|number| number.as_f64() * factor),
                Fill::Word(place) => {
                    row.str(place, values[at].text);
                    continue;
                }
                Fill::YesNo(place) => {
                    row.str(place, yes_or_no(values[at].text));
                    continue;
                }
                Fill::Id(place) => {
                    row.i64(place, values[at].text.and_then(|text| text.parse::<i64>().ok()));
                    continue;
                }
            };
            let (Fill::Rate(place, _) | Fill::Count(place) | Fill::Gauge(place, _)) = column.fill else { continue };
            row.f64(place, value);
            if column.is_counter()
                && let Some(value) = value
            {
                *totals[at].get_or_insert(0.0) += value;
            }
        }
        reset
    }
}

/// A value of a row, as text and as a number.
#[derive(Clone, Copy)]
struct Value<'a> {
    text: Option<&'a str>,
    number: Option<Number>,
}

/// A figure by key. What the server refuses, or takes too long for, is not known.
fn keyed(client: &mut Client, sql: &str) -> Result<FxHashMap<Box<str>, f64>, ClientError> {
    let mut found = FxHashMap::default();
    let asked = client.each(sql, &mut |row| {
        if let (Some(key), Some(value)) = (row.text(0), row.f64(1)) {
            found.insert(key.into(), value);
        }
    });
    match asked {
        Err(error) if !error.is_refusal() => Err(error),
        _ => Ok(found),
    }
}

fn yes_or_no(text: Option<&str>) -> Option<&'static str> {
    match text? {
        "t" | "1" | "ON" | "YES" | "Yes" => Some("yes"),
        "f" | "0" | "OFF" | "NO" | "No" => Some("no"),
        _ => None,
    }
}

impl<S: Send + Sync + std::fmt::Debug> Active for Ready<S> {
    fn name(&self) -> &'static str {
        self.reading.name
    }

    fn every_s(&self) -> u32 {
        self.reading.every_s
    }

    fn only_with(&self) -> Option<&'static str> {
        self.reading.rules.only_with
    }

    fn read(&mut self, client: &mut Client, about: &About<'_>, rows: &mut Rows) -> Result<(), ClientError> {
        let Ready { reading, sql, columns, seen, round, totals, own, is_quiet } = self;
        *round += 1;
        totals.fill(None);
        let Interval { t, dt } = about.interval;
        let is_new_counted = reading.rules.counts_new && *round > 1;
        let at_end = reading.at_end.as_ref().filter(|_| about.is_last);
        let late = at_end.map(|end| keyed(client, end.sql)).transpose()?.unwrap_or_default();
        let has_gauges = columns.iter().any(|column| matches!(column.fill, Fill::Gauge(..)));
        let mut went_back: Vec<String> = Vec::new();
        let mut others_worked = false;
        client.each_again(sql, &mut |answer| {
            // A row of other columns than those that were asked for is none.
            if answer.len() != columns.len() + 1 {
                return;
            }
            let key = answer.text(0).unwrap_or_default();
            let last = seen.get(key);
            let values = (0..columns.len()).map(|at| {
                let (text, name) = (answer.text(at + 1), answer.text(1).unwrap_or_default());
                let amounts = (columns[at].own(&own.0, name), columns[at].own(&own.1, name));
                let before = last.and_then(|last| last.values[at]).filter(|_| columns[at].is_counter());
                let number = text.and_then(Number::read).map(|number| number.without(amounts, before));
                Value { text, number }
            });
            let values: Vec<Value<'_>> = values.collect();
            let is_ours = match Ready::work_grown((&reading.rules, columns), &values, last) {
                Some((grown, has_work)) => {
                    others_worked |= grown > 0.0;
                    *is_quiet && grown <= 0.0 && (has_work || !others_worked)
                }
                None => false,
            };
            let moved = || {
                let still = |at: usize| last.is_some_and(|last| last.values[at] == values[at].number);
                (0..columns.len()).any(|at| columns[at].is_counter() && !still(at))
            };
            let is_wanted = !reading.rules.movers_only || about.is_last || !is_ours && moved();
            // A row that is left out still counts in the totals: as zero.
            if is_ours && !is_wanted {
                let counters = totals.iter_mut().zip(columns.iter()).filter(|(_, column)| column.is_counter());
                counters.for_each(|(total, _)| _ = total.get_or_insert(0.0));
            }
            if let Some(dt) = dt.filter(|dt| *dt > 0.0 && is_wanted && (last.is_some() || has_gauges || is_new_counted))
            {
                let mut row = rows.row(reading.table, t, dt);
                row.str(reading.server, about.server);
                if let Some(end) = at_end {
                    row.f64(end.place, late.get(key).copied());
                }
                if Ready::fill((columns, is_new_counted, is_ours), &values, last, dt, &mut row, totals) {
                    went_back.push(key.to_owned());
                }
            }
            let numbers = values.iter().map(|value| value.number).collect();
            seen.insert(key.into(), Seen { values: numbers, round: *round });
        })?;
        // A row that is gone and comes back has new counters.
        seen.retain(|_, seen| seen.round == *round);
        if let Some(first) = went_back.first().filter(|_| !reading.rules.forgets) {
            let more = if went_back.len() > 1 { format!(" and {} more", went_back.len() - 1) } else { String::new() };
            rows.event(
                t,
                "counter reset",
                about.server,
                &format!("{}: counters of {first}{more} went back", reading.name),
            );
        }
        Ok(())
    }

    fn forget(&mut self) {
        self.seen.clear();
        self.round = 0;
    }

    fn forget_row(&mut self, key: &str) {
        self.seen.remove(key);
    }
}
