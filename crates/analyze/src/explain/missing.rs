//! Inputs that a breakdown lacks, and how to record them: as data, so that every page words it alike.

use std::collections::BTreeSet;

use fenxi_model::Unit;

use super::{
    RESIDUAL, Split,
    kinds::{OF_THE_REST, name},
};
use crate::RunSummary;

/// A share of the whole by which parts may exceed it before that is reported: figures of two clocks differ that much.
const TOLERANCE: f64 = 0.02;

/// Something that may be unknown.
struct MissingInput {
    /// It is known where one of these parts is.
    parts: &'static [&'static str],
    /// Names the unknown input, and how to record it.
    message: &'static str,
}

const MISSING_INPUTS: &[MissingInput] = &[
    MissingInput {
        parts: &[name::CPU, name::USER, name::SYSTEM],
        message: "CPU time of the server's processes is unknown; record on the server's host (source `process`)",
    },
    MissingInput {
        parts: &[name::RUN_QUEUE],
        message: "run-queue latency of the server's processes is unknown; record on the server's host (source `process`)",
    },
    MissingInput {
        parts: &["lock", "concurrency", name::LOCKS, name::CLIENT, name::OTHER],
        message: "what the server's sessions waited for is unknown; record with `--db URL`, or on the server's host with \
               `--source +querystat`",
    },
    MissingInput {
        parts: &[name::IDLE],
        message: "time between the statements of a transaction is unknown; record with `--db URL`",
    },
    MissingInput {
        parts: &[name::THROTTLED],
        message: "whether a CPU quota throttled the server is unknown; record on its host (source `cgroup`)",
    },
];

/// Where only samples have the CPU time, what they count as such.
pub(super) const ASSUMED: &str =
    "on CPU is assumed: samples count an active session without a wait event, which may wait for a CPU as well";

/// Notes on each group: unknown inputs, doubts about its parts, and possible causes of its residual.
pub(super) fn notes(
    groups: &[(&str, &[RunSummary])],
    split: &Split,
    known: &[BTreeSet<&'static str>],
    off: &[[f64; 2]],
) -> Vec<String> {
    let titles: Vec<&str> = groups.iter().map(|(title, _)| *title).collect();
    let of = |which: &[usize]| match which.len() {
        n if n == titles.len() => String::new(),
        _ => format!("{}: ", which.iter().map(|i| titles[*i]).collect::<Vec<_>>().join(", ")),
    };
    let mut noted: Vec<(Vec<usize>, String)> = Vec::new();
    // A note that holds for several groups is reported once.
    let mut note = |which: Vec<usize>, message: &str| match noted.iter_mut().find(|(_, text)| text == message) {
        Some((of, _)) => of.extend(which),
        None if which.is_empty() => {}
        None => noted.push((which, message.to_owned())),
    };
    let all = || 0..groups.len();
    for input in MISSING_INPUTS {
        note(all().filter(|i| !input.parts.iter().any(|part| known[*i].contains(part))).collect(), input.message);
    }
    let on_cpu = split.parts.iter().filter(|part| part.name == name::CPU);
    let sampled: Vec<usize> =
        on_cpu.flat_map(|part| all().filter(|i| part.measured[*i].as_deref() == Some("sampled"))).collect();
    note(sampled, ASSUMED);
    for (i, (_, runs)) in groups.iter().enumerate() {
        let own: BTreeSet<&String> =
            runs.iter().filter_map(|r| r.transactions.as_ref()).flat_map(|t| &t.notes).collect();
        own.into_iter().for_each(|text| note(vec![i], text));
        let reasons = [
            "was on a CPU or in its run queue, and is taken off them: a session shows its last wait until it has a CPU, and some waits use one",
            "exceeds the latency, and is taken off them: it is within the error of so few samples; record for longer, or with a higher `--db-rate`",
        ];
        for (time, reason) in off[i].into_iter().zip(reasons).filter(|(time, _)| *time > 0.0) {
            let human = Unit::Milliseconds.human(time);
            note(vec![i], &format!("{human} that samples saw as waits {reason}"));
        }
        if let Some(rest) = residual(split, i, &known[i]) {
            note(vec![i], &rest);
        }
    }
    let mut notes: Vec<String> = noted.iter().map(|(which, message)| format!("{}{message}", of(which))).collect();
    for part in &split.parts {
        let mut how: Vec<&String> = part.measured.iter().flatten().collect();
        how.dedup();
        if how.len() > 1 {
            let how: Vec<&str> = how.into_iter().map(String::as_str).collect();
            notes.push(format!("{} was not measured alike ({})", part.name, how.join(" | ")));
        }
    }
    notes
}

/// Possible causes of a group's residual.
fn residual(split: &Split, group: usize, known: &BTreeSet<&'static str>) -> Option<String> {
    let rest = split.parts.iter().find(|part| part.name == RESIDUAL)?;
    let (mean, whole) = (rest.means[group]?, split.whole.means[group]?);
    let human = |ms: f64| Unit::Milliseconds.human(ms).to_string();
    let is_surely_negative = rest.intervals[group].is_none_or(|interval| interval.high < 0.0);
    if mean < -TOLERANCE * whole && is_surely_negative {
        return Some(format!(
            "the parts exceed the {} by {}: other clients of the server, or parallel workers",
            split.what,
            human(-mean)
        ));
    }
    // With nothing of the server known, the residual is the server.
    let of_the_server = known.iter().filter(|name| !OF_THE_REST.contains(name)).count();
    if mean <= TOLERANCE * whole || of_the_server == 0 {
        return None;
    }
    let unknown = |(part, message): (&str, &'static str)| (!known.contains(part)).then_some(message);
    let lacks: Vec<&str> = [(name::NETWORK, "the network"), (name::DRIVER_CPU, "the driver itself")]
        .into_iter()
        .filter_map(unknown)
        .collect();
    (!lacks.is_empty()).then(|| format!("the residual holds {}", lacks.join(" and ")))
}
