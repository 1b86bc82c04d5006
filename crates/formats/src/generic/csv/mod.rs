//! Separated values: commas, semicolons, tabs or bars, found out from the content.
//!
//! Without a mapping the first column that reads as a time is the time (a date and a time of day in
//! two columns too), columns of words are labels, columns of numbers are metrics. A file without
//! any time has rows one interval apart.

mod dialect;
#[cfg(test)]
mod tests;

use jiff::tz::{Offset, TimeZone};

use super::{
    sheet::{Column, Decimal, Mapping, Role, Sheet, Target, mapping_of, number_in},
    when::When,
};
use crate::{Family, Format, Head, Input, Out, Sure};
use dialect::{Dialect, builder, dialect, is_numeric, unquoted};

/// Importer for CSV and TSV.
pub static FORMAT: Format = Format {
    name: "csv",
    summary: "CSV and TSV: comma, semicolon, tab or pipe separated values; a mapping file defines the columns",
    family: Family::Generic,
    tables: fenxi_model::TABLES,
    example: "\
time,host,read MB/s,write MB/s
2026-11-21T14:00:00Z,db1,12.5,3.0
2026-11-21T14:00:10Z,db1,11.0,4.5
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let first = head.first();
    if first.starts_with(['{', '[', '<']) || first.len() > 20_000 {
        return Sure::No;
    }
    let Some(found) = dialect(head.text, &Mapping::default()) else { return Sure::No };
    Sure::Perhaps.when(found.header && found.names_columns() && found.is_regular() && found.is_measured())
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mapping = Mapping::of(out);
    let head = input.head().into_owned();
    let Some(found) = dialect(&head, &mapping) else {
        if !head.trim().is_empty() {
            out.note(None, "no separator makes columns of it (a mapping file can name one)");
        }
        return;
    };
    drop(head);
    let mapping = if out.hints().mapping.is_none() && found.header { mapping_of(&found.names, out) } else { mapping };
    let mut sheet = Sheet::new(&mapping, found.decimal(), out);
    columns(&found, &mapping, &mut sheet, out);
    for _ in 0..found.skip {
        input.line();
    }
    let before = found.skip as u64;
    let mut reader = builder(found.separator).from_reader(input.bytes());
    if let Some(zone) = found.names.first().and_then(|name| perfmon_zone(name)).filter(|_| mapping.zone().is_none()) {
        sheet.set_zone(zone, out);
    }
    let mut record = csv::ByteRecord::new();
    let mut header = found.header;
    let mut cells: Vec<String> = Vec::new();
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                out.note(None, &format!("reading ended early: {error}"));
                break;
            }
        }
        let line = before + record.position().map_or(0, csv::Position::line);
        if std::mem::take(&mut header) {
            continue;
        }
        cells.resize(record.len(), String::new());
        for (cell, bytes) in cells.iter_mut().zip(&record) {
            cell.clear();
            let text = String::from_utf8_lossy(bytes);
            // Quotes behind a blank are quotes as well.
            cell.push_str(if text.starts_with(' ') && text.ends_with('"') { unquoted(&text) } else { &text });
        }
        row(&mut sheet, line, &mut cells, out);
    }
    sheet.release(out);
}

fn row(sheet: &mut Sheet, line: u64, cells: &mut Vec<String>, out: &mut Out<'_>) {
    let blank = cells.iter().all(|cell| cell.trim().is_empty());
    let comment = cells.first().is_some_and(|cell| cell.starts_with('#'));
    // Files that were put together repeat the header.
    let repeated = || cells.iter().zip(sheet.columns()).all(|(cell, column)| cell.trim() == column.name);
    if blank || comment || cells.len() == sheet.columns().len() && repeated() {
        return;
    }
    // Some writers end each row, but not the header, with a separator.
    while cells.len() > sheet.columns().len() && cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    if cells.len() != sheet.columns().len() {
        let why = format!("{} cells under {} columns", cells.len(), sheet.columns().len());
        out.unknown(line, &cells.join(" | "), &why);
        return;
    }
    sheet.row(line, cells, out);
}

/// The zone in PerfMon's title of its times, `(PDH-CSV 4.0) (GMT Standard Time)(-60)`: minutes from its times to UTC.
pub(super) fn perfmon_zone(title: &str) -> Option<TimeZone> {
    let (_, bias) = title.strip_prefix("(PDH-")?.strip_suffix(')')?.rsplit_once('(')?;
    let bias: i32 = bias.trim().parse().ok().filter(|bias: &i32| bias.abs() <= 14 * 60)?;
    Offset::from_seconds(-bias * 60).ok().map(TimeZone::fixed)
}

/// Finds out what each column is.
fn columns(found: &Dialect, mapping: &Mapping, sheet: &mut Sheet, out: &mut Out<'_>) {
    let time = time_columns(found, mapping, sheet, out);
    let decimal = mapping.decimal().unwrap_or(found.decimal());
    let counters = are_counters(found, mapping, decimal);
    for (place, name) in found.names.iter().enumerate() {
        let cells = || found.sample.iter().filter_map(|row| row.get(place)).map(String::as_str);
        let name = if name.is_empty() { format!("column{}", place + 1) } else { name.clone() };
        let role = match mapping.role(&name) {
            Some(Role::Values(mut targets)) => {
                targets.iter_mut().for_each(|target| target.settle(counters));
                Role::Values(targets)
            }
            Some(role) => role,
            None if time.contains(&place) => Role::Time,
            None => automatic(&name, is_numeric(cells(), decimal), found, place),
        };
        sheet.add(Column { name, role });
    }
}

/// Whether columns that a mapping leaves open are counters, as the first rows show: these rise together, and fall together where
/// whatever counts began anew. Of differences that somebody made of them some rise while others fall.
fn are_counters(found: &Dialect, mapping: &Mapping, decimal: Decimal) -> bool {
    let open: Vec<usize> = (0..found.names.len())
        .filter(|place| matches!(mapping.role(&found.names[*place]), Some(Role::Values(targets)) if targets.iter().any(Target::is_open)))
        .collect();
    let number = |row: &Vec<String>, place: usize| row.get(place).and_then(|cell| number_in(cell, decimal));
    let (mut steps, mut mixed, mut fallen) = (0, 0, 0);
    for rows in found.sample.windows(2) {
        let changes = open.iter().filter_map(|place| number(&rows[1], *place)?.partial_cmp(&number(&rows[0], *place)?));
        let (mut rises, mut falls) = (false, false);
        for change in changes {
            rises |= change.is_gt();
            falls |= change.is_lt();
        }
        steps += 1;
        mixed += u32::from(rises && falls);
        fallen += u32::from(falls);
    }
    !(mixed * 4 > steps || fallen >= 2 && fallen * 4 > steps)
}

/// The role of a column without a mapping.
fn automatic(name: &str, numeric: bool, found: &Dialect, place: usize) -> Role {
    let lower = name.to_ascii_lowercase();
    let value = || found.names.iter().any(|n| n.eq_ignore_ascii_case("value"));
    match lower.as_str() {
        "host" | "hostname" => Role::Host,
        "pid" | "tid" | "ppid" | "uid" | "id" => Role::Label(name.to_owned()),
        "metric" | "name" if !numeric && value() => Role::Name,
        _ if numeric => Role::Values(vec![Target::metric(name)]),
        // A column that was empty so far may hold numbers later, a word there would be reported.
        _ if found.sample.iter().filter_map(|r| r.get(place)).all(|c| super::sheet::missing(c)) => {
            Role::Values(vec![Target::metric(name)])
        }
        _ => Role::Label(name.to_owned()),
    }
}

/// The columns of the time: as in the mapping, or the first that reads as one.
fn time_columns(found: &Dialect, mapping: &Mapping, sheet: &mut Sheet, out: &mut Out<'_>) -> Vec<usize> {
    let Some(first) = found.sample.first() else { return Vec::new() };
    let name = |place: usize| found.names.get(place).map_or("", String::as_str);
    if mapping.names_time() {
        let places: Vec<usize> =
            (0..found.names.len()).filter(|p| matches!(mapping.role(name(*p)), Some(Role::Time))).collect();
        if places.is_empty() {
            out.note(None, "there is no column that the mapping file names for the time");
        } else if sheet.when.is_none() {
            let cell: Vec<&str> = places.iter().filter_map(|p| first.get(*p)).map(|c| c.trim()).collect();
            sheet.when = When::detect("time", &cell.join(" "));
            if sheet.when.is_none() {
                out.note(None, "the time is in no form that is known; the mapping file can name one (`format`)");
            }
        }
        return places;
    }
    sheet.when = None;
    let free = |place: &usize| mapping.role(name(*place)).is_none();
    let detect = |place: usize| {
        // A first column without a name counts from 1970 when its numbers are large enough.
        let header = if found.header || place > 0 { name(place) } else { "time" };
        let when = When::detect(header, first.get(place)?.trim())?;
        Some(when).filter(|when| found.header || !matches!(when, When::Elapsed(_)))
    };
    let Some((place, when)) = (0..first.len()).filter(free).find_map(|p| Some((p, detect(p)?))) else {
        return Vec::new();
    };
    let mut places = vec![place];
    let bare = |p: usize| first.get(p).is_some_and(|cell| !cell.contains(':'));
    let other = (0..first.len()).filter(free).find(|p| *p != place && detect(*p) == Some(When::Day));
    match (&when, other) {
        // A date here and a time of day in another column.
        (When::Date, Some(day)) if bare(place) && day > place => places.push(day),
        _ => {}
    }
    sheet.when = Some(when);
    places
}
