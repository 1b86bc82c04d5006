//! Parser of plan files (TOML).

use std::path::{Path, PathBuf};

use fenxi_model::{Better, near};
use fenxi_remote::Target;
use regex::Regex;
use toml::de::{DeTable, DeValue};

use crate::{
    ask::{Asking, RunQuestion},
    error::{PlanError, perhaps},
    fill::{fill, is_name},
    plan::{
        Around, Command, Factor, From, Import, Kind, Level, Pattern, Probe, ProbeHow, Recording, Response, StudyPlan,
        Warmup,
    },
    reader::{Reader, Text, Value, kind, number, plain},
    roles::{level_of, reference, scaling, series},
};

/// Names that placeholders have beside factors.
pub(crate) const OWN_NAMES: [&str; 5] = ["study", "study_id", "block", "cell", "attempt"];
/// Default seconds between two samples.
const INTERVAL_S: f64 = 1.0;
/// Default limit of set-ups and probes in seconds.
const STEP_TIMEOUT_S: f64 = 600.0;
const READY_TIMEOUT_S: f64 = 60.0;

/// Reads a plan; directories in it are relative to that of `path`.
///
/// # Errors
/// When it is no TOML, or has invalid values: with the line.
pub fn parse(path: &Path, text: &str) -> Result<StudyPlan, PlanError> {
    let text = Text { path, text };
    let document = DeTable::parse(text.text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        text.error(at, format!("this is not TOML: {}", e.message()))
    })?;
    let root = Reader::new(text, document.get_ref(), 0, "the plan");
    let factors = factors(&root)?;
    let plan = StudyPlan {
        path: path.to_owned(),
        name: name(&root)?,
        about: root.string("about")?.map(str::to_owned),
        repeats: root.whole("repeats", 1, 10_000)?.unwrap_or(1) as u32,
        seed: root.whole("seed", 0, 1 << 53)?,
        in_order: root.word("order", &["random", "given"])? == Some("given"),
        command: command(&root, "command", &factors)?
            .ok_or_else(|| PlanError { line: None, ..root.error("`command`, the command to measure, is missing") })?,
        directory: directory(&root, path)?,
        env: root.pairs("env")?,
        around: around(&root, &[])?,
        each: Around::default(),
        ready: None,
        warmup: None,
        cooldown_s: root.seconds("cooldown")?.unwrap_or(0.0),
        duration_s: root.seconds("duration")?,
        timeout_s: root.seconds("timeout")?,
        step_timeout_s: root.seconds("step_timeout")?.unwrap_or(STEP_TIMEOUT_S),
        goes_on: root.word("on_failure", &["stop", "continue"])? == Some("continue"),
        retries: root.whole("retries", 0, 100)?.unwrap_or(0) as u32,
        record: recording(&root)?,
        import: importing(&root)?,
        responses: responses(&root, &factors)?,
        scaling: scaling(&root, &factors)?,
        series: series(&root, &factors)?,
        reference: reference(&root, &factors)?,
        cells: patterns(&root, "cells", &factors)?,
        exclude: patterns(&root, "exclude", &factors)?.unwrap_or_default(),
        factors: Vec::new(),
    };
    let plan = per_run(&root, StudyPlan { factors, ..plan })?;
    root.finish()?;
    Ok(plan)
}

fn name(root: &Reader<'_>) -> Result<String, PlanError> {
    let Some(name) = root.string("name")? else {
        return Err(PlanError { line: None, ..root.error("`name`, the name of the study, is missing") });
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.len() > 60 || name.starts_with('.') || !name.chars().all(plain) {
        let message = format!("`name` is `{name}`; expected are up to 60 letters, digits, `-`, `_` and `.`");
        return Err(root.error_at("name", message));
    }
    Ok(name.to_owned())
}

fn directory(root: &Reader<'_>, path: &Path) -> Result<PathBuf, PlanError> {
    let here = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(root.string("directory")?.map_or_else(|| here.to_owned(), |dir| here.join(dir)))
}

fn factors(root: &Reader<'_>) -> Result<Vec<Factor>, PlanError> {
    let Some(value) = root.get("factors") else { return Ok(Vec::new()) };
    let table = Reader::table(root.text, value, "`[factors]`")?;
    let mut factors: Vec<Factor> = Vec::new();
    let names: Vec<&str> = table.entries().iter().map(|(name, _)| *name).collect();
    for (name, value) in table.entries() {
        let at = value.span().start;
        if !is_name(name) || OWN_NAMES.contains(&name) {
            let message = format!(
                "a factor cannot be called `{name}`: a name is of letters, digits, `_` and `-`, a letter first, and not `{}`",
                OWN_NAMES.join("`, `")
            );
            return Err(root.text.error(at, message));
        }
        let DeValue::Array(levels) = value.get_ref() else {
            let message = format!("the factor `{name}` is {}; expected is an array of levels", kind(value.get_ref()));
            return Err(root.text.error(at, message));
        };
        let mut factor = Factor { name: name.to_owned(), levels: Vec::new() };
        for value in levels.iter() {
            let level = level(root.text, name, value, &names)?;
            if factor.levels.iter().any(|l| l.name == level.name) {
                let message = format!("the factor `{name}` has the level `{}` twice", level.name);
                return Err(root.text.error(value.span().start, message));
            }
            factor.levels.push(level);
        }
        if factor.levels.is_empty() {
            return Err(root.text.error(at, format!("the factor `{name}` has no levels")));
        }
        factors.push(factor);
    }
    Ok(factors)
}

fn level<'t>(text: Text<'t>, factor: &str, value: Value<'t>, names: &[&str]) -> Result<Level, PlanError> {
    let of = |name: String, number| Level { name, number, env: Vec::new(), around: Around::default() };
    if let DeValue::Table(_) = value.get_ref() {
        let reader = Reader::table(text, value, &format!("a level of `{factor}`"))?;
        let found = match reader.get("name").map(|v| (plain(v.get_ref()), number(v.get_ref()))) {
            Some((Some(name), number)) if !name.trim().is_empty() => of(name, number),
            _ => return Err(reader.error(format!("a level of `{factor}` has no `name`"))),
        };
        let level = Level { env: reader.pairs("env")?, around: checked(&reader, names)?, ..found };
        reader.finish()?;
        return Ok(level);
    }
    match plain(value.get_ref()).filter(|name| !name.trim().is_empty()) {
        Some(name) => Ok(of(name, number(value.get_ref()))),
        None => {
            let message = format!(
                "a level of `{factor}` is {}; expected is a number, a text, or a table with `name`",
                kind(value.get_ref())
            );
            Err(text.error(value.span().start, message))
        }
    }
}

/// `setup` and `teardown` of a table; `names` are those of the factors that can be placed in them.
fn around(reader: &Reader<'_>, names: &[&str]) -> Result<Around, PlanError> {
    let one = |key| command_with(reader, key, names);
    Ok(Around { setup: one("setup")?, check: None, teardown: one("teardown")? })
}

/// `check`, beside what `around` reads.
fn checked(reader: &Reader<'_>, names: &[&str]) -> Result<Around, PlanError> {
    Ok(Around { check: command_with(reader, "check", names)?, ..around(reader, names)? })
}

pub(crate) fn factor_names(factors: &[Factor]) -> Vec<&str> {
    factors.iter().map(|f| f.name.as_str()).collect()
}

fn command(reader: &Reader<'_>, key: &'static str, factors: &[Factor]) -> Result<Option<Command>, PlanError> {
    command_with(reader, key, &factor_names(factors))
}

fn command_with(reader: &Reader<'_>, key: &'static str, names: &[&str]) -> Result<Option<Command>, PlanError> {
    let Some(value) = reader.get(key) else { return Ok(None) };
    let texts = |array: &[toml::Spanned<DeValue<'_>>]| -> Option<Vec<String>> {
        array.iter().map(|v| plain(v.get_ref())).collect()
    };
    let command = match value.get_ref() {
        DeValue::String(line) if !line.trim().is_empty() => Some(Command::Shell(line.as_ref().to_owned())),
        DeValue::Array(words) if !words.is_empty() => texts(words.as_ref()).map(Command::Words),
        _ => None,
    };
    let Some(command) = command else {
        let message = format!("`{key}` is no command; expected is a line for the shell, or an array of words");
        return Err(reader.error_at(key, message));
    };
    match command.fill(|name| known(name, names)) {
        Ok(_) => Ok(Some(command)),
        Err(name) => Err(reader.error_at(key, no_factor(key, &name, names))),
    }
}

/// Something for a name that can be placed.
pub(crate) fn known(name: &str, names: &[&str]) -> Option<String> {
    // In a set-up of the whole study there are no factors, and no block either.
    let own = if names.is_empty() { &OWN_NAMES[..2] } else { &OWN_NAMES[..] };
    names.iter().chain(own).any(|known| *known == name).then(|| "1".to_owned())
}

fn no_factor(key: &str, name: &str, names: &[&str]) -> String {
    let hint = match (near(name, names.iter().copied()), names) {
        (near, _) if !near.is_empty() => perhaps(&near),
        (_, []) => "; factors cannot be placed here".to_owned(),
        (_, names) => format!("; there are `{}`", names.join("`, `")),
    };
    format!(
        "`{key}` has a place for `{name}`, which is no factor{hint} (write `{{{{{name}}}}}` for the text `{{{name}}}`)"
    )
}

fn patterns(root: &Reader<'_>, key: &'static str, factors: &[Factor]) -> Result<Option<Vec<Pattern>>, PlanError> {
    let Some(array) = root.array(key, "tables, as [{threads = 1}]")? else { return Ok(None) };
    let mut patterns = Vec::new();
    for value in array {
        let reader = Reader::table(root.text, value, &format!("an element of `{key}`"))?;
        let mut pattern = Pattern::new();
        for (name, value) in reader.entries() {
            pattern.push(level_of(root, key, (name, value), factors)?);
        }
        if key == "cells" && pattern.len() != factors.len() {
            return Err(reader.error("an element of `cells` has to name a level of every factor"));
        }
        patterns.push(pattern);
    }
    Ok(Some(patterns))
}

fn recording(root: &Reader<'_>) -> Result<Recording, PlanError> {
    let default = Recording {
        interval_s: INTERVAL_S,
        sources: Vec::new(),
        databases: Vec::new(),
        hosts: Vec::new(),
        roles: Vec::new(),
    };
    let Some(value) = root.get("record") else { return Ok(default) };
    let reader = Reader::table(root.text, value, "`[record]`")?;
    let interval_s = reader.seconds("interval")?.unwrap_or(INTERVAL_S);
    if interval_s < 0.01 {
        return Err(reader.error_at("interval", "`interval` has to be at least 10ms"));
    }
    let mut hosts = Vec::new();
    for value in reader.array("on", "hosts, as `fenxi record --on` takes them")?.unwrap_or_default() {
        let host = plain(value.get_ref()).unwrap_or_default();
        let target = Target::parse(&host).map_err(|why| root.text.error(value.span().start, why))?;
        hosts.push((target.name, host));
    }
    let mut sources = Vec::new();
    for value in reader.array("sources", "names of sources")?.unwrap_or_default() {
        let name = plain(value.get_ref()).unwrap_or_default();
        let for_one = name.split_once(':').filter(|(host, _)| hosts.iter().any(|(name, _)| name == host));
        if for_one.is_some() {
            // The source that it names is known once its host is connected to.
            sources.push(name);
            continue;
        }
        let names = fenxi_record::sources().map(|s| s.spec().name);
        let (bare, options) = name.split_once(':').map_or((name.as_str(), None), |(bare, rest)| (bare, Some(rest)));
        let bare = bare.trim_start_matches(['+', '-']);
        if fenxi_record::source(bare).is_none() {
            let near = near(bare, names.clone());
            let hint = if near.is_empty() {
                format!("; there are {}", names.collect::<Vec<_>>().join(", "))
            } else {
                perhaps(&near)
            };
            return Err(root.text.error(value.span().start, format!("no source is called `{name}`{hint}")));
        }
        if options.is_some() {
            let elements: Vec<String> = name.trim_start_matches(['+', '-']).split(',').map(str::to_owned).collect();
            fenxi_record::choose(&elements).map_err(|why| root.text.error(value.span().start, why))?;
        }
        sources.extend(name.split(',').map(str::to_owned));
    }
    let mut databases = Vec::new();
    for value in reader.array("db", "URLs of database servers")?.unwrap_or_default() {
        let url = plain(value.get_ref()).unwrap_or_default();
        // The plan is kept with every run.
        if fenxi_wire::target::has_password(&url) {
            let why = "a URL of `db` has a password, and the plan is kept with its runs: use PGPASSWORD, ~/.pgpass or ~/.my.cnf";
            return Err(root.text.error(value.span().start, why.to_owned()));
        }
        databases.push(url);
    }
    // Which hosts there are is known once the name of this one is.
    let roles = reader.array("role", "roles with their hosts, such as \"server=db1,db2\"")?.unwrap_or_default();
    let roles = roles.iter().map(|value| plain(value.get_ref()).unwrap_or_default()).collect();
    reader.finish()?;
    let hosts = hosts.into_iter().map(|(_, host)| host).collect();
    Ok(Recording { interval_s, sources, databases, hosts, roles })
}

fn importing(root: &Reader<'_>) -> Result<Import, PlanError> {
    let Some(name) = root.string("import")? else { return Ok(Import::Recognised) };
    if name == "off" {
        return Ok(Import::Off);
    }
    match fenxi_formats::formats().find(|f| f.name == name) {
        Some(format) => Ok(Import::As(format.name)),
        None => {
            let hint = perhaps(&near(name, fenxi_formats::formats().map(|f| f.name)));
            let message = format!(
                "`import` is `{name}`, which is not a format{hint} (`fenxi list formats` lists them; or `off`)"
            );
            Err(root.error_at("import", message))
        }
    }
}

fn responses(root: &Reader<'_>, factors: &[Factor]) -> Result<Vec<Response>, PlanError> {
    let mut responses: Vec<Response> = Vec::new();
    for value in root.array("response", "tables: write [[response]]")?.unwrap_or_default() {
        let reader = Reader::table(root.text, value, "`[[response]]`")?;
        let response = response(&reader, factors)?;
        reader.finish()?;
        if responses.iter().any(|r| r.name == response.name) {
            return Err(reader.error(format!("there are two responses called `{}`", response.name)));
        }
        responses.push(response);
    }
    if responses.is_empty() {
        let (name, unit, better) = ("elapsed".to_owned(), "s".to_owned(), Some(Better::Lower));
        responses.push(Response { from: From::Result(name.clone()), name, unit, better, kind: None });
    }
    Ok(responses)
}

fn response(reader: &Reader<'_>, factors: &[Factor]) -> Result<Response, PlanError> {
    let result = reader.string("result")?;
    let pattern = reader.string("pattern")?;
    let work = reader.get("work").map(|v| plain(v.get_ref()).unwrap_or_default());
    let name = reader.string("name")?;
    let asked = asked(reader)?;
    let from = match (result, pattern, work, asked) {
        (Some(result), None, None, None) => From::Result(result.to_owned()),
        (None, Some(pattern), None, None) => {
            let regex = Regex::new(pattern).map_err(|e| reader.error_at("pattern", format!("`pattern`: {e}")))?;
            if regex.captures_len() < 2 {
                let message = "`pattern` has no group: put the number in parentheses, as `rate: ([0-9.]+)`";
                return Err(reader.error_at("pattern", message));
            }
            From::Pattern(regex)
        }
        (None, None, Some(work), None) => {
            let names = factor_names(factors);
            fill(&work, |name| known(name, &names))
                .map_err(|name| reader.error_at("work", no_factor("work", &name, &names)))?;
            From::Work(work)
        }
        (None, None, None, Some(asked)) => From::Asked(asked),
        _ => return Err(reader.error("a response has one of `result`, `pattern`, `work`, `question` and `sql`")),
    };
    let question = match &from {
        From::Asked(RunQuestion { question: Asking::Named { name, .. }, .. }) => Some(name.as_str()),
        _ => None,
    };
    let Some(name) = name.or(result).or(question) else {
        return Err(reader.error("`name`, the name of the response, is missing"));
    };
    let better = reader.word("better", &["higher", "lower", "neither"])?.map(|word| match word {
        "higher" => Better::Higher,
        "lower" => Better::Lower,
        _ => Better::Neither,
    });
    let kind = reader.word("kind", &["throughput", "latency", "elapsed", "other"])?.map(|word| match word {
        "throughput" => Kind::Throughput,
        "latency" => Kind::Latency,
        "elapsed" => Kind::Elapsed,
        _ => Kind::Other,
    });
    let by_work = matches!(from, From::Work(_));
    let unit = reader.string("unit")?.unwrap_or(if by_work { "/s" } else { "" }).to_owned();
    let better = better.or(by_work.then_some(Better::Higher));
    Ok(Response { name: name.to_owned(), from, unit, better, kind })
}

/// `question` with `params`, or `sql`; and `column`.
fn asked(reader: &Reader<'_>) -> Result<Option<RunQuestion>, PlanError> {
    let (name, sql) = (reader.string("question")?, reader.string("sql")?);
    let (params, column) = (reader.pairs("params")?, reader.string("column")?.map(str::to_owned));
    let question = match (name, sql) {
        (Some(name), None) => Asking::Named { name: name.to_owned(), params },
        (None, Some(sql)) if params.is_empty() => Asking::Sql(sql.to_owned()),
        (None, Some(_)) => return Err(reader.error_at("params", "`params` are those of a `question`, not of `sql`")),
        (Some(_), Some(_)) => return Err(reader.error("a response has one of `question` and `sql`")),
        (None, None) if params.is_empty() && column.is_none() => return Ok(None),
        (None, None) => return Err(reader.error("`params` and `column` belong to a `question` or `sql`")),
    };
    Ok(Some(RunQuestion { question, column, line: reader.text.line(reader.at) }))
}

/// `[run]`: what is done before and after each run.
fn per_run(root: &Reader<'_>, mut plan: StudyPlan) -> Result<StudyPlan, PlanError> {
    let Some(value) = root.get("run") else { return Ok(plan) };
    let reader = Reader::table(root.text, value, "`[run]`")?;
    let names = factor_names(&plan.factors);
    let mut names_here = names.clone();
    // A study without factors has blocks all the same.
    names_here.push("block");
    plan.each = checked(&reader, &names_here)?;
    if let Some(value) = reader.get("ready") {
        let ready = Reader::table(root.text, value, "`ready`")?;
        let how = match (command_with(&ready, "command", &names_here)?, ready.string("tcp")?) {
            (Some(command), None) => ProbeHow::Command(command),
            (None, Some(address)) if address.rsplit_once(':').is_some_and(|(_, p)| p.parse::<u16>().is_ok()) => {
                ProbeHow::Tcp(address.to_owned())
            }
            (None, Some(address)) => {
                let message = format!("`tcp` is `{address}`; expected is an address and port as \"127.0.0.1:5432\"");
                return Err(ready.error_at("tcp", message));
            }
            _ => return Err(ready.error("`ready` has one of `command` and `tcp`")),
        };
        plan.ready = Some(Probe { how, timeout_s: ready.seconds("timeout")?.unwrap_or(READY_TIMEOUT_S) });
        ready.finish()?;
    }
    plan.warmup = match reader.get("warmup").map(|v| v.get_ref()) {
        None => None,
        Some(DeValue::String(text)) => match fenxi_model::parse_seconds(text) {
            Some(seconds) => Some(Warmup::Seconds(seconds)),
            None => command_with(&reader, "warmup", &names_here)?.map(Warmup::Command),
        },
        Some(DeValue::Array(_)) => command_with(&reader, "warmup", &names_here)?.map(Warmup::Command),
        Some(_) => reader.seconds("warmup")?.map(Warmup::Seconds),
    };
    reader.finish()?;
    Ok(plan)
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
