//! Oracle's reports of two snapshots as text: Statspack from 8i on, and AWR from 10g on.
//!
//! Of their hundreds of tables the ones are read that say what the database did and where its time
//! went: header, load profile, efficiency, wait events, statements, time model, instance activity and
//! parameters. The rest is left in the input, knowingly. Figures are given for the whole interval;
//! `t` is the later snapshot.
//!
//! Names of events are cut to the width of each table, so an event of a long list is the one of the
//! top list that begins alike.

mod amount;
mod dashes;
mod events;
mod sections;
mod statements;

use fenxi_model::{
    Micros,
    catalog::{db, db_setting, db_statement, db_wait},
};

use crate::{Clock, Family, Format, Head, Input, Out, Relative, Sure, civil_time};
use amount::{amount, pairs};
use dashes::{Columns, is_rule};
use events::{Events, Top};
use statements::Statements;

/// Importer for Oracle Statspack and AWR reports as text.
pub static FORMAT: Format = Format {
    name: "oracle",
    summary: "Oracle Statspack and AWR reports as text",
    family: Family::Database,
    tables: &[&db::TABLE, &db_wait::TABLE, &db_statement::TABLE, &db_setting::TABLE],
    example: "\
WORKLOAD REPOSITORY report for

DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC
------------ ----------- ------------ -------- --------------- ----------- ---
ORCL          1344731332 orcl                1 12-Feb-17 08:19 11.2.0.1.0  NO
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let title = |line: &str| {
        let line = line.trim_start_matches('\u{c}');
        line.starts_with("WORKLOAD REPOSITORY report for")
            || line.starts_with("WORKLOAD REPOSITORY PDB report")
            || line.starts_with("STATSPACK report for")
    };
    if head.any(title) {
        return Sure::Certain;
    }
    // The list that people cut out of a report, with its title or without.
    let top = head.any(|line| line.starts_with("Top ") && line.contains(" Events") && title_of_top(line));
    Sure::Likely.when((top && head.any(is_top_header)) || head.any(is_bare_list))
}

/// `Top 5 Timed Events`, `Top 10 Foreground Events by Total Wait Time`, `Top 5 Wait Events`
fn title_of_top(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next() == Some("Top") && words.next().is_some_and(|n| n.parse::<u32>().is_ok())
}

/// The names of a list of events: `Event   Waits   Time (s)   Ela Time`.
fn is_top_header(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    words.next() == Some("Event")
        && words.next() == Some("Waits")
        && words.next().is_some_and(|w| w.starts_with("Time"))
}

/// The names of a list of top events without others: of their shares of the time, too, which no other list has.
fn is_bare_list(line: &str) -> bool {
    is_top_header(line) && line.contains("(s)") && (line.ends_with(" Ela Time") || line.ends_with(" Call Time"))
}

/// The part of the report that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Header,
    LoadProfile,
    Efficiency,
    TopEvents,
    Foreground,
    Background,
    Sql,
    TimeModel,
    Activity,
    Parameters,
    /// Known, and left out.
    Other,
}

/// Known facts and figures of the report.
#[derive(Debug, Default)]
struct Report {
    begin: Option<Micros>,
    t: Option<Micros>,
    dt: Option<f64>,
    server: Option<String>,
    database: Option<String>,
    sessions: Option<f64>,
    db_time_s: Option<f64>,
    /// The load profile: the name and what is per second.
    profile: Vec<(String, f64)>,
    /// The part of transactions that were rolled back, in percent.
    rollback_share: Option<f64>,
    /// Counts of the instance per second.
    user_commits: Option<f64>,
    user_rollbacks: Option<f64>,
    /// The header's facts on the database and its host, which it names last.
    facts: Vec<(String, String)>,
}

struct Reader {
    report: Report,
    section: Section,
    /// Lines since the last blank one: a table's names may go over several.
    above: Vec<String>,
    columns: Option<Columns>,
    events: Events,
    /// Columns of the list of top events.
    top: Option<Top>,
    statements: Statements,
    clock: Clock,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader {
        report: Report::default(),
        section: Section::Header,
        above: Vec::new(),
        columns: None,
        events: Events::default(),
        top: None,
        statements: Statements::default(),
        clock: Clock::new(out.hints()),
    };
    input.each_line(|number, line| reader.line(number, line, out));
    reader.statements.end_text();
    for (name, value) in &reader.report.facts {
        out.fact("oracle", name, value);
    }
    sections::database(&reader.report, out);
    reader.events.write(&reader.report, out);
    reader.statements.write(&reader.report, out);
}

impl Reader {
    fn line(&mut self, number: u64, line: &str, out: &mut Out<'_>) {
        let line = line.trim_start_matches('\u{c}').trim_end();
        if line.is_empty() {
            self.blank();
            return;
        }
        if let Some(section) = title(line) {
            self.section = section;
            self.columns = None;
            self.above.clear();
            self.statements.end_text();
            return;
        }
        if is_rule(line) {
            self.rule(line);
            return;
        }
        if self.section == Section::Header && is_bare_list(line) {
            self.section = Section::TopEvents;
        }
        if self.section == Section::Header && self.snapshots(number, line, out) {
            return;
        }
        if self.section == Section::TopEvents && is_top_header(line) {
            self.top = Some(Top::new(&format!("{} {line}", self.above.join(" "))));
        } else if let (Section::TopEvents, None, Some(top)) = (self.section, &self.columns, &self.top) {
            // Without the rule that separates the columns.
            if !self.events.top_words(top, line) && !line.starts_with("->") {
                out.unknown(number, line, "no event");
            }
            return;
        }
        match (self.section, &self.columns) {
            (Section::LoadProfile, _) => sections::load_profile(&mut self.report, line, out),
            (Section::Efficiency, _) => sections::efficiency(&mut self.report, line, out),
            (Section::Other, _) | (_, None) => {
                // Tildes underline a title, not a column.
                self.above.push(line.replace('~', " "));
                if self.above.len() > 4 {
                    self.above.remove(0);
                }
            }
            (section, Some(columns)) => match section {
                Section::Header => sections::header(&mut self.report, columns, line, out),
                Section::TopEvents => {
                    if !self.events.top(columns, self.top.as_ref(), line) {
                        out.unknown(number, line, "its figures are not below the titles");
                    }
                }
                Section::Foreground => self.events.foreground(columns, line),
                Section::Background => self.events.background(columns, line),
                Section::Sql => self.statements.line(columns, line),
                Section::TimeModel => sections::time_model(&self.report, columns, line, out),
                Section::Activity => sections::activity(&mut self.report, columns, line, out),
                Section::Parameters => sections::parameter(&self.report, columns, line, out),
                Section::LoadProfile | Section::Efficiency | Section::Other => {}
            },
        }
    }

    fn blank(&mut self) {
        self.above.clear();
        if self.columns.is_some() || self.section != Section::TopEvents {
            self.top = None;
        }
        match self.section {
            // Statements are separated by blank lines; their table goes on.
            Section::Sql => self.statements.end_text(),
            Section::LoadProfile | Section::Efficiency => {}
            _ => self.columns = None,
        }
    }

    fn rule(&mut self, line: &str) {
        let single = line.trim().split(' ').count() == 1;
        if self.columns.is_some() && single && line.starts_with("     ") {
            // The line under a table's end.
            self.columns = None;
            self.statements.end_text();
        } else if !matches!(self.section, Section::LoadProfile | Section::Efficiency) && !self.above.is_empty() {
            self.columns = Some(Columns::new(line, &self.above));
        }
        self.above.clear();
    }

    /// The lines that say when the snapshots were; false when it is none of them.
    fn snapshots(&mut self, number: u64, line: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["Begin" | "End", "Snap:", _, date, time, rest @ ..] => {
                let moment = date_of(date).zip(civil_time(time, None));
                let Some((date, time)) = moment else {
                    out.unknown(number, line, "no date like 12-Feb-17 12:16:04");
                    return true;
                };
                let t = self.clock.moment(date.to_datetime(time));
                if words[0] == "Begin" {
                    self.report.begin = Some(t);
                    return true;
                }
                self.report.sessions = rest.first().and_then(|sessions| amount(sessions));
                self.report.dt = self.report.begin.map(|begin| t.seconds_since(begin)).filter(|dt| *dt > 0.0);
                self.report.t = Some(t);
                true
            }
            ["Elapsed:", minutes, ..] => {
                let seconds = amount(minutes).map(|m| m * 60.0).filter(|s| *s > 0.0);
                self.report.dt = self.report.dt.or(seconds);
                if self.report.t.is_none() {
                    self.report.t = Some(Relative::elapsed(out).after(seconds.unwrap_or(0.0)));
                }
                true
            }
            ["DB", "Time:" | "time:", minutes, ..] => {
                self.report.db_time_s = amount(minutes).map(|m| m * 60.0);
                true
            }
            ["Host", "Name:", host, ..] => {
                out.set_host(host);
                let after = line.split_once(host).map_or("", |(_, rest)| rest);
                let first = |(name, values): (String, Vec<f64>)| Some((name, values.first()?.to_string()));
                self.report.facts.extend(pairs(after).into_iter().filter_map(first));
                true
            }
            _ => false,
        }
    }
}

/// Reads `12-Feb-17` or `12-Feb-2017`.
fn date_of(text: &str) -> Option<jiff::civil::Date> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let mut parts = text.split(['-', '.', '/']);
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let month = month.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|m| **m == month)? as i8 + 1;
    let year: i16 = year.parse().ok()?;
    let year = if year < 100 { year + if year < 70 { 2000 } else { 1900 } } else { year };
    jiff::civil::Date::new(year, month, day.parse().ok()?).ok()
}

/// The section that a line begins, if it is a title.
fn title(line: &str) -> Option<Section> {
    let text = line.trim_start();
    let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    if text.starts_with("Top ") && text.contains("Events") && !text.contains("DB/Inst") {
        // A list by user or by class comes with the instance behind its title.
        return Some(Section::TopEvents);
    }
    if begins(&["Load Profile"]) {
        return Some(Section::LoadProfile);
    }
    if begins(&["Instance Efficiency"]) {
        return Some(Section::Efficiency);
    }
    if begins(&["Shared Pool Statistics", "Host CPU", "Instance CPU", "Memory Statistics", "Cache Sizes", "IO Profile"])
    {
        return Some(Section::Other);
    }
    if !text.contains("DB/Inst:") && !text.contains(" for DB:") {
        return None;
    }
    // A list of both kinds repeats the two lists.
    Some(if begins(&["Wait Events (fg and bg)"]) {
        Section::Other
    } else if begins(&["Foreground Wait Events", "Wait Events "]) {
        Section::Foreground
    } else if begins(&["Background Wait Events", "Bg Wait Events"]) {
        Section::Background
    } else if begins(&["SQL ordered by"]) {
        Section::Sql
    } else if begins(&["Time Model"]) {
        Section::TimeModel
    } else if begins(&["Instance Activity Stats", "Key Instance Activity Stats", "Other Instance Activity Stats"]) {
        Section::Activity
    } else if begins(&["init.ora Parameters"]) {
        Section::Parameters
    } else {
        Section::Other
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read};

    #[test]
    fn a_list_of_top_events_alone_keeps_what_was_counted() {
        let rule = "---------------------------------- ------------ ----------- ------ ------";
        let aligned = "\
Top 5 Timed Events                                         Avg %Total
~~~~~~~~~~~~~~~~~~                                        wait   Call
Event                                     Waits    Time (s)   (ms)   Time
RULE
gc cr block 2-way                    10,123,456      71,341      7   46.0
CPU time                                             61,234          39.5
"
        .replace("RULE", rule);
        let words = "\
Top 5 Timed Events
~~~~~~~~~~~~~~~~~~ % Total
Event Waits Time (s) Ela Time
CPU time 5,711 46.71
db file sequential read 1,012,345 3,456 28.27
";
        // As it is posted: the figures are not where the rule has its columns.
        let moved = "\
Top 5 Timed Events                                         Avg %Total
~~~~~~~~~~~~~~~~~~                                        wait   Call
Event                                            Waits    Time (s)   (ms)   Time Wait Class
------------------------------ ------------ ----------- ------ ------ ----------
CPU time                                         8,231          62.3
db file sequential read              1,203,456       3,900      3   29.5   User I/O
log file sync                          300,123         512      2    3.9     Commit
";
        for (text, wanted) in [
            (
                moved,
                &[
                    "wait_time\tevent=CPU time\t8231\ts",
                    "event_time_share\tevent=CPU time\t62.3\t%",
                    "wait_count\tevent=db file sequential read\t1203456",
                    "wait_time\tevent=db file sequential read\t3900\ts",
                    "wait_count\tevent=log file sync\t300123",
                    "event_time_share\tevent=log file sync\t3.9\t%",
                ][..],
            ),
            (
                aligned.as_str(),
                &[
                    "wait_count\tevent=gc cr block 2-way\t10123456",
                    "wait_time\tevent=gc cr block 2-way\t71341\ts",
                    "event_time_share\tevent=gc cr block 2-way\t46\t%",
                    "wait_time\tevent=CPU time\t61234\ts",
                    "event_time_share\tevent=CPU time\t39.5\t%",
                ],
            ),
            (
                words,
                &[
                    "wait_time\tevent=CPU time\t5711\ts",
                    "event_time_share\tevent=CPU time\t46.71\t%",
                    "wait_count\tevent=db file sequential read\t1012345",
                    "wait_time\tevent=db file sequential read\t3456\ts",
                ],
            ),
        ] {
            assert_eq!(detect(&Head { text }).map(|f| f.name), Some("oracle"), "{text}");
            let read = read(&FORMAT, text.as_bytes());
            for row in wanted {
                assert!(read.text.contains(row), "{row}: {}", read.text);
            }
            assert_eq!(read.tally.notes, 0, "{}", read.text);
        }
    }
}
