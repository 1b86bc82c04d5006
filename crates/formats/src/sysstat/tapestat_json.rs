//! `tapestat -o JSON` of sysstat.
//!
//! As in the text the first report is the average since boot, unless `-y` left it out, and figures are whole numbers, cut and
//! not rounded.
//!
//! The fixtures are outputs of sysstat 12.7.9 over counters that a script wrote in the kernel's place.

use fenxi_model::catalog::{disk, metric};

use super::{json::is_document, named, tapestat::TOOL};
use crate::{Family, Format, Sure};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "tapestat-json",
    summary: "tapestat of sysstat with -o JSON",
    family: Family::Linux,
    tables: &[&disk::TABLE, &metric::TABLE],
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
					"tape": [
						{"tape_device": "st0", "r/s": 8, "w/s": 120, "kB_read/s": 1953, "kB_wrtn/s": 30720, "Rd": 10, "Wr": 40, "Oa": 60, "Rs/s": 1, "Ot/s": 2}
					]
				}
			]
		}
	]
}}
"#,
    sniff: |head| Sure::Certain.when(is_document(head, &["tape_device"])),
    read: |input, out| named::read_json(&TOOL, input, out),
};
