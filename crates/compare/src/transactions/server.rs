//! Which processes and which cgroup are the server that was loaded, among all that the machine ran.

use fenxi_analyze::{Measured, Quota, Source, kind_name as name};

use super::Row;

/// Programs of database servers by the word that a load has for their protocol.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("postgres", &["postgres", "postmaster"]),
    ("postgresql", &["postgres", "postmaster"]),
    ("mysql", &["mysqld", "mariadbd"]),
    ("mariadb", &["mysqld", "mariadbd"]),
];
/// Parts of the names that cgroups of database servers have.
const GROUPS: &[&str] = &["postgres", "mariadb", "mysql"];
/// By which share the CPU time of a cgroup may differ from that of the processes that are all of it.
const SAME: f64 = 0.15;

/// The processes of a server.
pub(super) struct Server {
    rows: Vec<Row>,
    /// How many servers there were besides.
    others: usize,
}

impl Server {
    /// The processes of the loaded server: those that a poller named; or of the program that speaks the load's protocol, the
    /// ones that used as much CPU time as the load saw its server use, or else the most.
    pub(super) fn choose(all: &[Row], protocol: Option<&str>, cpu: Option<f64>) -> Option<Server> {
        let programs =
            protocol.and_then(|p| PROGRAMS.iter().find(|(word, _)| *word == p)).map(|(_, programs)| *programs);
        let fits = |row: &&Row| programs.is_none_or(|programs| programs.contains(&row.word("comm")));
        let named: Vec<Row> = all.iter().filter(|row| row.is("is_named")).filter(fits).cloned().collect();
        if !named.is_empty() {
            return Some(Server { rows: named, others: 0 });
        }
        let all: Vec<&Row> = all.iter().filter(fits).collect();
        let used = |row: &Row| row.number("all_cpu").unwrap_or(0.0);
        let nearness = |row: &Row| cpu.map_or_else(|| -used(row), |cpu| (used(row) - cpu).abs());
        let best = all.iter().min_by(|x, y| nearness(x).total_cmp(&nearness(y)))?;
        let others = if cpu.is_some() { 0 } else { all.len() - 1 };
        Some(Server { rows: vec![(*best).clone()], others })
    }

    fn sum(&self, column: &str) -> Option<f64> {
        let values: Vec<f64> = self.rows.iter().filter_map(|row| row.number(column)).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }

    /// Time of the processes that serve clients, by the operating system. CPU time is counted, and only divided as ticks
    /// sample it.
    pub(super) fn source(&self) -> Source {
        let mut source = Source::new(Measured::Os);
        let cpu = self.sum("cpu");
        match self.sum("usr").zip(self.sum("sys")).filter(|(usr, sys)| usr + sys > 0.0) {
            Some((usr, sys)) => {
                source.add(name::USER, cpu.map(|cpu| cpu * usr / (usr + sys)), &[name::PROTOCOL]);
                source.add(name::SYSTEM, cpu.map(|cpu| cpu * sys / (usr + sys)), &[name::PROTOCOL]);
            }
            None => source.add(name::CPU, cpu, &[name::PROTOCOL]),
        }
        source.add(name::RUN_QUEUE, self.sum("run_queue"), &[]);
        source
    }

    /// Their waits for block I/O. A kernel without delay accounting reports 0 for all.
    pub(super) fn block_io(&self) -> Source {
        let mut source = Source::new(Measured::Os);
        source.add(name::BLOCK_IO, self.sum("io_wait").filter(|time| *time > 0.0), &[]);
        source
    }

    /// Notes on the figures.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let is_threaded = |row: &Row| ["mysqld", "mariadbd"].contains(&row.word("comm"));
        if self.rows.iter().any(is_threaded) {
            notes.push("CPU time and run queue are of the server's background threads, too".to_owned());
        }
        if let ([row], 1..) = (self.rows.as_slice(), self.others) {
            let pid = row.number("pid").unwrap_or(0.0);
            notes.push(format!(
                "{} database servers ran; taken for the loaded one is process {pid}, which used the most CPU time",
                self.others + 1
            ));
        }
        notes
    }
}

/// Throttling by a quota of the server's cgroup, and doubts about it. None where no cgroup was observed, or it is
/// unknown which of those throttled is the server's.
pub(super) fn quota(cgroups: &[Row], server: Option<&Server>, cpus: Option<f64>) -> (Option<Quota>, Option<String>) {
    let throttled = |row: &Row| row.number("throttled").unwrap_or(0.0);
    let of = |time: f64| Some(Quota { throttled: time, cpus });
    let held: Vec<&Row> = cgroups.iter().filter(|row| throttled(row) > 0.0).collect();
    if held.is_empty() {
        return (if cgroups.is_empty() { None } else { of(0.0) }, None);
    }
    if let Some(named) = cgroups.iter().find(|row| row.is("is_named")) {
        return (of(throttled(named)), None);
    }
    let is_called = |row: &&&Row| {
        let last = row.word("cgroup").rsplit('/').next().unwrap_or_default().to_lowercase();
        GROUPS.iter().any(|word| last.contains(word))
    };
    let used = server.and_then(|server| server.sum("all_cpu")).filter(|used| *used > 0.0);
    let is_as_busy =
        |row: &&&Row| used.zip(row.number("cpu")).is_some_and(|(used, cpu)| (cpu - used).abs() <= SAME * used);
    let longest = |rows: Vec<f64>| rows.into_iter().reduce(f64::max);
    let called = longest(held.iter().filter(is_called).map(|row| throttled(row)).collect());
    let found = called.or_else(|| longest(held.iter().filter(is_as_busy).map(|row| throttled(row)).collect()));
    match found {
        Some(time) => (of(time), None),
        None => {
            let names: Vec<&str> = held.iter().map(|row| row.word("cgroup")).collect();
            (None, Some(format!("throttled by a quota, and not known to be the server's: {}", names.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(words: &[(&str, &str)], numbers: &[(&str, f64)]) -> Row {
        Row {
            words: words.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            numbers: numbers.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect(),
        }
    }

    fn process(comm: &str, pid: f64, cpu: f64, named: bool) -> Row {
        let named = if named { "true" } else { "false" };
        row(&[("comm", comm), ("is_named", named)], &[("pid", pid), ("all_cpu", cpu), ("cpu", cpu)])
    }

    #[test]
    fn the_loaded_server_is_found_among_others() {
        let all = [
            process("postgres", 1.0, 0.5, false),
            process("postgres", 2.0, 3.0, false),
            process("mariadbd", 3.0, 9.0, false),
        ];
        let pid = |server: Option<Server>| server.unwrap().rows[0].number("pid").unwrap();
        assert_eq!(pid(Server::choose(&all, None, None)), 3.0);
        assert_eq!(pid(Server::choose(&all, Some("postgres"), None)), 2.0);
        assert_eq!(pid(Server::choose(&all, Some("postgres"), Some(0.6))), 1.0);
        let named = [all[1].clone(), process("postgres", 7.0, 0.1, true)];
        assert_eq!(pid(Server::choose(&named, Some("postgres"), None)), 7.0);
        assert!(Server::choose(&all, Some("mysql"), None).unwrap().notes()[0].contains("background threads"));
        let [note] = Server::choose(&all, Some("postgres"), None).unwrap().notes().try_into().unwrap();
        assert_eq!(note, "2 database servers ran; taken for the loaded one is process 2, which used the most CPU time");
        assert!(Server::choose(&all[2..], Some("postgres"), None).is_none());
    }

    #[test]
    fn a_quota_is_the_servers_by_word_by_name_or_by_its_cpu_time() {
        let group = |name: &str, throttled: f64, cpu: f64, named: &str| {
            row(&[("cgroup", name), ("is_named", named)], &[("throttled", throttled), ("cpu", cpu)])
        };
        let server = Server::choose(&[process("postgres", 1.0, 0.5, false)], None, None);
        let found = |groups: &[Row]| quota(groups, server.as_ref(), Some(4.0));
        let of = |time: f64| Some(Quota { throttled: time, cpus: Some(4.0) });
        assert_eq!(found(&[]), (None, None));
        assert_eq!(found(&[group("/a", 0.0, 1.0, "false")]), (of(0.0), None));
        // Another service's quota is none of the server's.
        let other = group("/batch", 0.9, 2.0, "false");
        assert_eq!(found(&[other.clone(), group("/box", 0.3, 0.52, "false")]), (of(0.3), None));
        assert_eq!(found(&[other.clone(), group("/postgresql.service", 0.2, 2.0, "false")]), (of(0.2), None));
        assert_eq!(found(&[other.clone(), group("/db", 0.0, 0.5, "true")]), (of(0.0), None));
        let (none, doubt) = found(&[other]);
        assert_eq!((none, doubt.unwrap().ends_with("not known to be the server's: /batch")), (None, true));
    }
}
