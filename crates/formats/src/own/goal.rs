//! Where a value of a table, a pair or a document goes, as written in a description: `"mem.free_bytes 4KiB"`.

use fenxi_model::{TABLES, Table, Type, Unit, catalog::N_COMMON};

use super::{
    document::perhaps,
    unit::{Per, conversion, free_conversion, free_unit},
};
use crate::{
    any::lasting,
    load::{names, units::milliseconds},
    number, scaled,
};

/// Where a value goes.
#[derive(Clone, Debug)]
pub(crate) enum Goal {
    /// A column of numbers, in its unit after multiplication and addition, and what it is counted per.
    Column { table: &'static Table, place: usize, scale: f64, offset: f64, per: Per },
    /// A column of texts: a key of the row. Metrics of the row have it as the label.
    Key { table: &'static Table, place: usize, label: String },
    /// A label of the row's metrics alone.
    Label(String),
    /// A metric; without its own name it is called as its column is headed.
    Metric { name: Option<&'static str>, unit: &'static str, scale: f64, per: Per },
    /// A result of the run.
    Result(ResultGoal),
    /// The time of day of the row.
    Time,
    /// Nowhere: it follows from others.
    Skip,
}

/// Which result a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResultGoal {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) better: &'static str,
    pub(super) scale: f64,
    /// The value has its unit: `1.5 MB`, `12 us`.
    pub(super) says_unit: bool,
    /// Value of `k` there.
    base: f64,
    /// The whole that a value is subtracted from: 1 for a ratio, 100 for percent.
    pub(super) complement: Option<f64>,
}

impl ResultGoal {
    /// The figure at the beginning of a text, in the result's unit.
    pub(super) fn of(&self, text: &str) -> Option<f64> {
        // Of several figures the first: `0.51 ms, 0.20 ms, 0.90 ms`.
        let first = text.split(", ").next()?;
        let own = match self.unit {
            _ if !self.says_unit => return number(first.split([' ', '%']).next()?).map(|value| self.value(value)),
            "ms" => milliseconds(first),
            "s" => milliseconds(first).map(|ms| ms / 1e3),
            _ => scaled(first.trim_end_matches(" bytes"), self.base).map(|value| value * self.scale),
        };
        own.map(|value| self.complement.map_or(value, |whole| whole - value))
    }

    /// The value in the result's unit.
    pub(super) fn value(&self, value: f64) -> f64 {
        self.complement.map_or(value, |whole| whole - value) * self.scale
    }
}

impl Goal {
    /// Reads `WHERE`, `WHERE UNIT` and what else may follow.
    ///
    /// # Errors
    /// When there is no such column, unit or result: with what was expected.
    pub(crate) fn read(text: &str) -> Result<Goal, String> {
        match Goal::any(text)? {
            Goal::Column { per: Per::Total, .. } | Goal::Metric { per: Per::Total, .. } => {
                Err(format!("`{text}`: totals are for a `[[line]]`, or for columns of a sheet"))
            }
            Goal::Metric { per: Per::Interval, .. } => Err(AMOUNT.to_owned()),
            goal => Ok(goal),
        }
    }

    /// As [`Goal::read`], of values that may only grow: `total` behind the unit, `total or rate` where the values show whether they
    /// do, or are per second already.
    ///
    /// # Errors
    /// As [`Goal::read`].
    pub(crate) fn of_sheet(text: &str) -> Result<Goal, String> {
        let open = text.strip_suffix(" or rate").filter(|text| text.ends_with("total"));
        let mut goal = Goal::any(open.unwrap_or(text))?;
        if let Goal::Column { per, .. } | Goal::Metric { per, .. } = &mut goal
            && open.is_some()
        {
            *per = Per::Shown;
        }
        Ok(goal)
    }

    fn any(text: &str) -> Result<Goal, String> {
        let text = text.trim();
        let (place, rest) = text.split_once(' ').map_or((text, ""), |(place, rest)| (place, rest.trim()));
        match (place, place.split_once('.')) {
            ("skip", None) if rest.is_empty() => Ok(Goal::Skip),
            ("time", None) if rest.is_empty() => Ok(Goal::Time),
            ("metric", None) => metric(None, rest),
            (_, Some(("metric", name))) => metric(Some(lasting(name)), rest),
            (_, Some(("label", name))) if rest.is_empty() => Ok(Goal::Label(name.to_owned())),
            (_, Some(("result", name))) => result(name, rest).map(Goal::Result),
            (_, Some((table, column))) => of_table(table, column, rest),
            _ => Err(format!(
                "`{text}` is no place: expected `table.column` with a unit behind it where it is not the column's own, \
                 `metric UNIT`, `metric.name UNIT`, `label.name`, `result.name UNIT`, `time` or `skip`"
            )),
        }
    }
}

/// The column of a table, which is none that all tables have.
///
/// # Errors
/// When there is none: with names that are near.
pub(crate) fn place_of(table: &str, column: &str) -> Result<(&'static Table, usize), String> {
    let Some(found) = TABLES.iter().copied().find(|known| known.name == table) else {
        let near = perhaps(table, TABLES.iter().map(|known| known.name));
        return Err(format!("there is no table `{table}`{near} (`fenxi list tables` lists them)"));
    };
    let Some(place) = found.index_of(column).filter(|place| *place >= N_COMMON) else {
        let near = perhaps(column, found.columns[N_COMMON..].iter().map(|known| known.name));
        return Err(format!(
            "the table `{table}` has no column `{column}` to fill{near} (`fenxi list tables {table}` lists them)"
        ));
    };
    Ok((found, place))
}

fn of_table(table: &str, column: &str, rest: &str) -> Result<Goal, String> {
    let (found, place) = place_of(table, column)?;
    let wrong = |why: &str| Err(format!("`{table}.{column}`: {why}"));
    match found.columns[place].ty {
        Type::F64 => {
            let (unit, complement) = match rest.strip_suffix("complement") {
                Some(unit) if found.columns[place].unit == Unit::Percent => (unit.trim_end(), true),
                Some(_) => return wrong("`complement` is what is left of a share"),
                None => (rest, false),
            };
            let scale =
                factor(unit, |unit| conversion(unit, found.columns[place].unit).map(|read| (read.factor, read.per)));
            let (scale, per) = scale.map_err(|why| format!("`{table}.{column}`: {why}"))?;
            let (scale, offset) = if complement { (-scale, 100.0) } else { (scale, 0.0) };
            Ok(Goal::Column { table: found, place, scale, offset, per })
        }
        Type::Label => match rest.strip_prefix("as ").map(str::trim).or(rest.is_empty().then_some(column)) {
            Some(label) => Ok(Goal::Key { table: found, place, label: label.to_owned() }),
            None => wrong("expected nothing behind it, or `as LABEL`: what metrics of the row call it"),
        },
        _ => wrong("it cannot be filled from a table: use a `[[line]]`"),
    }
}

/// `KiB`, `4KiB`, `* 4096`: how much a 1 is, by `unit` for what is a unit, and what it is counted per.
fn factor(text: &str, unit: impl Fn(&str) -> Result<(f64, Per), String>) -> Result<(f64, Per), String> {
    if let Some(times) = text.strip_prefix('*') {
        let (times, per) = match times.strip_suffix(" total") {
            Some(times) => (times.trim(), Per::Total),
            None => (times.trim(), Per::Value),
        };
        let factor = times.parse().ok().filter(|n: &f64| n.is_finite() && *n != 0.0);
        return factor.map(|times| (times, per)).ok_or(format!("`{times}` is no factor"));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (many, name) = text.split_at(digits);
    let many = if many.is_empty() { 1.0 } else { many.parse().map_err(|_| format!("`{many}` is no number"))? };
    unit(name).map(|(each, per)| (many * each, per))
}

/// Why a count of an interval cannot be what is no column of a table.
const AMOUNT: &str = "counts of an interval are for columns of tables";

fn metric(name: Option<&'static str>, rest: &str) -> Result<Goal, String> {
    if rest.is_empty() || rest.starts_with('*') {
        let all = if rest.is_empty() { Ok((1.0, Per::Value)) } else { factor(rest, |_| Ok((1.0, Per::Value))) };
        return all.map(|(scale, per)| Goal::Metric { name, unit: "", scale, per });
    }
    let bare = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let unit = match bare {
        "CPU" => "CPU",
        bare => free_unit(bare).symbol(),
    };
    let (scale, per) = factor(rest, |text| match text {
        "CPU" => Ok((1.0, Per::Value)),
        text => free_conversion(text).map(|read| (read.factor, read.per)),
    })?;
    Ok(Goal::Metric { name, unit, scale, per })
}

/// The result called `name`, in the unit in `rest`.
pub(super) fn result(name: &str, rest: &str) -> Result<ResultGoal, String> {
    if name.contains(['{', '}']) {
        return Err(format!(
            "`{name}`: a group names what a result is of, as in `latency_mean[{{group}}]`, or a `percentile {{group}}`"
        ));
    }
    let mut words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let mut take = |wanted: &str| words.iter().position(|word| *word == wanted).map(|at| words.remove(at)).is_some();
    let (complement, says_unit) = (take("complement"), take("auto"));
    let base = if says_unit && take("1000") { 1000.0 } else { 1024.0 };
    let better = ["higher", "lower", "neither"].into_iter().find(|better| take(better));
    let said = words.join(" ");
    let known = names::named(name);
    let (unit, better) = match (known, better) {
        // Of a fixed amount of work a direction is better that is not in general.
        (Some(known), better) => (known.unit(), better.unwrap_or(known.better())),
        // One of the catalogue's units is that of the result too.
        (None, Some(better)) if unit_of(&said) != Unit::None => (lasting(&said), better),
        (None, Some(better)) => (free_unit(&said).symbol(), better),
        (None, None) => {
            return Err(format!(
                "no other tool has a result `{name}`{}; for a new one say which direction is better: `higher`, `lower` or \
                 `neither`",
                perhaps(name, names::all())
            ));
        }
    };
    let scale = factor(&said, |text| conversion(text, unit_of(unit)).map(|read| (read.factor, read.per)))
        .and_then(|(scale, per)| if per == Per::Value { Ok(scale) } else { Err(AMOUNT.to_owned()) })
        .map_err(|why| format!("`result.{name}`: {why}"))?;
    let whole = if said == "ratio" { 1.0 } else { 100.0 };
    Ok(ResultGoal {
        name: name.to_owned(),
        unit,
        better,
        scale,
        says_unit,
        base,
        complement: complement.then_some(whole),
    })
}

/// The unit of a result, whose symbol is `symbol`.
fn unit_of(symbol: &str) -> Unit {
    Unit::from_symbol(symbol)
}

#[cfg(test)]
mod tests {
    use fenxi_model::catalog::{disk, mem};

    use super::*;

    #[test]
    fn places_are_columns_keys_metrics_and_results() {
        let column = |text: &str| match Goal::read(text) {
            Ok(Goal::Column { table, place, scale, .. }) => (table.name, table.columns[place].name, scale),
            other => panic!("{other:?}"),
        };
        assert_eq!(column("mem.free_bytes 4KiB"), (mem::TABLE.name, "free_bytes", 4096.0));
        assert_eq!(column("disk.read_bytes_per_s kB/s"), (disk::TABLE.name, "read_bytes_per_s", 1000.0));
        assert_eq!(column("disk.util"), (disk::TABLE.name, "util", 1.0));
        assert_eq!(column("disk.util ratio"), (disk::TABLE.name, "util", 100.0));
        let metric = |text: &str| match Goal::read(text) {
            Ok(Goal::Metric { name, unit, scale, .. }) => (name, unit, scale),
            other => panic!("{other:?}"),
        };
        assert_eq!(metric("metric"), (None, "", 1.0));
        assert_eq!(metric("metric * 4096"), (None, "", 4096.0));
        assert_eq!(metric("metric.memory KiB"), (Some("memory"), "B", 1024.0));
        assert_eq!(metric("metric %"), (None, "%", 1.0));
        let Ok(Goal::Result(share)) = Goal::read("result.error_share ratio complement") else { panic!("a result") };
        assert!((share.value(0.75) - 25.0).abs() < 1e-9);
        let Ok(Goal::Result(mean)) = Goal::read("result.latency_mean s") else { panic!("a result") };
        assert_eq!((mean.value(0.5), mean.unit, mean.better), (500.0, "ms", "lower"));
    }

    #[test]
    fn what_the_catalogue_lacks_is_an_error_with_what_is_near() {
        for (text, why) in [
            ("mem.fre_bytes", "no column `fre_bytes` to fill; did you mean `free_bytes`"),
            ("memm.free_bytes", "there is no table `memm`; did you mean `mem`"),
            ("mem.free_bytes ms", "`ms` measures something else"),
            ("mem.host", "no column `host` to fill"),
            ("disk.device KiB", "expected nothing behind it, or `as LABEL`"),
            ("disk.reads_per_s total", "totals are for a `[[line]]`"),
            ("result.latency_meen ms", "did you mean `latency_mean`"),
            ("free", "is no place: expected"),
        ] {
            let found = Goal::read(text).unwrap_err();
            assert!(found.contains(why), "{text}: {found}");
        }
    }

    #[test]
    fn a_known_result_may_have_another_direction() {
        let better = |text: &str| match Goal::read(text) {
            Ok(Goal::Result(result)) => result.better,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!((better("result.elapsed"), better("result.elapsed lower")), ("neither", "lower"));
    }
}
