//! `uptime`, and the first line of `w`: load averages.

use fenxi_model::catalog::sched;

use super::{
    load::{self, load},
    moments::{Moments, is_prompt},
};
use crate::{Family, Format, Head, Input, Out, Sure, stamp};

/// Importer for uptime and w, once or repeatedly.
pub static FORMAT: Format = Format {
    name: "uptime",
    summary: "uptime and w, once or repeatedly: load averages",
    family: Family::Linux,
    tables: &[&sched::TABLE],
    example: " 08:19:07 up  3:22,  2 users,  load average: 0.28, 0.28, 0.48\n",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    // Other tools have such a line above their own.
    let own = |line: &str| load(line).is_some() && !line.contains("top - ");
    let mut rest = head.lines().filter(|l| !own(l)).filter(|l| stamp(l).is_none_or(|s| !s.rest.is_empty()));
    if !own(head.first()) && !head.lines().take(3).any(own) {
        return Sure::No;
    }
    match rest.next() {
        None => Sure::Likely,
        Some(line) if is_users(line) => Sure::Certain,
        Some(line) if is_prompt(line, "uptime") => Sure::Likely,
        Some(_) => Sure::No,
    }
}

/// Whether `line` is the header of `w`'s list of users.
fn is_users(line: &str) -> bool {
    line.to_ascii_uppercase().starts_with("USER ") && line.to_ascii_uppercase().contains("TTY")
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut moments = Moments::new(out);
    let mut users = false;
    while input.line().is_some() {
        let number = input.number();
        let line = input.text().trim();
        if let Some(load) = load(line) {
            users = false;
            // A stamp before the line has the date; the time in it is the same.
            let stamped =
                stamp(line).filter(|s| s.rest.contains(" up ") && load::load(s.rest).is_some_and(|l| l.time.is_some()));
            if stamped.is_some() {
                moments.take(line, out);
            } else if let (Some(time), false) = (load.time, moments.is_stamped()) {
                let t = moments.clock.at(time, out);
                moments.set(t);
            }
            let (t, dt) = moments.next(out);
            let mut row = out.row(&sched::TABLE, t, dt);
            row.f64(sched::load1, load.averages[0]).f64(sched::load5, load.averages[1]);
            row.f64(sched::load15, load.averages[2]);
            for (name, value, unit) in [("uptime.up", load.up_s, "s"), ("uptime.users", load.users, "")] {
                if value.is_some() {
                    out.metric(t, dt, name, "", value, unit);
                }
            }
        } else if line.is_empty() || is_prompt(line, "uptime") {
            users = false;
        } else if is_users(line) {
            users = true;
        } else if !users && moments.take(line, out).is_none() {
            out.unknown(number, line, "no line of uptime");
        }
    }
}
