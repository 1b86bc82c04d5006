//! Which tables a description fills.

use fenxi_model::{TABLES, Table};
use toml::de::DeValue;

use super::{document::Keys, shipped};

/// The tables that a description's places are of.
pub(super) fn tables(top: &Keys<'_, '_>) -> Vec<&'static Table> {
    let mut named = vec![false; TABLES.len()];
    for key in ["table", "line", "pairs", "json", "words"] {
        if let Some(value) = top.value(key) {
            name_tables(key, value.get_ref(), &mut named);
        }
    }
    TABLES.iter().copied().zip(named).filter(|(_, named)| *named).map(|(table, _)| table).collect()
}

fn name_tables(key: &str, value: &DeValue<'_>, named: &mut [bool]) {
    let known = |name: &str| TABLES.iter().position(|table| table.name == name);
    let whole = match key {
        "pairs" | "results" | "sums" => Some("result"),
        "bucket" => Some("histogram"),
        _ => None,
    };
    if let Some(table) = whole {
        known(table).into_iter().for_each(|at| named[at] = true);
        return;
    }
    match value {
        DeValue::Array(values) => values.iter().for_each(|value| name_tables(key, value.get_ref(), named)),
        DeValue::Table(table) => {
            table.iter().for_each(|(key, value)| name_tables(key.get_ref(), value.get_ref(), named))
        }
        DeValue::String(text) => {
            let place = text.split(' ').next().unwrap_or_default();
            let (table, column) = place.split_once('.').unwrap_or((place, ""));
            let of = known(table).filter(|at| table == "metric" || TABLES[*at].index_of(column).is_some());
            // `pattern` and the like name no table, whatever they say.
            let of = if key == "table" { known(text) } else { of.filter(|_| key != "pattern" && key != "name") };
            let like = Some(text).filter(|_| key == "like").and_then(|name| shipped::about_named(name));
            let like = like.into_iter().flat_map(|about| &about.tables).filter_map(|table| known(table.name));
            of.into_iter().chain(like).for_each(|at| named[at] = true);
        }
        _ => {}
    }
}
