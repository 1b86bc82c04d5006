//! `trace biolatency`: how long requests to block devices took, in the queue and at the device.

use fenxi_live::{
    Frame, View,
    trace::{Column, Distributions, Grouping, Groups, Observed, Sum, Summed, Total},
};
use fenxi_model::{
    Unit,
    catalog::{block_io as c, histogram},
};
use fenxi_source::Options;

use crate::Setting;

/// A line for each device and operation, and their distributions.
pub(super) fn new(options: &Options, setting: &Setting) -> Box<dyn View> {
    Box::new(Summed::new(Biolatency::new(options), setting.when))
}

static GROUPING: Grouping<c::Schema> = Grouping {
    table: &c::TABLE,
    sums: &[
        Sum::Added(|row| row.value(c::requests)),
        Sum::Added(|row| row.value(c::queued)),
        Sum::Added(|row| row.value(c::queued) * row.value(c::queue_us)),
        Sum::Added(|row| row.value(c::requests) * row.value(c::device_us)),
    ],
    columns: &[
        Column::Key("DEVICE", |row| row.text(c::device).to_owned()),
        Column::Key("OPERATION", |row| row.text(c::op).to_owned()),
        Column::Figure("REQUESTS", |sums| format!("{:.0}", sums.of(REQUESTS))),
        Column::Figure("REQ/S", |sums| sums.per_s(REQUESTS)),
        Column::Figure("QUEUED", |sums| format!("{:.0}", sums.of(QUEUED))),
        Column::Figure("IN QUEUE", |sums| sums.mean_in(Unit::Microseconds, QUEUE_US, QUEUED)),
        Column::Figure("AT DEVICE", |sums| sums.mean_in(Unit::Microseconds, DEVICE_US, REQUESTS)),
        Column::Figure("%TIME", |sums| sums.share(DEVICE_US)),
    ],
    order: |sums| [sums.of(DEVICE_US), sums.of(REQUESTS)],
    total: Total::None,
    less: " with less time",
};
const REQUESTS: usize = 0;
const QUEUED: usize = 1;
const QUEUE_US: usize = 2;
const DEVICE_US: usize = 3;

/// Shows the tables `block_io` and `histogram`.
#[derive(Debug)]
struct Biolatency {
    top: usize,
    /// Whether distributions are shown, too.
    drawn: bool,
    groups: Groups<c::Schema>,
    distributions: Distributions,
}

impl Biolatency {
    fn new(options: &Options) -> Biolatency {
        let (top, drawn) = (options.count("top"), !options.is_given("no-distributions"));
        Biolatency { top, drawn, groups: Groups::new(&GROUPING), distributions: Distributions::default() }
    }
}

impl Observed for Biolatency {
    fn take(&mut self, frame: &Frame<'_>) {
        if let Some(rows) = frame.rows.of(&c::TABLE) {
            self.groups.take(rows, frame.dt, |_| true);
        }
        if let Some(rows) = frame.rows.of(&histogram::TABLE).filter(|_| self.drawn) {
            self.distributions.take(rows, "block_");
        }
    }

    fn show(&mut self, elapsed_s: f64, out: &mut String) {
        if self.groups.is_empty() {
            out.push_str("no requests to block devices\n");
            return;
        }
        self.groups.show(elapsed_s, self.top, out);
        out.push('\n');
        self.distributions.show(out);
    }
}

#[cfg(test)]
mod tests {
    use fenxi_live::trace::When;
    use fenxi_model::{Micros, Rows};

    use super::*;

    #[test]
    fn means_are_of_all_requests_and_of_those_that_were_queued() {
        let options = Options::new(crate::biolatency::OBSERVER.options());
        let mut view = Summed::new(Biolatency::new(&options), When::AtTheEnd);
        let mut out = String::new();
        for (requests, queued, queue_us, device_us) in [(100.0, 50.0, Some(20.0), 300.0), (300.0, 0.0, None, 100.0)] {
            let mut rows = Rows::new("h");
            rows.row(&c::TABLE, Micros(0), 2.0)
                .str(c::device, "vda")
                .str(c::op, "read")
                .f64(c::requests, requests)
                .f64(c::queued, queued)
                .f64(c::queue_us, queue_us)
                .f64(c::device_us, device_us);
            rows.row(&c::TABLE, Micros(0), 2.0)
                .str(c::device, "vda")
                .str(c::op, "flush")
                .f64(c::requests, 1.0)
                .f64(c::queued, 0.0)
                .f64(c::device_us, 10_000.0);
            rows.row(&histogram::TABLE, Micros(0), 2.0)
                .str(histogram::name, "block_device_us")
                .str(histogram::labels, "device=vda,op=read")
                .str(histogram::unit, "us")
                .f64(histogram::lo, 128.0)
                .f64(histogram::count, requests);
            view.frame(&Frame { t: Micros(0), dt: 2.0, since_boot: false, rows: &rows }, &mut out);
        }
        view.end(&mut out);
        let (table, rest) = out.split_once("\n\n").unwrap();
        assert_eq!(
            table,
            "\
DEVICE  OPERATION  REQUESTS  REQ/S  QUEUED  IN QUEUE  AT DEVICE  %TIME
vda     read            400  100.0      50   20.0 µs     150 µs   75.0
vda     flush             2    0.5       0         -    10.0 ms   25.0"
        );
        assert!(rest.starts_with("block_device_us device=vda,op=read (us)\n") && rest.contains(" 400\n"), "{rest}");
    }
}
