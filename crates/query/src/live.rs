//! Series of which a question shows values as they come: the header key `live`.
//!
//! ```sql
//! -- live: cpu[]: usr, sys
//! -- live: cpu[*]: 100-idle
//! -- live: disk: read_bytes_per_s, write_bytes_per_s
//! ```
//! A table, which of its series, and columns. `[]` is the series without keys, which is about all of them; `[*]` are those
//! with keys; without brackets it is all. `100-` before a column is what is missing to 100 percent.

use fenxi_model::{Table, table, words};

words! {
    /// Which series of a table.
    LiveSeries {
        /// All of them.
        All = "all",
        /// The one without keys.
        Total = "total",
        /// Those with keys.
        Each = "each",
    }
}

/// A column of values as they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveColumn {
    /// Its name.
    pub name: &'static str,
    /// True if what is missing to 100 percent is shown instead.
    pub complement: bool,
}

/// Series of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// The table's name.
    pub table: &'static str,
    /// Which of its series.
    pub series: LiveSeries,
    /// Their columns, in the order in which they are drawn.
    pub columns: Vec<LiveColumn>,
}

impl Live {
    /// Reads the value of a header's key.
    ///
    /// # Errors
    /// A description of the error in it.
    pub(crate) fn parse(text: &str) -> Result<Live, String> {
        let (head, columns) =
            text.split_once(':').ok_or_else(|| format!("live: `{text}` is not `table: column, column`"))?;
        let head = head.trim();
        let (name, series) = match (head.strip_suffix("[]"), head.strip_suffix("[*]")) {
            (Some(name), _) => (name, LiveSeries::Total),
            (_, Some(name)) => (name, LiveSeries::Each),
            _ => (head, LiveSeries::All),
        };
        let table = table(name).ok_or_else(|| format!("live: there is no table `{name}`"))?;
        let columns = columns.split(',').map(|text| column(table, text.trim())).collect::<Result<_, _>>()?;
        Ok(Live { table: table.name, series, columns })
    }
}

fn column(table: &'static Table, text: &str) -> Result<LiveColumn, String> {
    let bare = text.strip_prefix("100").and_then(|rest| rest.trim_start().strip_prefix('-')).map(str::trim_start);
    let name = bare.unwrap_or(text);
    let found = table.columns.iter().find(|column| column.name == name && column.is_value());
    let found = found.ok_or_else(|| format!("live: `{}` has no values called `{name}`", table.name))?;
    Ok(LiveColumn { name: found.name, complement: bare.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_and_columns_are_read() {
        let column = |name, complement| LiveColumn { name, complement };
        let total =
            Live { table: "cpu", series: LiveSeries::Total, columns: vec![column("usr", false), column("sys", false)] };
        assert_eq!(Live::parse("cpu[]: usr, sys"), Ok(total));
        let each = Live { table: "cpu", series: LiveSeries::Each, columns: vec![column("idle", true)] };
        assert_eq!(Live::parse("cpu[*]: 100 - idle"), Ok(each.clone()));
        assert_eq!(Live::parse("cpu[*]:100-idle"), Ok(each));
        assert_eq!(Live::parse("disk: util").unwrap().series, LiveSeries::All);
    }

    #[test]
    fn what_cannot_be_shown_is_told() {
        assert_eq!(Live::parse("cpu usr"), Err("live: `cpu usr` is not `table: column, column`".to_owned()));
        assert_eq!(Live::parse("cpus: usr"), Err("live: there is no table `cpus`".to_owned()));
        assert_eq!(Live::parse("cpu: user"), Err("live: `cpu` has no values called `user`".to_owned()));
        assert_eq!(Live::parse("disk: device"), Err("live: `disk` has no values called `device`".to_owned()));
    }
}
