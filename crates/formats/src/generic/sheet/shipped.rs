//! Mappings that are shipped, for columns that are known by their names wherever they are: status variables of MySQL, statistics
//! of PostgreSQL, names of monitors. One is used by itself where enough of the columns that only it has are there, and that is noted.

use std::sync::OnceLock;

use fenxi_model::Table;

use super::{Mapping, Place, Role};
use crate::{Out, own::Per};

macro_rules! shipped {
    ($($name:literal,)+) => {
        /// All of them: each is one file in `formats/generic/` and one line here.
        const SHIPPED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../../formats/generic/", $name, ".toml")))),+];
    };
}

shipped! {
    "cloudwatch",
    "collectd",
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

/// The shipped mappings of a file with columns of these names; an empty one where none fits. A note names them.
pub(in super::super) fn mapping_of(names: &[String], out: &mut Out<'_>) -> Mapping {
    let known = |(name, mapping): &'static (&'static str, Mapping)| {
        let found = mapping.known_in(names);
        (found >= mapping.recognise().enough).then_some((found, *name, mapping))
    };
    let mut fitting: Vec<_> = all().iter().filter_map(known).collect();
    // One file may hold what several tools print: that of which it has the most columns comes first.
    fitting.sort_by_key(|(found, ..)| std::cmp::Reverse(*found));
    let mut whole: Option<Mapping> = None;
    for (_, name, mapping) in fitting {
        let is_open = |column: &&String| whole.as_ref().is_none_or(|whole| whole.role(column).is_none());
        let mapped = names.iter().filter(is_open).filter(|column| mapping.role(column).is_some()).count();
        if mapped == 0 {
            continue;
        }
        out.assume(&format!(
            "that its columns are {}: {mapped} of {} are read by the shipped mapping `{name}` (--map FILE overrides it)",
            mapping.summary(),
            names.len()
        ));
        match &mut whole {
            None => whole = Some(mapping.clone()),
            Some(whole) => whole.add(mapping.clone()),
        }
    }
    whole.unwrap_or_default()
}

/// Where a column that a shipped mapping knows goes: for formats that have the same names in another form.
pub(crate) struct Goal {
    /// Its table.
    pub(crate) table: &'static Table,
    /// Its column.
    pub(crate) column: usize,
    /// Factor of a value.
    pub(crate) scale: f64,
    /// Whether the values grow, and their growth is what counts.
    pub(crate) grows: bool,
}

/// Where `name` goes by the shipped mapping `mapping`.
pub(crate) fn goals(mapping: &str, name: &str) -> Vec<Goal> {
    let Some((_, mapping)) = all().iter().find(|(known, _)| *known == mapping) else { return Vec::new() };
    let Some(Role::Values(targets)) = mapping.role(name) else { return Vec::new() };
    let goal = |target: super::Target| match target.place {
        Place::Column(table, column) => {
            Some(Goal { table, column, scale: target.scale, grows: matches!(target.per, Per::Total | Per::Shown) })
        }
        Place::Metric { .. } => None,
    };
    targets.into_iter().filter_map(goal).collect()
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
            let (known, enough) = (mapping.known().collect::<Vec<_>>(), mapping.recognise().enough);
            assert!(!mapping.summary().is_empty() && enough >= 2 && enough <= known.len(), "{name}");
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
    fn names_of_exporters_are_those_of_the_server() {
        let text = "time,mysql_global_status_threads_running,mysql_global_status_com_commit,mysql_global_status_innodb_row_lock_current_waits,mysql_global_status_innodb_deadlocks\n\
            2026-11-21T14:00:00Z,3,100,2,10\n2026-11-21T14:00:10Z,59,150,57,14\n";
        let rows = read(text);
        let cells = |line: usize| -> Vec<String> {
            rows.lines()
                .skip_while(|l| *l != "# db")
                .nth(line)
                .unwrap_or_default()
                .split('\t')
                .map(str::to_owned)
                .collect()
        };
        let at = |row: usize, name: &str| {
            let place = cells(1).iter().position(|c| c == name).unwrap_or_else(|| panic!("{name}\n{rows}"));
            cells(row + 1)[place].clone()
        };
        assert_eq!((at(2, "active_sessions"), at(2, "waiting_sessions")), ("59".into(), "57".into()));
        // A rate is per second; a number of events is of the interval.
        assert_eq!((at(2, "commits_per_s"), at(2, "deadlocks")), ("5".into(), "4".into()));
        let text = "time,\"pg_stat_database_xact_commit{datname=\"\"a\"\"}\",\"pg_stat_database_xact_commit{datname=\"\"b\"\"}\",\"pg_stat_database_blks_read{datname=\"\"a\"\"}\",pg_stat_database_tup_returned\n\
            2026-11-21T14:00:00Z,3,100,2,10\n2026-11-21T14:00:10Z,53,200,57,14\n";
        let rows = read(text);
        assert!(rows.contains("pg-stat") && rows.contains("\ta\t5\t") && rows.contains("\tb\t10\t"), "{rows}");
    }

    #[test]
    fn a_file_of_two_tools_is_read_with_the_mappings_of_both() {
        let text = "time,Threads_running,Com_commit,Innodb_rows_read,usr,sys,idl,wai,hiq,siq\n\
            2026-11-21T14:00:00Z,3,100,2,10,20,60,5,2,3\n2026-11-21T14:00:01Z,4,90,7,11,19,61,4,2,3\n";
        let rows = read(text);
        for word in ["# cpu", "# db", "`mysql-status`", "`dstat`"] {
            assert!(rows.contains(word), "{word}\n{rows}");
        }
    }

    #[test]
    fn plug_ins_of_collectd_are_read() {
        let text = "time,db1/cpu-0/cpu-idle,db1/cpu-0/cpu-user,db1/disk-sda/disk_io_time/io_time,db1/processes/ps_state-blocked,db1/load/load/shortterm\n\
            2026-11-21T14:00:00Z,5,95,990,4,8.5\n2026-11-21T14:00:10Z,6,94,980,5,8.6\n2026-11-21T14:00:20Z,4,96,985,5,8.4\n";
        let rows = read(text);
        for word in ["# cpu", "# disk", "sda", "98", "# sched", "8.6"] {
            assert!(rows.contains(word), "{word}\n{rows}");
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
