//! `pidstat -o JSON` of sysstat, from version 12.7.6 on: processes, and with `-t` their threads.
//!
//! Unlike in the text each thread names its process. As there a section has only the tasks that did
//! something of its kind, and what may not be read is -1.

use fenxi_model::catalog::{process, thread};
use serde_json::{Map, Value};

use super::{
    iostat_json::date,
    json::{Part, each, is_document, label, stamp_in, time},
    pidstat::{Id, Tasks, column, take},
    times::{Stamp, Times},
};
use crate::import::{Family, Format, Input, Out, Sure, Ticker};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "pidstat-json",
    summary: "pidstat of sysstat with -o JSON",
    family: Family::Linux,
    tables: &[&process::TABLE, &thread::TABLE],
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
					"task-cpu-load": [
						{"UID": "999", "PID": "3094", "usr": 57.43, "system": 1.98, "guest": 0.00, "wait": 0.00, "cpu": 59.41, "cpu_nr": 1, "cmd": "mariadbd"}
					]
				}
			]
		}
	]
}}
"#,
    sniff: |head| Sure::Certain.when(is_document(head, SECTIONS)),
    read,
};

const SECTIONS: &[&str] =
    &["task-cpu-load", "child-cpu-load", "task-memory", "child-memory", "context-switch", "kernel", "realtime"];

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let head = input.head();
    let seconds = |line: &str| stamp_in(line).and_then(time).map(|time| Stamp::Time(time).seconds());
    let ticker = Ticker::new(out.hints(), &head, seconds);
    let mut times = Times::new(out, ticker, None);
    drop(head);
    let mut tasks = Tasks::default();
    each(input, out, |part, out| match part {
        Part::Host("nodename", name) => out.set_host(name.as_str().unwrap_or("")),
        Part::Host(key, value) => {
            if let Some(date) = date(key, value) {
                times.begin(date);
            }
        }
        Part::Report(report) => {
            if let Some(time) = report.get("timestamp").and_then(Value::as_str).and_then(time) {
                times.stamp(Stamp::Time(time), out);
            }
            times.report(false, out);
            let (t, dt) = times.at();
            let objects = report.values().filter_map(Value::as_array).flatten().filter_map(Value::as_object);
            for object in objects {
                gather(object, &times, &mut tasks, out);
            }
            tasks.flush(out, t, dt);
        }
    });
}

/// Takes what one section says of a task.
fn gather(object: &Map<String, Value>, times: &Times, tasks: &mut Tasks, out: &mut Out<'_>) {
    let id = |key: &str| label(object, key).parse::<i64>().ok();
    let id = Id { pid: id("PID").or(id("TGID")), tid: id("TID") };
    if id.pid.is_none() && id.tid.is_none() {
        return;
    }
    let user = [label(object, "USER"), label(object, "UID")].concat();
    let (t, dt) = times.at();
    let place = tasks.enter(id, &user, &label(object, "cmd"));
    for (key, value) in object {
        if value.is_number() {
            take(&column(header(key)), &value.to_string(), (&mut *tasks, place), id, (0, t, dt), out);
        }
    }
}

/// The header under which the text has what JSON calls `key`.
fn header(key: &str) -> &str {
    match key {
        "usr" => "%usr",
        "system" => "%system",
        "guest" => "%guest",
        "wait" => "%wait",
        "cpu" => "%CPU",
        "cpu_nr" => "CPU",
        "MEM" => "%MEM",
        other => other,
    }
}
