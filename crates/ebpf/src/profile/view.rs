//! `trace profile`: hottest functions of a CPU profile.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use fenxi_live::{
    Frame, View, columns,
    trace::{Observed, Summed, more},
};
use fenxi_model::{Unit, catalog::stack as c};
use fenxi_source::Options;

use crate::Setting;

/// Functions, the hottest first; or folded stacks.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Profile::new(options), setting.when))
}

/// Shows the table `stack`.
#[derive(Debug)]
struct Profile {
    /// Functions are shown until they have this share of all samples, percent.
    until_pct: f64,
    /// Whole stacks to show; 0: none.
    stacks: usize,
    /// Nothing but stacks with their samples, a line each, as flame graphs are made of.
    folded: bool,
    /// By event; program and stack to samples and seconds.
    sums: BTreeMap<String, BTreeMap<(String, String), Sum>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    samples: f64,
    time_s: f64,
}

impl Sum {
    fn add(&mut self, more: Sum) {
        self.samples += more.samples;
        self.time_s += more.time_s;
    }
}

/// A function: where it was on top, and where it was anywhere in the stack.
#[derive(Clone, Copy, Debug, Default)]
struct Function {
    own: Sum,
    with_callees: Sum,
}

impl Profile {
    fn new(options: &Options) -> Profile {
        let (until_pct, stacks) = (options.decimal("until"), options.count("stacks"));
        Profile { until_pct, stacks, folded: options.is_given("folded"), sums: BTreeMap::new() }
    }

    fn hottest(&self, event: &str, stacks: &BTreeMap<(String, String), Sum>, out: &mut String) {
        let mut total = Sum::default();
        let mut functions: BTreeMap<&str, Function> = BTreeMap::new();
        for ((_, stack), sum) in stacks {
            total.add(*sum);
            if let Some(top) = stack.rsplit(';').next() {
                functions.entry(top).or_default().own.add(*sum);
            }
            // Once, however often it calls itself.
            for function in stack.split(';').collect::<BTreeSet<_>>() {
                functions.entry(function).or_default().with_callees.add(*sum);
            }
        }
        let waits = event == "off-cpu";
        let weight = |sum: Sum| if waits { sum.time_s } else { sum.samples };
        let of = weight(total);
        let what = if waits { "waits" } else { "samples" };
        let _ = writeln!(out, "{event}: {:.0} {what}, {}", total.samples, Unit::Seconds.human(total.time_s));
        let mut lines: Vec<_> = functions.into_iter().filter(|(_, f)| f.own.samples > 0.0).collect();
        lines.sort_by(|(_, a), (_, b)| weight(b.own).total_cmp(&weight(a.own)));
        let share = |part: f64| if of > 0.0 { 100.0 * part / of } else { 0.0 };
        let (mut so_far, mut rows) = (0.0, Vec::new());
        for (name, function) in &lines {
            so_far += weight(function.own);
            rows.push(vec![
                format!("{:.0}", function.own.samples),
                Unit::Seconds.human(function.own.time_s).to_string(),
                format!("{:.1}", share(weight(function.own))),
                format!("{:.1}", share(so_far)),
                format!("{:.1}", share(weight(function.with_callees))),
                (*name).to_owned(),
            ]);
            if share(so_far) >= self.until_pct {
                break;
            }
        }
        let count = if waits { "WAITS" } else { "SAMPLES" };
        let header = [count, "TIME", "%", "CUM%", "%WITH CALLEES", "FUNCTION"];
        out.push_str(&columns(&header, &[0, 1, 2, 3, 4], &rows));
        more(lines.len() - rows.len(), &format!(", {:.1} % together", 100.0 - share(so_far)), "--until", out);
        self.whole_stacks(stacks, weight, of, out);
    }

    fn whole_stacks(
        &self,
        stacks: &BTreeMap<(String, String), Sum>,
        weight: impl Fn(Sum) -> f64,
        of: f64,
        out: &mut String,
    ) {
        let mut lines: Vec<_> = stacks.iter().collect();
        lines.sort_by(|(_, a), (_, b)| weight(**b).total_cmp(&weight(**a)));
        for ((comm, stack), sum) in lines.into_iter().take(self.stacks) {
            let share = if of > 0.0 { 100.0 * weight(*sum) / of } else { 0.0 };
            let _ = writeln!(out, "\n{share:.1} %, {:.0}, {}: {comm}", sum.samples, Unit::Seconds.human(sum.time_s));
            for frame in stack.rsplit(';') {
                let _ = writeln!(out, "    {frame}");
            }
        }
    }
}

fn fold(stacks: &BTreeMap<(String, String), Sum>, out: &mut String) {
    for ((comm, stack), sum) in stacks {
        // As perf and flame graphs have it: the program first, blanks in names would end the stack.
        let _ = writeln!(out, "{};{} {:.0}", comm.replace([' ', ';'], "_"), stack.replace(' ', "_"), sum.samples);
    }
}

impl Observed for Profile {
    fn take(&mut self, frame: &Frame<'_>) {
        let Some(rows) = frame.rows.of(&c::TABLE) else { return };
        for row in 0..rows.n_rows() {
            let text = |place| rows.str(row, place).unwrap_or("").to_owned();
            let value = |place| rows.f64(row, place).unwrap_or(0.0);
            let sum = Sum { samples: value(c::samples), time_s: value(c::time_s) };
            let of_event = self.sums.entry(text(c::event)).or_default();
            of_event.entry((text(c::comm), text(c::stack))).or_default().add(sum);
        }
    }

    fn show(&mut self, _: f64, out: &mut String) {
        let sums = std::mem::take(&mut self.sums);
        if sums.is_empty() && !self.folded {
            out.push_str("no samples\n");
        }
        // On a CPU first: the names are in the other order.
        for (event, stacks) in sums.into_iter().rev() {
            if self.folded {
                fold(&stacks, out);
            } else {
                self.hottest(&event, &stacks, out);
            }
        }
    }

    fn is_data(&self) -> bool {
        self.folded
    }
}

#[cfg(test)]
mod tests {
    use fenxi_live::trace::When;
    use fenxi_model::{Micros, Rows};

    use super::*;

    fn shown(given: &[(&str, Option<&str>)]) -> String {
        let mut options = Options::new(crate::profile::OBSERVER.options());
        given.iter().for_each(|(name, value)| options.give(name, *value).unwrap());
        let mut rows = Rows::new("h");
        for (stack, samples) in [("main;a;hot", 90.0), ("main;hot", 5.0), ("main;a;b;a", 4.0), ("idle f", 1.0)] {
            let mut row = rows.row(&c::TABLE, Micros(0), 1.0);
            row.str(c::comm, "prog");
            row.str(c::event, "on-cpu");
            row.str(c::stack, stack);
            row.f64(c::samples, samples);
            row.f64(c::time_s, samples / 100.0);
        }
        let mut view = Summed::new(Profile::new(&options), When::AtTheEnd);
        let mut out = String::new();
        view.frame(&Frame { t: Micros(0), dt: 1.0, since_boot: false, rows: &rows }, &mut out);
        view.end(&mut out);
        out
    }

    #[test]
    fn functions_are_added_up_until_nearly_all_is_told() {
        let expected = "\
on-cpu: 100 samples, 1.00 s
SAMPLES    TIME     %  CUM%  %WITH CALLEES  FUNCTION
     95  950 ms  95.0  95.0           95.0  hot
(2 more, 5.0 % together: --until)

90.0 %, 90, 900 ms: prog
    hot
    a
    main
";
        assert_eq!(shown(&[("stacks", Some("1"))]), expected);
        let all = shown(&[("until", Some("100"))]);
        let line = all.lines().find(|line| line.ends_with("  a")).unwrap();
        assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["4", "40.0", "ms", "4.0", "99.0", "94.0", "a"]);
    }

    #[test]
    fn folded_stacks_are_as_flame_graphs_want_them() {
        assert_eq!(
            shown(&[("folded", None)]),
            "prog;idle_f 1\nprog;main;a;b;a 4\nprog;main;a;hot 90\nprog;main;hot 5\n"
        );
    }
}
