//! `mpstat -o JSON` of sysstat: processors, interrupts and soft interrupts.
//!
//! Its times of day mark the end of each report; the date is in the head of the document. A
//! document of a single report may be the average since boot (mpstat without an interval), but
//! nothing in it distinguishes that from a sample.

use fenxi_model::{
    AnySchema, Micros, Place, Table,
    catalog::{cpu, irq, softirq},
    place::{F64, Label},
};
use serde_json::{Map, Value};

use super::{
    json::{Columns, is_document, label, objects, reports},
    mpstat::{COLUMNS, JOINED},
};
use crate::{Family, Format, Input, Join, Out, Sure};

/// Importer for mpstat of sysstat with -o JSON.
pub static FORMAT: Format = Format {
    name: "mpstat-json",
    summary: "mpstat of sysstat with -o JSON",
    family: Family::Linux,
    tables: &[&cpu::TABLE, &irq::TABLE, &softirq::TABLE],
    example: r#"{"sysstat": {
	"hosts": [
		{
			"nodename": "db1",
			"sysname": "Linux",
			"release": "6.1.0",
			"machine": "x86_64",
			"number-of-cpus": 8,
			"date": "11/21/26",
			"statistics": [
				{
					"timestamp": "14:35:53",
					"cpu-load": [
						{"cpu": "all", "usr": 12.03, "nice": 0.00, "sys": 3.10, "iowait": 0.25, "irq": 0.00, "soft": 0.38, "steal": 0.00, "guest": 0.00, "gnice": 0.00, "idle": 84.24}
					]
				}
			]
		}
	]
}}
"#,
    sniff: |head| Sure::Certain.when(is_document(head, KINDS)),
    read,
};

const KINDS: &[&str] = &["cpu-load", "node-load", "sum-interrupts", "individual-interrupts", "soft-interrupts"];
const CPUS: Columns = Columns { format: "mpstat-json", table: &cpu::TABLE, known: COLUMNS };

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut join = Join::new(&cpu::TABLE, Some(cpu::cpu), JOINED);
    reports(input, out, |report, at, out| {
        write(report, at, &mut join, out);
        join.flush(out);
    });
}

/// The CPU's number; NULL for all together, which version 12.0 calls `-1`.
fn cpu_of(object: &Map<String, Value>) -> String {
    let name = label(object, "cpu");
    if matches!(name.as_str(), "all" | "-1") { String::new() } else { name }
}

fn write(report: &Map<String, Value>, at: (Micros, Option<f64>), join: &mut Join<cpu::Schema>, out: &mut Out<'_>) {
    for object in objects(report, "cpu-load") {
        let name = cpu_of(object);
        for (place, value) in CPUS.values(object) {
            join.set_column(out, at, &name, place, Some(value));
        }
        CPUS.metrics(out, at, object, &format!("cpu={name}"));
    }
    for object in objects(report, "node-load") {
        nodes(object, report.contains_key("cpu-load"), at, join, out);
    }
    for object in objects(report, "sum-interrupts") {
        let value = object.get("intr").and_then(Value::as_f64);
        join.set(out, at.0, at.1, &cpu_of(object), cpu::intr_per_s, value);
    }
    let places = (irq::irq, irq::cpu, irq::intr_per_s);
    interrupts(report, "individual-interrupts", &irq::TABLE, places, at, out);
    let places = (softirq::softirq, softirq::cpu, softirq::softirqs_per_s);
    interrupts(report, "soft-interrupts", &softirq::TABLE, places, at, out);
}

/// Shares by NUMA node, as the text has them; those of all nodes are of all CPUs, which `by_cpu` reports already.
fn nodes(
    object: &Map<String, Value>,
    by_cpu: bool,
    at: (Micros, Option<f64>),
    join: &mut Join<cpu::Schema>,
    out: &mut Out<'_>,
) {
    let node = label(object, "node");
    if node != "all" {
        for (key, value) in object.iter().filter_map(|(key, value)| Some((key, value.as_f64()?))) {
            out.metric(at.0, at.1, &format!("mpstat.%{key}"), &format!("node={node}"), value, "");
        }
    } else if !by_cpu {
        for (place, value) in CPUS.values(object) {
            join.set_column(out, at, "", place, Some(value));
        }
    }
}

/// Writes each interrupt of each CPU: the columns are those of its name, its CPU and its rate.
fn interrupts<S: AnySchema>(
    report: &Map<String, Value>,
    key: &str,
    table: &'static Table<S>,
    (kind, cpu, rate): (Place<S, Label>, Place<S, Label>, Place<S, F64>),
    at: (Micros, Option<f64>),
    out: &mut Out<'_>,
) {
    for object in objects(report, key) {
        let name = cpu_of(object);
        let of_cpu = Some(name.as_str()).filter(|name| !name.is_empty());
        for interrupt in objects(object, "intr") {
            let interrupt_name = label(interrupt, "name");
            let mut row = out.row(table, at.0, at.1);
            row.str(kind, interrupt_name.as_str()).str(cpu, of_cpu);
            row.f64(rate, interrupt.get("value").and_then(Value::as_f64));
        }
    }
}
