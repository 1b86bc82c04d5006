//! The plainer sections of Oracle's reports.

use fenxi_model::catalog::{db, db_setting};

use super::{
    Report,
    amount::{amount, pairs, plain},
    dashes::Columns,
};
use crate::{Out, generic::labels::Labels};

/// A row of the header's tables: database, instance and host.
pub(super) fn header(report: &mut Report, columns: &Columns, line: &str, out: &mut Out<'_>) {
    let cell = |name: &str| {
        columns.find(|n| n == name).map(|column| columns.cell(line, column)).filter(|cell| !cell.is_empty())
    };
    if let Some(instance) = cell("Instance") {
        report.server = Some(instance.to_owned());
    }
    if let Some(database) = cell("DB Name") {
        report.database = Some(database.to_owned());
    }
    // Statspack has `Host` on the line of the names and its cell under the second column.
    let host = cell("Host Name").or_else(|| cell("Platform").and_then(|_| cell("Name"))).or_else(|| cell("Host"));
    if let Some(host) = host {
        out.set_host(host);
    }
    for name in FACTS {
        if let Some(value) = cell(name) {
            report.facts.push(((*name).to_owned(), value.to_owned()));
        }
    }
}

/// Columns of the header that are kept as they are.
const FACTS: &[&str] = &[
    "DB Id",
    "DB Role",
    "Edition",
    "Release",
    "Startup Time",
    "RAC",
    "Cluster",
    "CDB",
    "Platform",
    "CPUs",
    "Cores",
    "Sockets",
    "Memory(GB)",
    "Memory (GB)",
    "Memory (G)",
];

/// A line of the load profile: what is per second and per transaction, and percentages.
pub(super) fn load_profile(report: &mut Report, line: &str, out: &mut Out<'_>) {
    if line.trim_start().starts_with('~') {
        return;
    }
    let pairs = pairs(line);
    let ratios = pairs.len() > 1;
    for (name, values) in pairs {
        let plain = plain(&name);
        if plain.starts_with("rollback_per_transaction") {
            report.rollback_share = values.last().copied();
        }
        if name.contains('%') {
            percentage(report, &name, &values, out);
            continue;
        }
        if ratios {
            let value = values.first().copied();
            out.metric(report.t, report.dt, &format!("oracle.{plain}"), "", value, "");
            continue;
        }
        let seconds = name.ends_with("(s)");
        let bytes = name.contains("(bytes)") || plain == "redo_size";
        for (value, (per, unit)) in values.iter().zip([
            (
                "s",
                if bytes {
                    "B/s"
                } else if seconds {
                    "s/s"
                } else {
                    "/s"
                },
            ),
            (
                "transaction",
                if bytes {
                    "B"
                } else if seconds {
                    "s"
                } else {
                    ""
                },
            ),
            ("exec", if seconds { "s" } else { "" }),
            ("call", if seconds { "s" } else { "" }),
        ]) {
            out.metric(report.t, report.dt, &format!("oracle.{plain}_per_{per}"), "", *value, unit);
        }
        if let Some(value) = values.first() {
            if plain == "transactions" {
                out.result("throughput", *value, "/s", "higher");
            }
            report.profile.push((plain, *value));
        }
    }
}

/// A line of percentages.
pub(super) fn efficiency(report: &mut Report, line: &str, out: &mut Out<'_>) {
    if line.trim_start().starts_with('~') {
        return;
    }
    for (name, values) in pairs(line) {
        percentage(report, &name, &values, out);
    }
}

fn percentage(report: &Report, name: &str, values: &[f64], out: &mut Out<'_>) {
    if let Some(value) = values.last() {
        out.metric(report.t, report.dt, &format!("oracle.{}", plain(name)), "", *value, "%");
    }
}

/// Writes the figures of the header and the load profile about the whole database, in one row.
pub(super) fn database(report: &Report, out: &mut Out<'_>) {
    let find = |names: &[&str]| report.profile.iter().find(|(n, _)| names.contains(&n.as_str())).map(|(_, v)| *v);
    if report.profile.is_empty() {
        return;
    }
    let transactions = find(&["transactions"]);
    // Statspack counts transactions that were rolled back among the others, and prints their share.
    let share = transactions.zip(report.rollback_share).map(|(all, percent)| all * percent / 100.0);
    let rollbacks = find(&["rollbacks"]).or(report.user_rollbacks).or(share);
    let commits = report.user_commits.or_else(|| transactions.zip(rollbacks).map(|(all, back)| (all - back).max(0.0)));
    let logical = find(&["logical_reads", "logical_read"]);
    let physical = find(&["physical_reads", "physical_read"]);
    let active = report.db_time_s.zip(report.dt).map(|(busy, dt)| busy / dt);
    let mut row = out.row(&db::TABLE, report.t, report.dt);
    row.str(db::server, report.server.as_deref()).str(db::database, report.database.as_deref());
    row.f64(db::commits_per_s, commits);
    row.f64(db::rollbacks_per_s, rollbacks).f64(db::statements_per_s, find(&["executes"]));
    row.f64(db::cache_hits_per_s, logical.zip(physical).map(|(l, p)| (l - p).max(0.0)));
    row.f64(db::cache_misses_per_s, physical).f64(db::log_bytes_per_s, find(&["redo_size"]));
    row.f64(db::sessions, report.sessions).f64(db::active_sessions, active);
}

/// A row of the time model: seconds of the interval.
pub(super) fn time_model(report: &Report, columns: &Columns, line: &str, out: &mut Out<'_>) {
    let time = columns.find(|name| name.starts_with("Time (s)") || name.starts_with("Time(s)"));
    let value = time.and_then(|column| amount(columns.cell(line, column)));
    if let Some(value) = value {
        let labels = Labels::of("statistic", columns.cell(line, 0));
        out.metric(report.t, report.dt, "oracle.time_model", labels.text(), value, "s");
    }
}

/// A row of the instance's counters: their rate, or their value where they are none.
pub(super) fn activity(report: &mut Report, columns: &Columns, line: &str, out: &mut Out<'_>) {
    let labels = Labels::of("statistic", columns.cell(line, 0));
    let cell = |column: usize| amount(columns.cell(line, column));
    let per_second = columns.find(|name| name.eq_ignore_ascii_case("per Second"));
    let end = columns.find(|name| name.starts_with("End Value"));
    if let Some(value) = per_second.and_then(cell) {
        match columns.cell(line, 0) {
            "user commits" => report.user_commits = Some(value),
            "user rollbacks" => report.user_rollbacks = Some(value),
            _ => {}
        }
        out.metric(report.t, report.dt, "oracle.activity_per_s", labels.text(), value, "/s");
    } else if let Some(value) = end.and_then(cell) {
        out.metric(report.t, report.dt, "oracle.activity", labels.text(), value, "");
    }
}

/// A row of the parameters.
pub(super) fn parameter(report: &Report, columns: &Columns, line: &str, out: &mut Out<'_>) {
    let name = columns.cell(line, 0);
    if name.is_empty() || columns.len() < 2 {
        // A long value goes on.
        return;
    }
    let (begin, end) = (columns.cell(line, 1), columns.cell(line, 2));
    let changed = !end.is_empty() && end != begin;
    let mut row = out.row(&db_setting::TABLE, report.t, None);
    row.str(db_setting::server, report.server.as_deref()).str(db_setting::name, name);
    row.text(db_setting::value, if changed { end } else { begin });
    if let Some(t) = report.t.filter(|_| changed) {
        out.event(t, "fact changed", name, &format!("{begin} became {end}"));
    }
}
