//! Output of commands: kept in the run, read by an importer, searched for responses.

use std::{
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use fenxi_formats::{self as formats, AnyFormat, Family, Head, Hints, format};
use fenxi_ingest::{Programs, Reading, own_formats};
use fenxi_model::{Micros, Rows, RowsOf, catalog::result};
use fenxi_record::{Contained, Observed};
use fenxi_source::Source;
use fenxi_store::{Store, StoreError};
use fs_err::File;
use jiff::tz::TimeZone;

use crate::{
    conduct::Means,
    plan::{From, Import, Response, StudyPlan},
};

/// Bytes of an output that are searched for patterns, from its end.
const SEARCHED: u64 = 16 << 20;
/// Bytes and lines of an output that an error repeats, from its end.
const REPEATED: u64 = 2_000;
const REPEATED_LINES: usize = 8;

/// Standard output and standard error of a command, as files without names: nothing is left behind.
#[derive(Debug)]
pub(crate) struct Printed {
    output: File,
    errors: File,
}

impl Printed {
    pub(crate) fn new(folder: &Path) -> io::Result<Printed> {
        let file = |name| Ok::<_, io::Error>(File::from_parts(tempfile::tempfile_in(folder)?, folder.join(name)));
        Ok(Printed { output: file("stdout")?, errors: file("stderr")? })
    }

    /// How a command that prints into it is run.
    pub(crate) fn contained(&self, env: Vec<(String, String)>, directory: PathBuf) -> io::Result<Contained> {
        let output = self.output.file().try_clone()?.into();
        let errors = self.errors.file().try_clone()?.into();
        Ok(Contained { env, directory: Some(directory), output, errors })
    }

    /// Its last lines: of standard error, or else of standard output. Empty when nothing was printed.
    pub(crate) fn last_lines(&self) -> String {
        let [errors, output] = [&self.errors, &self.output].map(|file| ending(file, REPEATED).unwrap_or_default());
        let text = if errors.trim().is_empty() { output } else { errors };
        let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        let shown = &lines[lines.len().saturating_sub(REPEATED_LINES)..];
        shown.iter().map(|line| format!("\n  | {}", line.trim_end())).collect()
    }

    /// Both parts, standard output first, as far as they are searched.
    fn text(&self) -> io::Result<String> {
        Ok(ending(&self.output, SEARCHED)? + "\n" + &ending(&self.errors, SEARCHED)?)
    }

    /// Keeps both parts in the run; what an importer, shipped or of the store, reads in them becomes rows of the run.
    /// Gives the run's results by name.
    pub(crate) fn keep(
        &self,
        plan: &StudyPlan,
        means: &Means<'_>,
        observed: &mut Observed,
    ) -> Result<Vec<(String, f64)>, StoreError> {
        // No program is run for what a command prints.
        let formats = own_formats(means.store, &Programs::Never).formats;
        let mut results = results(observed.rows());
        for (name, file) in [("stdout", &self.output), ("stderr", &self.errors)] {
            let mut content = file.try_clone()?;
            if content.seek(SeekFrom::End(0))? == 0 {
                continue;
            }
            content.rewind()?;
            let reading = match plan.import {
                Import::Off => Reading::Kept,
                Import::As(name) => format(name).map_or(Reading::Kept, |format| Reading::As(format.into())),
                Import::Recognised => Reading::Recognised(formats.clone()),
            };
            results.extend(keep(observed, name, Box::new(content), reading, means.sources)?);
        }
        Ok(results)
    }

    /// Adds what the plan takes out of the output as results; gives what is missing.
    pub(crate) fn respond(
        &self,
        plan: &StudyPlan,
        results: &[(String, f64)],
        value: &dyn Fn(&str) -> Option<String>,
        observed: &mut Observed,
    ) -> io::Result<Option<String>> {
        let text = self.text()?;
        let t = observed.ended();
        for response in &plan.responses {
            let found = match &response.from {
                From::Result(name) => match results.iter().any(|(known, _)| known == name) {
                    true => continue,
                    false => Err(no_result(name, results)),
                },
                From::Pattern(pattern) => by_pattern(pattern, &text),
                From::Work(work) => by_work(work, results, value),
                // Asked when the run is sealed.
                From::Asked(_) => continue,
            };
            match found {
                Ok(number) => add(response, number, t, observed.rows()),
                Err(why) => return Ok(Some(format!("no response `{}`: {why}", response.name))),
            }
        }
        Ok(None)
    }
}

/// Keeps what a recorded command printed in its run; what `reading` understands of it becomes rows of the run, but for what the run's
/// own `sources` sample. Gives results by name.
fn keep(
    observed: &mut Observed,
    name: &str,
    content: Box<dyn Read + Send>,
    reading: Reading,
    sources: &[Arc<dyn Source>],
) -> Result<Vec<(String, f64)>, StoreError> {
    let host = observed.rows().host().to_owned();
    let start = Some(observed.began());
    let hints = Hints { default_host: host, start, zone: TimeZone::system(), ..Hints::none(name) };
    let mut batches: Vec<Rows> = Vec::new();
    let mut results = Vec::new();
    let Some(open) = observed.open() else { return Ok(results) };
    let mut take = |rows: &mut Rows| batches.push(rows.take());
    let (input, _) = fenxi_ingest::attach(open, name, content, hints, reading, &mut take)?;
    observed.add_input(input);
    for mut rows in batches {
        leave_out_recorded(&mut rows, sources, name, observed);
        results.extend(self::results(&rows));
        if let Some(open) = observed.open() {
            open.append(&mut rows)?;
        }
    }
    Ok(results)
}

/// As [`keep`], where the text is what a load generator or benchmark prints; else nothing is kept. Whether it was.
///
/// # Errors
/// When the run cannot be written.
pub fn keep_results(
    observed: &mut Observed,
    store: &Store,
    text: Vec<u8>,
    sources: &[Arc<dyn Source>],
) -> Result<bool, StoreError> {
    let head = String::from_utf8_lossy(&text[..text.len().min(formats::HEAD_BYTES)]).into_owned();
    let found = own_formats(store, &Programs::Never).formats.detect(&Head { text: &head });
    let is_load = |format: &AnyFormat| match format {
        AnyFormat::Shipped(format) => format.family == Family::Load,
        AnyFormat::Own(_) => true,
        AnyFormat::Hosts(_) => false,
    };
    let Some(format) = found.filter(is_load) else { return Ok(false) };
    keep(observed, "stdout", Box::new(io::Cursor::new(text)), Reading::As(format), sources)?;
    Ok(true)
}

/// Names and values of the `result` rows among `rows`.
fn results(rows: &Rows) -> Vec<(String, f64)> {
    let of_results = rows.of(&result::TABLE).into_iter();
    let row =
        |t: RowsOf<'_, result::Schema>, row| Some((t.str(row, result::name)?.to_owned(), t.f64(row, result::value)?));
    of_results.flat_map(|t| (0..t.n_rows()).filter_map(|n| row(t, n)).collect::<Vec<_>>()).collect()
}

/// Leaves out tables of a tool's output that the run's own sources sample: one thing would be there twice.
fn leave_out_recorded(rows: &mut Rows, sources: &[Arc<dyn Source>], name: &str, observed: &mut Observed) {
    let sampled = |id| sources.iter().any(|s| s.spec().tables.iter().any(|t| t.id == id));
    for table in rows.tables_mut().filter(|t| t.n_rows() > 0 && sampled(t.table().id)) {
        let (n, of) = (table.n_rows(), table.table().name);
        // Facts and events are of many sources.
        if ["text", "event", "note"].contains(&of) {
            continue;
        }
        let _ = table.take();
        observed.rows().note(name, None, &format!("{n} rows of `{of}` were left out: the run samples that itself"));
    }
}

fn no_result(name: &str, results: &[(String, f64)]) -> String {
    let mut names: Vec<&str> = results.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    format!("the run has no result `{name}`; there are `{}`", names.join("`, `"))
}

fn by_pattern(pattern: &regex::Regex, text: &str) -> Result<f64, String> {
    let last = pattern.captures_iter(text).last().and_then(|c| c.get(1));
    let Some(found) = last else { return Err(format!("nothing in the output matches `{pattern}`")) };
    let number = formats::number(found.as_str()).filter(|n| n.is_finite());
    number.ok_or_else(|| format!("`{}` in the output is no number", found.as_str()))
}

fn by_work(work: &str, results: &[(String, f64)], value: &dyn Fn(&str) -> Option<String>) -> Result<f64, String> {
    let filled = crate::fill::fill(work, value).unwrap_or_default();
    let amount: f64 = filled.trim().parse().map_err(|_| format!("`work` is `{filled}`, which is no number"))?;
    match results.iter().find(|(name, _)| name == "elapsed") {
        Some((_, elapsed)) if *elapsed > 0.0 => Ok(amount / elapsed),
        _ => Err("the command took no time".to_owned()),
    }
}

fn add(response: &Response, number: f64, t: Micros, rows: &mut Rows) {
    rows.row(&result::TABLE, t, None)
        .str(result::name, response.name.as_str())
        .f64(result::value, number)
        .str(result::unit, response.unit.as_str())
        .str(result::better, response.better.map(|b| b.to_string()).as_deref().unwrap_or("neither"))
        .str(result::source, "study");
}

/// The last `most` bytes of a file as text.
fn ending(file: &File, most: u64) -> io::Result<String> {
    let mut file = file.try_clone()?;
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
