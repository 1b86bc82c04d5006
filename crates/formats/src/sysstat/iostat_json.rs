//! `iostat -o JSON` of sysstat.
//!
//! As in the text the first report is the average since boot unless `-y` was given, which versions
//! up to 12.7.8 show by a blank line before it. Times are there with `-t` only.

use fenxi_model::catalog::{cpu, disk};
use serde_json::{Map, Value};

use super::{
    iostat::columns::{CPU, DEVICE},
    json::{Columns, is_document, label, objects, reports_of_moments},
    times::Times,
};
use crate::{Family, Format, Input, Out, Sure};

/// Importer for iostat of sysstat with -o JSON.
pub static FORMAT: Format = Format {
    name: "iostat-json",
    summary: "iostat of sysstat with -o JSON",
    family: Family::Linux,
    tables: &[&cpu::TABLE, &disk::TABLE],
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
					"avg-cpu":  {"user": 12.03, "nice": 0.00, "system": 3.10, "iowait": 0.25, "steal": 0.00, "idle": 84.62},
					"disk": [
						{"disk_device": "sda", "tps": 5.00, "kB_read/s": 40.00, "kB_wrtn/s": 3624.00, "kB_read": 40, "kB_wrtn": 3624}
					]
				}
			]
		}
	]
}}
"#,
    sniff: |head| Sure::Certain.when(is_document(head, &["avg-cpu", "disk_device"])),
    read,
};

const CPUS: Columns = Columns { format: "iostat-json", table: &cpu::TABLE, known: CPU };
const DISKS: Columns = Columns { format: "iostat-json", table: &disk::TABLE, known: DEVICE };

/// The shortest uptime that a report of known length is taken for, in seconds.
const SHORTEST_UPTIME: f64 = 60.0;

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let is_boot = |report: &Map<String, Value>, first: bool, times: &mut Times| {
        let length = length(report);
        let boot = first && length.is_none_or(|s| s >= SHORTEST_UPTIME);
        if let Some(length) = length.filter(|_| !boot) {
            times.usual_is(length.round().max(1.0));
        }
        boot
    };
    reports_of_moments(input, out, is_boot, write);
}

/// The length of a report in seconds, from what was moved over what was moved per second.
fn length(report: &Map<String, Value>) -> Option<f64> {
    let number = |disk: &Map<String, Value>, key: &str| disk.get(key).and_then(Value::as_f64);
    let lengths = objects(report, "disk").filter_map(|disk| {
        let ends =
            ["read", "wrtn"].into_iter().flat_map(|what| ["kB", "MB", "Blk"].map(|unit| format!("{unit}_{what}")));
        let moved = ends.filter_map(|end| Some((number(disk, &end)?, number(disk, &format!("{end}/s"))?)));
        moved.filter(|(sum, rate)| *sum >= 50.0 && *rate > 0.0).map(|(sum, rate)| sum / rate).reduce(f64::max)
    });
    lengths.reduce(f64::max)
}

fn write(report: &Map<String, Value>, times: &Times, out: &mut Out<'_>) {
    if let Some(shares) = report.get("avg-cpu").and_then(Value::as_object) {
        CPUS.write(out, times.at(), shares, |_| {}, "");
    }
    for device in objects(report, "disk") {
        let name = label(device, "disk_device");
        let keys = |row: &mut fenxi_model::Row<'_>| {
            if let Some(mut row) = row.typed(&disk::TABLE) {
                row.str(disk::device, name.as_str());
            }
        };
        DISKS.write(out, times.at(), device, keys, &format!("device={name}"));
    }
}
