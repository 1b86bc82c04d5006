//! `pidstat -o JSON` of sysstat, from version 12.7.6 on: processes, and with `-t` their threads.
//!
//! Unlike in the text each thread names its process. As there a section has only the tasks that did
//! something of its kind, and what may not be read is -1.

use fenxi_model::{
    Micros,
    catalog::{process, thread},
};
use serde_json::{Map, Value};

use super::{
    json::{is_document, label, reports},
    pidstat::{Id, Tasks, column, take},
};
use crate::{Family, Format, Input, Out, Sure};

/// Importer for pidstat of sysstat with -o JSON.
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
    let mut tasks = Tasks::default();
    reports(input, out, |report, (t, dt), out| {
        let objects = report.values().filter_map(Value::as_array).flatten().filter_map(Value::as_object);
        for object in objects {
            gather(object, (t, dt), &mut tasks, out);
        }
        tasks.flush(out, t, dt);
    });
}

/// Takes a task's fields of one section.
fn gather(object: &Map<String, Value>, (t, dt): (Micros, Option<f64>), tasks: &mut Tasks, out: &mut Out<'_>) {
    let id = |key: &str| label(object, key).parse::<i64>().ok();
    let id = Id { pid: id("PID").or(id("TGID")), tid: id("TID") };
    if id.pid.is_none() && id.tid.is_none() {
        return;
    }
    let user = [label(object, "USER"), label(object, "UID")].concat();
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
