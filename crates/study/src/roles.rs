//! Roles of factors: the one along which there is a speed-up, the one whose levels are set up once for many runs, and
//! the level with which others are compared.

use fenxi_model::near;

use crate::{
    error::{PlanError, perhaps},
    parse::{factor_names, known},
    plan::Factor,
    reader::{Reader, Value, plain},
};

/// Words by which the name of a factor is that of a degree of parallelism.
const PARALLEL: [&str; 26] = [
    "client",
    "clients",
    "concurrency",
    "connection",
    "connections",
    "core",
    "cores",
    "cpu",
    "cpus",
    "depth",
    "iodepth",
    "job",
    "jobs",
    "numjobs",
    "parallel",
    "parallelism",
    "process",
    "processes",
    "processors",
    "session",
    "sessions",
    "terminals",
    "thread",
    "threads",
    "users",
    "workers",
];

/// The factor along which there is a speed-up: the one that the plan names, or of those that are called as degrees of parallelism are
/// the one with most levels.
pub(crate) fn scaling(root: &Reader<'_>, factors: &[Factor]) -> Result<Option<String>, PlanError> {
    let is_axis = |factor: &&Factor| factor.is_numeric() && factor.levels.len() > 1;
    let is_parallel = |factor: &&Factor| {
        factor.name.to_ascii_lowercase().split(|c: char| !c.is_alphanumeric()).any(|word| PARALLEL.contains(&word))
    };
    match root.string("scaling")? {
        Some("none") => Ok(None),
        Some(name) if factors.iter().filter(is_axis).any(|factor| factor.name == name) => Ok(Some(name.to_owned())),
        Some(name) => {
            let message =
                format!("`scaling` is `{name}`; expected is `none`, or a factor with two numbers or more as levels");
            Err(root.error_at("scaling", message))
        }
        None => {
            // The first of those with most levels.
            let known = factors.iter().filter(is_axis).filter(is_parallel).rev();
            Ok(known.max_by_key(|factor| factor.levels.len()).map(|factor| factor.name.clone()))
        }
    }
}

/// The factor whose levels are set up once in each block. What sets them up can have places for no other factor.
pub(crate) fn series(root: &Reader<'_>, factors: &[Factor]) -> Result<Option<String>, PlanError> {
    let Some(name) = root.string("series")? else { return Ok(None) };
    let Some(factor) = factors.iter().find(|factor| factor.name == name) else {
        let hint = perhaps(&near(name, factor_names(factors)));
        return Err(root.error_at("series", format!("`series` names `{name}`, which is no factor{hint}")));
    };
    let commands = factor.levels.iter().flat_map(|level| [&level.around.setup, &level.around.teardown]);
    for command in commands.flatten() {
        if let Err(other) = command.fill(|place| known(place, &[name])) {
            let message = format!(
                "`series` is `{name}`, of which each level is set up once for runs of all others: its `setup` and `teardown` cannot have a place for `{other}`"
            );
            return Err(root.error_at("series", message));
        }
    }
    Ok(Some(name.to_owned()))
}

/// The factor and the level with which its others are compared.
pub(crate) fn reference(root: &Reader<'_>, factors: &[Factor]) -> Result<Option<(String, String)>, PlanError> {
    let Some(value) = root.get("reference") else { return Ok(None) };
    let reader = Reader::table(root.text, value, "`reference`")?;
    let [(name, value)] = reader.entries()[..] else {
        return Err(reader.error("`reference` names one factor and a level of it, as { malloc = \"libc\" }"));
    };
    Ok(Some(level_of(root, "reference", (name, value), factors)?))
}

/// A factor and a level of it, both as they are called in the plan.
pub(crate) fn level_of(
    root: &Reader<'_>,
    key: &str,
    (name, value): (&str, Value<'_>),
    factors: &[Factor],
) -> Result<(String, String), PlanError> {
    let at = value.span().start;
    let Some(factor) = factors.iter().find(|f| f.name == name) else {
        let hint = perhaps(&near(name, factor_names(factors)));
        return Err(root.text.error(at, format!("`{key}` names `{name}`, which is no factor{hint}")));
    };
    let level = plain(value.get_ref()).unwrap_or_default();
    if factor.level(&level).is_none() {
        let levels: Vec<_> = factor.levels.iter().map(|l| l.name.as_str()).collect();
        let message =
            format!("`{key}` names `{name} = {level}`, which is no level of it; there are `{}`", levels.join("`, `"));
        return Err(root.text.error(at, message));
    }
    Ok((name.to_owned(), level))
}
