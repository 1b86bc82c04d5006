//! How a section wants to be drawn, kept as a question of the report's own kind.
//!
//! `Display:` names a chart of the whole section; Fenxi's `Plot:` lines come with SQL over `TABLE`,
//! in which the characters `. ()/%` of a column's name are underscores.

use std::fmt::Write;

use super::{
    detail::Kind,
    section::{First, Plot, Section},
};
use crate::{Out, generic::labels::symbol};

/// Keeps each chart of `section` as a fact with the topic `question`: its value is the text of a
/// question file.
pub(super) fn keep(title: &str, section: &Section, out: &mut Out<'_>) {
    let name = slug(&section.name);
    if let Some(display) = &section.display {
        out.fact("question", &name, &displayed(title, section, display));
    }
    for plot in &section.plots {
        let own = if plot.title.is_empty() { name.clone() } else { format!("{name}-{}", slug(&plot.title)) };
        out.fact("question", &own, &plotted(title, section, plot));
    }
}

/// Lower-case letters, digits and single dashes.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() {
            slug.extend(c.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "section".to_owned() } else { slug.to_owned() }
}

/// The chart's word for one of the types of Fenxi and Xanadu.
fn chart(kind: &str) -> &'static str {
    match kind.to_ascii_lowercase().replace(' ', "").as_str() {
        "line" | "multiaxisline" | "log" | "graph" | "times" | "timeseries" | "scatter" => "line",
        "area" | "stackedarea" => "stacked",
        "bar" | "bar2" | "bar3d" | "stackedbar" | "stackedbar3d" | "histogram" | "logbar" | "pie" => "bar",
        _ => "table",
    }
}

/// A chart of the whole section.
fn displayed(title: &str, section: &Section, display: &str) -> String {
    let mut parts = display.split(';').map(str::trim);
    let chart = chart(parts.next().unwrap_or(""));
    let axis = parts.filter_map(|p| p.split_once('=')).find(|(key, _)| key.trim() == "yaxis");
    let unit = axis.map_or("", |(_, unit)| symbol(unit.trim()));
    let timed = matches!(section.first, First::Time(_));
    let mut header = Header { title: &section.name, about: title, chart, x: "", y: String::new(), series: "", unit };
    let sql = match &section.kind {
        Kind::Throughput(driver) => {
            (header.x, header.y, header.series, header.unit) =
                ("t", "transactions_per_s".to_owned(), "operation", "/s");
            load("transactions_per_s", driver)
        }
        Kind::Response(driver, _) => {
            (header.x, header.y, header.series, header.unit) = ("t", "latency_mean_ms".to_owned(), "operation", "ms");
            load("latency_mean_ms", driver)
        }
        Kind::Histogram { driver, name, .. } => {
            (header.chart, header.x, header.y, header.series) = ("bar", "lo", "count".to_owned(), "labels");
            header.unit = "";
            format!(
                "SELECT run, host, lo, hi, unit, labels, sum(count) AS count\nFROM histogram\n\
                 WHERE name = {} AND starts_with(labels, {})\nGROUP BY ALL\nORDER BY run, host, labels, lo\n",
                text(name),
                text(&format!("generator={driver}"))
            )
        }
        Kind::Plain if timed && chart != "table" => {
            (header.x, header.y, header.series) = ("t", "value".to_owned(), "series");
            format!(
                "SELECT run, host, t, dt, name || coalesce(substr(labels, {}), '') AS series, value\nFROM metric\n\
                 WHERE {}\nORDER BY run, host, series, t\n",
                label(section).chars().count() + 1,
                condition(section)
            )
        }
        Kind::Plain => {
            // Lines of the report run over time; over anything else bars show the same.
            header.chart = if chart == "table" || timed { chart } else { "bar" };
            header.x = section.headers.first().map_or("", String::as_str);
            header.y = values(section).collect::<Vec<_>>().join(", ");
            format!("{}ORDER BY ALL\n", pivot(section, str::to_owned))
        }
    };
    header.write(&sql)
}

/// A chart with its own SQL.
fn plotted(title: &str, section: &Section, plot: &Plot) -> String {
    let columns = selected(&plot.sql);
    let mut kind = chart(&plot.kind);
    let name = if plot.title.is_empty() { &section.name } else { &plot.title };
    let mut header =
        Header { title: name, about: title, chart: "table", x: "", y: String::new(), series: "", unit: "" };
    match (plot.dims, columns.as_slice()) {
        (1, [x, y @ ..]) if !y.is_empty() => {
            (header.x, header.y) = (x, y.join(", "));
        }
        (2, [x, series, y, ..]) => {
            (header.x, header.y, header.series) = (x, y.clone(), series);
        }
        _ => kind = "table",
    }
    // Lines of the report run over a run's time, which this SQL does not give.
    header.chart = if kind == "table" { kind } else { "bar" };
    let table = pivot(section, |name| name.replace(['.', ' ', '(', ')', '/', '%'], "_"));
    let sql = words_replaced(plot.sql.trim().trim_end_matches(';'), "TABLE", "section");
    header.write(&format!("WITH section AS (\n{}\n)\n{sql}\n", table.trim_end()))
}

struct Header<'a> {
    title: &'a str,
    about: &'a str,
    chart: &'a str,
    x: &'a str,
    y: String,
    series: &'a str,
    unit: &'a str,
}

impl Header<'_> {
    fn write(&self, sql: &str) -> String {
        let title = if self.title.is_empty() { "Section" } else { self.title };
        let mut text = String::new();
        let y = self.y.as_str();
        for (key, value) in [
            ("title", title),
            ("about", self.about),
            ("section", "result"),
            ("chart", self.chart),
            ("x", self.x),
            ("y", y),
            ("series", self.series),
            ("unit", self.unit),
        ] {
            if !value.is_empty() {
                let _ = writeln!(text, "-- {key}: {value}");
            }
        }
        text + sql
    }
}

fn load(column: &str, driver: &str) -> String {
    format!(
        "SELECT run, host, t, dt, operation, {column}\nFROM load\nWHERE generator = {}\nORDER BY run, host, operation, t\n",
        text(driver)
    )
}

/// The label that all rows of the section have.
fn label(section: &Section) -> String {
    crate::generic::labels::Labels::of("section", &section.name).text().to_owned()
}

fn condition(section: &Section) -> String {
    let label = label(section);
    format!("(labels = {} OR starts_with(labels, {}))", text(&label), text(&format!("{label},")))
}

/// The section's columns of values.
fn values(section: &Section) -> impl Iterator<Item = &str> {
    let one = section.headers.len() == 1;
    let headers = section.headers.iter().zip(&section.words).enumerate();
    headers.filter(move |(i, (_, words))| one || (*i > 0 && !**words)).map(|(_, (header, _))| header.as_str())
}

/// SQL that gives the section's table as it was in the file.
fn pivot(section: &Section, column: impl Fn(&str) -> String) -> String {
    let timed = matches!(section.first, First::Time(_));
    let mut sql = "SELECT run, host".to_owned();
    for (i, header) in section.headers.iter().enumerate() {
        let name = identifier(&column(header));
        let _ = if i == 0 && timed {
            write!(sql, ",\n    t AS {name}")
        } else if i == 0 && section.headers.len() > 1 || section.words[i] {
            let key = format!("(?:^|,){}=([^,]*)", escaped(header));
            let label = format!("regexp_extract(labels, {}, 1)", text(&key));
            match section.words[i] {
                true => write!(sql, ",\n    {label} AS {name}"),
                false => write!(sql, ",\n    try_cast({label} AS DOUBLE) AS {name}"),
            }
        } else {
            write!(sql, ",\n    max(value) FILTER (name = {}) AS {name}", text(header))
        };
    }
    let _ = write!(sql, "\nFROM metric\nWHERE {}\nGROUP BY ALL\n", condition(section));
    sql
}

/// The names of the columns that a simple SELECT gives.
fn selected(sql: &str) -> Vec<String> {
    let lower = sql.to_ascii_lowercase();
    let Some(begin) = lower.find("select ").map(|at| at + 7) else { return Vec::new() };
    let end = lower.find(" from ").unwrap_or(lower.len());
    let list = sql.get(begin..end).unwrap_or("");
    let name = |item: &str| {
        let item = item.trim();
        let last = match item.strip_suffix('"').and_then(|i| i.rsplit_once('"')) {
            Some((_, quoted)) => quoted,
            None => item.rsplit([' ', '.']).next().unwrap_or(item),
        };
        last.to_owned()
    };
    list.split(',').map(name).filter(|name| !name.is_empty() && !name.contains(['(', ')', '*'])).collect()
}

/// `sql` with the word `from` replaced by `to`, in whatever case, but not within quotes.
fn words_replaced(sql: &str, from: &str, to: &str) -> String {
    let mut text = String::with_capacity(sql.len());
    let mut quote = None;
    let mut word = String::new();
    let flush = |word: &mut String, text: &mut String| {
        text.push_str(if word.eq_ignore_ascii_case(from) { to } else { word });
        word.clear();
    };
    for c in sql.chars() {
        if quote.is_none() && (c.is_alphanumeric() || c == '_') {
            word.push(c);
            continue;
        }
        flush(&mut word, &mut text);
        quote = match quote {
            None if matches!(c, '"' | '\'') => Some(c),
            Some(open) if open == c => None,
            other => other,
        };
        text.push(c);
    }
    flush(&mut word, &mut text);
    text
}

fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A label's key as a regular expression.
fn escaped(key: &str) -> String {
    let mut text = String::new();
    for c in key.chars() {
        if c.is_ascii_punctuation() {
            text.push('\\');
        }
        text.push(if c == ',' { ';' } else { c });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_words_are_found() {
        assert_eq!(slug("GET / SET (ops)"), "get-set-ops");
        assert_eq!(slug("--"), "section");
        assert_eq!(selected("select \"Thrds\", t.Mode as m, avg from TABLE"), ["Thrds", "m", "avg"]);
        assert_eq!(words_replaced("select \"TABLE\" from table", "TABLE", "section"), "select \"TABLE\" from section");
    }
}
