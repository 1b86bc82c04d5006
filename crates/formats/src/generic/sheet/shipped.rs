//! Mappings that are shipped, for columns that are known by their names wherever they are: status variables of MySQL, statistics
//! of PostgreSQL, names of monitors. One is used by itself where enough of the columns that only it has are there, and that is noted.

use std::sync::OnceLock;

use super::Mapping;
use crate::Out;

macro_rules! shipped {
    ($($name:literal,)+) => {
        /// All of them: each is one file in `formats/generic/` and one line here.
        const SHIPPED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../../formats/generic/", $name, ".toml")))),+];
    };
}

shipped! {
    "cloudwatch",
    "dstat",
    "mysql-status",
    "netdata",
    "node-exporter",
    "pg-stat",
}

/// The mappings, read once.
fn all() -> &'static [(&'static str, Mapping)] {
    static ALL: OnceLock<Vec<(&str, Mapping)>> = OnceLock::new();
    ALL.get_or_init(|| SHIPPED.iter().map(|(name, text)| (*name, Mapping::read(text).0)).collect())
}

/// The shipped mapping of a file with columns of these names; an empty one where none fits. A note names it.
pub(in super::super) fn mapping_of(names: &[String], out: &mut Out<'_>) -> Mapping {
    let known = |mapping: &Mapping, place: usize| {
        let (_, known, enough) = mapping.recognises();
        let there = |column: &&String| names.iter().any(|name| super::mapping::captured(column, name).is_some());
        let found = known.iter().filter(there).count();
        (found >= enough).then_some((found, place))
    };
    // Of several the one with more columns of it, of these the first.
    let best = all().iter().enumerate().filter_map(|(place, (_, mapping))| known(mapping, place));
    let best = best.max_by_key(|(found, place)| (*found, std::cmp::Reverse(*place)));
    let Some((name, mapping)) = best.and_then(|(_, place)| all().get(place)) else { return Mapping::default() };
    let mapped = names.iter().filter(|name| mapping.role(name).is_some()).count();
    let (title, ..) = mapping.recognises();
    out.assume(&format!(
        "that its columns are {title}: {mapped} of {} are read by the shipped mapping `{name}` (--map FILE overrides it)",
        names.len()
    ));
    mapping.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hints, fixtures::read_with, generic::csv};

    fn read(text: &str) -> String {
        read_with(&csv::FORMAT, text.as_bytes(), Hints::none("x")).text
    }

    #[test]
    fn what_is_shipped_is_right() {
        for (name, text) in SHIPPED {
            let (mapping, wrong) = Mapping::read(text);
            assert!(wrong.is_empty(), "{name}: {wrong:?}");
            let (summary, known, enough) = mapping.recognises();
            assert!(!summary.is_empty() && enough >= 2 && enough <= known.len(), "{name}");
            for column in known {
                assert!(!column.contains('<') || column.len() > 8, "{name}: `{column}` fits too much");
            }
        }
    }

    #[test]
    fn status_variables_of_mysql_are_counters_and_gauges() {
        let text = "time,Threads_running,Threads_connected,Questions,Innodb_row_lock_time,Innodb_row_lock_waits,Innodb_row_lock_current_waits,Com_commit,Innodb_rows_read\n\
            2026-11-21T14:00:00Z,3,50,1000,5000,10,2,100,9000\n\
            2026-11-21T14:00:10Z,59,60,2000,45000,30,57,150,19000\n\
            2026-11-21T14:00:20Z,59,60,100,10,1,57,10,5\n";
        let rows = read(text);
        let cells: Vec<Vec<&str>> =
            rows.lines().skip_while(|l| *l != "# db").skip(1).take(4).map(|l| l.split('\t').collect()).collect();
        let at = |row: usize, name: &str| {
            let place = cells[0].iter().position(|c| *c == name).unwrap_or_else(|| panic!("{name}\n{rows}"));
            cells[row][place].to_owned()
        };
        assert_eq!(
            (at(2, "active_sessions"), at(2, "waiting_sessions"), at(2, "sessions")),
            ("59".into(), "57".into(), "60".into())
        );
        // 40 s of lock time in 10 s; after the restart there is no figure.
        assert_eq!(
            (at(2, "row_lock_time"), at(2, "statements_per_s"), at(2, "commits_per_s")),
            ("4".into(), "100".into(), "5".into())
        );
        assert!(["", "NULL", "-"].contains(&at(3, "row_lock_time").as_str()), "{rows}");
        assert_eq!(at(1, "server"), "mysql");
        assert!(rows.contains("MySQL") && rows.contains("mysql-status"), "{rows}");
    }

    #[test]
    fn differences_that_somebody_made_are_no_counters() {
        let text = "time,Threads_running,Questions,Innodb_row_lock_time,Com_commit,Innodb_rows_read\n\
            2026-11-21T14:00:00Z,3,1000,500,100,9000\n2026-11-21T14:00:01Z,3,900,450,120,8000\n2026-11-21T14:00:02Z,3,950,480,110,9000\n";
        let rows = read(text);
        assert!(rows.contains("0.5") && rows.contains("0.45"), "{rows}");
        assert!(rows.contains("1000") && rows.contains("900"), "{rows}");
    }

    #[test]
    fn ordinary_columns_are_left_alone() {
        for text in [
            "time,Questions,Answers,Uptime\n2026-11-21T14:00:00Z,3,5,9\n2026-11-21T14:00:10Z,4,6,19\n",
            "time,usr,sys,idl\n2026-11-21T14:00:00Z,3,5,92\n2026-11-21T14:00:10Z,4,6,90\n",
            "time,user,system,idle,iowait\n2026-11-21T14:00:00Z,3,5,92,0\n2026-11-21T14:00:10Z,4,6,90,0\n",
            "time,CPUUtilization,ops\n2026-11-21T14:00:00Z,3,5\n2026-11-21T14:00:10Z,4,6\n",
            "time,calls,rows,read,writ\n2026-11-21T14:00:00Z,3,5,1,2\n2026-11-21T14:00:10Z,4,6,1,2\n",
            "time,numbackends,load1\n2026-11-21T14:00:00Z,3,5\n2026-11-21T14:00:10Z,4,6\n",
        ] {
            let rows = read(text);
            assert!(!rows.contains("mapping") && rows.contains("# metric") && !rows.contains("# db"), "{rows}");
        }
    }

    #[test]
    fn cpus_in_percent_and_queues_of_a_cloud_are_read() {
        let text = "timestamp,CPUUtilization,DatabaseConnections,DiskQueueDepth,ReadIOPS,ReadLatency,FreeableMemory,DBLoad\n\
            2026-11-21T14:00:00Z,97.5,80,12,900,0.02,1000000000,40\n2026-11-21T14:01:00Z,97.5,80,12,900,0.02,1000000000,40\n";
        let rows = read(text);
        for word in ["# cpu", "2.5", "# disk", "12", "20", "# db", "40"] {
            assert!(rows.contains(word), "{word}\n{rows}");
        }
    }
}
