//! `cifsiostat -o JSON` of sysstat.
//!
//! As in the text the first report is the average since boot, unless `-y` left it out.
//!
//! The fixtures are outputs of sysstat 12.7.9 over counters that a script wrote in the kernel's place.

use fenxi_model::catalog::{disk, metric};

use super::{cifsiostat::TOOL, json::is_document, named};
use crate::{Family, Format, Sure};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "cifsiostat-json",
    summary: "cifsiostat of sysstat with -o JSON",
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
					"filesystem": [
						{"fs_name": "\\\\nas1\\data", "rkB/s": 1024.00, "wkB/s": 512.00, "rops/s": 16.00, "wops/s": 8.00, "fo/s": 2.00, "fc/s": 4.00, "fd/s": 0.00}
					]
				}
			]
		}
	]
}}
"#,
    sniff: |head| Sure::Certain.when(is_document(head, &["fs_name"])),
    read: |input, out| named::read_json(&TOOL, input, out),
};
