//! The tasks of one block: what several sections say of a task becomes one row.

use fenxi_model::{
    Micros,
    catalog::{process, thread},
};
use rustc_hash::FxHashMap;

use super::columns::{CPU, GUEST, N_VALUES, PLACES, SYS, USR};
use crate::Out;

/// Tasks that are gathered before they are written, however incomplete.
const MAX_TASKS: usize = 1 << 18;
/// The longest name of a program that the kernel keeps.
const MAX_COMM: usize = 15;
/// The smallest CPU time, in percent, whose printed figures show whether `%CPU` was divided.
const TELLING: f64 = 0.2;

/// Which task a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Id {
    /// NULL for a thread whose process is unknown.
    pub(in super::super) pid: Option<i64>,
    pub(in super::super) tid: Option<i64>,
}

#[derive(Debug)]
struct Task {
    id: Id,
    user: String,
    comm: String,
    last_cpu: Option<i64>,
    /// NaN for NULL.
    values: [f64; N_VALUES],
}

/// Gathers the tasks of a block.
#[derive(Debug, Default)]
pub(in super::super) struct Tasks {
    places: FxHashMap<Id, usize>,
    /// The first `used` ones are of this block; the others are kept for their memory.
    tasks: Vec<Task>,
    used: usize,
    /// Whether `%CPU` is of all CPUs (`-I`) in this file, once a block has shown it.
    of_all: Option<bool>,
}

impl Tasks {
    /// The task `id`, a new one if the block had none yet. Gives its place.
    pub(in super::super) fn enter(&mut self, id: Id, user: &str, command: &str) -> usize {
        let next = self.used;
        let place = *self.places.entry(id).or_insert(next);
        if place == next {
            self.used += 1;
            if next == self.tasks.len() {
                let (user, comm) = (String::new(), String::new());
                self.tasks.push(Task { id, user, comm, last_cpu: None, values: [f64::NAN; N_VALUES] });
            }
            let task = &mut self.tasks[next];
            (task.id, task.last_cpu, task.values) = (id, None, [f64::NAN; N_VALUES]);
            user.clone_into(&mut task.user);
            comm(command).clone_into(&mut task.comm);
        }
        place
    }

    /// Whether so many are gathered that they should be written.
    pub(in super::super) fn is_full(&self) -> bool {
        self.used >= MAX_TASKS
    }

    pub(in super::super) fn set(&mut self, place: usize, value: usize, number: f64) {
        if let Some(task) = self.tasks.get_mut(place) {
            task.values[value] = number;
        }
    }

    pub(in super::super) fn set_cpu(&mut self, place: usize, cpu: Option<i64>) {
        if let Some(task) = self.tasks.get_mut(place) {
            task.last_cpu = cpu;
        }
    }

    /// Writes all tasks of the block and begins the next one.
    pub(in super::super) fn flush(&mut self, out: &mut Out<'_>, t: Micros, dt: Option<f64>) {
        self.of_all = self.of_all.or_else(|| is_of_all(&self.tasks[..self.used]));
        for task in &mut self.tasks[..self.used] {
            if self.of_all == Some(true) {
                task.whole_cpu();
            }
            task.write(out, t, dt);
        }
        self.places.clear();
        self.used = 0;
    }
}

impl Task {
    /// The CPU time that its parts make, if they are there.
    fn sum_of_parts(&self) -> f64 {
        let guest = self.values[GUEST];
        self.values[USR] + self.values[SYS] + if guest.is_nan() { 0.0 } else { guest }
    }

    /// With `-I` the share of CPU time is of all CPUs, its parts are of one.
    fn whole_cpu(&mut self) {
        let sum = self.sum_of_parts();
        if !sum.is_nan() && !self.values[CPU].is_nan() {
            self.values[CPU] = sum;
        }
    }

    fn write(&self, out: &mut Out<'_>, t: Micros, dt: Option<f64>) {
        let (user, comm) = [&self.user, &self.comm].map(|text| Some(text.as_str()).filter(|t| !t.is_empty())).into();
        let set = self.values.iter().zip(PLACES).filter(|(value, _)| !value.is_nan());
        let Some(tid) = self.id.tid else {
            let mut row = out.row(&process::TABLE, t, dt);
            row.i64(process::pid, self.id.pid).str(process::comm, comm).str(process::user, user);
            row.i64(process::last_cpu, self.last_cpu);
            for (value, (place, _)) in set {
                row.f64(place, *value);
            }
            return;
        };
        let mut set = set.filter_map(|(value, (_, place))| Some((value, place?))).peekable();
        if set.peek().is_none() && self.last_cpu.is_none() {
            return;
        }
        let mut row = out.row(&thread::TABLE, t, dt);
        row.i64(thread::pid, self.id.pid).i64(thread::tid, tid);
        row.str(thread::comm, comm).str(thread::user, user);
        row.i64(thread::last_cpu, self.last_cpu);
        for (value, place) in set {
            row.f64(place, *value);
        }
    }
}

/// Whether `%CPU` was divided by the number of CPUs, by most of the CPU time of its tasks: then it is half of its parts
/// or less. None when no task was busy. The switch holds for a whole file, while a single task's figures may be odd.
fn is_of_all(tasks: &[Task]) -> Option<bool> {
    let busy = tasks.iter().map(|task| (task.values[CPU], task.sum_of_parts())).filter(|(_, sum)| *sum >= TELLING);
    let (mut divided, mut whole) = (0.0, 0.0);
    for (cpu, sum) in busy {
        // The busiest are the most exact.
        if cpu <= sum * 0.6 {
            divided += sum;
        } else if cpu >= sum * 0.8 {
            whole += sum;
        }
    }
    (divided > 0.0 || whole > 0.0).then_some(divided > whole)
}

/// The program's name in a command, which with `-l` is the whole command line: the last part of the
/// path that it begins with.
pub(in super::super) fn comm(command: &str) -> &str {
    let command = command.strip_prefix("|__").unwrap_or(command);
    let is_line = command.starts_with('/') || command.len() > MAX_COMM && command.contains(' ');
    if !is_line {
        return command;
    }
    let path = command.split(' ').next().unwrap_or(command).trim_end_matches(':');
    let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path);
    let end = name.char_indices().map(|(i, c)| i + c.len_utf8()).take_while(|end| *end <= MAX_COMM).last();
    name.get(..end.unwrap_or(0)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::comm;

    #[test]
    fn the_program_is_told_from_its_command_line() {
        for (command, name) in [
            ("rustc", "rustc"),
            ("|__lto cgu.01", "lto cgu.01"),
            ("kworker/u8:0-ext4-rsv-conversion", "kworker/u8:0-ext4-rsv-conversion"),
            ("/usr/sbin/mariadbd --user=mysql", "mariadbd"),
            ("/usr/lib/postgresql/15/bin/postgres", "postgres"),
            ("nginx: worker process", "nginx"),
            ("python3 /opt/a/long/program.py --x", "python3"),
            ("/opt/a-name-of-more-than-15-characters", "a-name-of-more-"),
            ("", ""),
        ] {
            assert_eq!(comm(command), name, "{command}");
        }
    }
}
