//! When tools that print no times were run: `date` before each, a loop, or only an interval.

use fenxi_model::Micros;

use crate::{Clock, Out, Relative, stamp};

/// The times of outputs that are printed again and again, each at one moment.
#[derive(Debug)]
pub struct Moments {
    pub clock: Clock,
    /// A time stamp that no output has taken yet.
    stamped: Option<Micros>,
    last: Option<Micros>,
    interval_s: Option<f64>,
    /// Whether the time of the last output was assumed.
    assumed: bool,
}

impl Moments {
    /// Times by the hints, until stamps say better.
    pub fn new(out: &Out<'_>) -> Moments {
        Moments {
            clock: Clock::new(out.hints()),
            stamped: None,
            last: None,
            interval_s: out.hints().interval_s,
            assumed: false,
        }
    }

    /// Sets the seconds between outputs, from the command; the user's word wins.
    pub fn set_interval(&mut self, seconds: f64) {
        if seconds > 0.0 && self.interval_s.is_none() {
            self.interval_s = Some(seconds);
        }
    }

    /// Sets the moment of the next output, from the content.
    pub fn set(&mut self, t: Micros) {
        self.stamped = Some(t);
    }

    /// Takes a time stamp off the front of `line` and gives what follows; None when there is none.
    pub fn take<'l>(&mut self, line: &'l str, out: &mut Out<'_>) -> Option<&'l str> {
        let stamp = stamp(line)?;
        self.stamped = Some(stamp.when.moment(&mut self.clock, out));
        Some(stamp.rest)
    }

    /// Returns true if a time stamp came since the last output.
    pub fn is_stamped(&self) -> bool {
        self.stamped.is_some()
    }

    /// Returns true if it is known how long the last output was after the one before, not assumed: counters make no rates
    /// without it.
    pub fn is_measured(&self) -> bool {
        !self.assumed
    }

    /// The time of the next output, and how long it is after the one before.
    pub fn next(&mut self, out: &mut Out<'_>) -> (Micros, Option<f64>) {
        self.assumed |= self.stamped.is_none() && self.interval_s.is_none();
        let (t, dt) = match (self.stamped.take(), self.last) {
            (Some(t), last) => (t, last.map(|last| t.seconds_since(last)).filter(|dt| *dt > 0.0)),
            (None, None) => (Relative::elapsed(out).after(0.0), None),
            (None, Some(last)) => {
                let dt = self.interval(out);
                (Micros(last.0.saturating_add((dt * 1e6).round() as i64)), Some(dt))
            }
        };
        self.last = Some(t);
        (t, dt)
    }

    fn interval(&mut self, out: &mut Out<'_>) -> f64 {
        *self.interval_s.get_or_insert_with(|| {
            out.assume("one second between samples, as the input does not say (give --interval)");
            1.0
        })
    }
}

/// Returns true if `line` is a shell's prompt, with or without a command, or an echo that the terminal left.
pub fn is_prompt(line: &str, command: &str) -> bool {
    let ends = line.len() < 80 && line.ends_with(['$', '#', '%', '>']) && !line.contains("  ");
    let mut words = line.split_ascii_whitespace();
    ends || matches!(line, "^C" | "^D" | "exit" | "logout")
        || words.any(|w| w.ends_with(['$', '#', '%', '>', '+'])) && words.any(|w| w.rsplit('/').next() == Some(command))
        || line.split_ascii_whitespace().next() == Some(command)
}
