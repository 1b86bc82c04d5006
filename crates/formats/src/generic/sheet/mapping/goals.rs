//! Columns of a mapping in the words of a format's description: `rkb = "disk.read_bytes_per_s KiB/s"`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Counter, Place, Role, Target};
use crate::{generic::labels::unit_of, own::Goal};

/// The columns that a mapping names.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Columns {
    /// Their names, of a file without a header.
    Named(Vec<String>),
    /// What stands in each.
    Goals(BTreeMap<String, String>),
}

impl Default for Columns {
    fn default() -> Columns {
        Columns::Named(Vec::new())
    }
}

impl Columns {
    /// What each column is, and what is wrong.
    pub(super) fn roles(&self, set: &BTreeMap<String, String>) -> (Vec<(String, Role)>, Vec<String>) {
        let Columns::Goals(goals) = self else { return (Vec::new(), Vec::new()) };
        let (mut roles, mut wrong) = (Vec::new(), Vec::new());
        for (column, text) in goals {
            match role(column, text, set) {
                Ok(role) => roles.push((column.clone(), role)),
                Err(why) => wrong.push(format!("the mapping of column `{column}`: {why}")),
            }
        }
        (roles, wrong)
    }
}

fn role(column: &str, text: &str, set: &BTreeMap<String, String>) -> Result<Role, String> {
    if text == "host" {
        return Ok(Role::Host);
    }
    let values = |place: Place, scale: f64, offset: f64, amount: bool| {
        let set = set.iter().map(|(label, value)| (label.clone(), value.clone())).collect();
        Role::Values(vec![Target { place, scale, offset, counter: Counter::No, amount, set }])
    };
    Ok(match Goal::read(text)? {
        Goal::Column { table, place, scale, offset, counted } => {
            values(Place::Column(table, place), scale, offset, counted)
        }
        Goal::Metric { name, unit, scale } => {
            let unit = if unit.is_empty() { unit_of(column) } else { unit };
            values(Place::Metric { name: name.unwrap_or(column).to_owned(), unit: unit.to_owned() }, scale, 0.0, false)
        }
        Goal::Key { table, place, label } => {
            // Rows of a table take labels as its keys, by the keys' names.
            let own = table.columns[place].name;
            Role::Label(if label == own { label } else { own.to_owned() })
        }
        Goal::Label(label) => Role::Label(label),
        Goal::Time => Role::Time,
        Goal::Skip => Role::Ignored,
        Goal::Result(_) => return Err("a row is a sample; results are of a format's description".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use crate::{Hints, fixtures::read_with, format};

    fn read(mapping: &str, text: &str) -> String {
        let hints = Hints {
            modified: Micros::parse("2026-01-02T03:04:05"),
            default_host: "fixture".to_owned(),
            mapping: Some(mapping.to_owned()),
            ..Hints::none("file")
        };
        read_with(format("csv").unwrap(), text.as_bytes(), hints).text
    }

    #[test]
    fn columns_are_said_in_the_words_of_descriptions() {
        let mapping = "[columns]\nstamp = 'time'\nmachine = 'host'\ndisk = 'disk.device'\nrkb = 'disk.read_bytes_per_s KiB/s'\nremark = 'skip'\nlag = 'metric.delay ms'\n";
        let text = "stamp,machine,disk,rkb,lag,remark,more\n2026-11-21 14:00:00,db1,sda,1.5,3,x,7\n2026-11-21 14:00:10,db1,sda,2,4,y,8\n";
        let found = read(mapping, text);
        for part in ["\tdb1\tsda\t1536", "delay\tdevice=sda\t0.003\ts", "more\tdevice=sda\t7"] {
            assert!(found.contains(part), "{part}\n{found}");
        }
        assert!(!found.contains("remark") && !found.contains("# note"), "{found}");
    }

    #[test]
    fn what_is_wrong_in_them_is_a_note() {
        let found = read(
            "[columns]\nrkb = 'disk.reed_bytes KiB/s'\nx = 'result.throughput'\n",
            "time,rkb,x\n2026-11-21 14:00:00,1,2\n",
        );
        assert!(found.contains("the mapping of column `rkb`:") && found.contains("no column `reed_bytes`"), "{found}");
        assert!(found.contains("the mapping of column `x`: a row is a sample"), "{found}");
    }
}
