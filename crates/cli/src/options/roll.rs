//! Options of a recording without an end, and files that options are read from.

use std::{ffi::OsString, path::PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use fenxi_model::parse_seconds;
use fenxi_record::{Keep, Thin};

use super::values::{seconds, size};

/// Rows older than this become fewer by default, and how much time each then stands for; both in seconds.
const THIN: Thin = Thin { after_s: 2.0 * 86_400.0, step_s: 10.0 };

/// Options of continuous recording: length of runs, retention, downsampling.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Continuous recording")]
pub struct RollArgs {
    /// Record continuously, as consecutive runs of this length, each beginning at
    /// a multiple of it
    #[arg(long, value_name = "TIME", value_parser = seconds, conflicts_with = "command")]
    pub roll: Option<f64>,
    /// Retention of rolled runs: an age, a size, or both as `14d,20GB`; the oldest
    /// are removed, but none that is tagged `keep` [default: all]
    #[arg(long, value_name = "AGE,SIZE", value_delimiter = ',', value_parser = limit, requires = "roll")]
    pub keep: Vec<Limit>,
    /// Downsample rolled runs older than AGE: merge them day by day, with a row for
    /// every STEP, as `2d=10s`, or `none` [default: 2d=10s]
    #[arg(long, value_name = "AGE=STEP", value_delimiter = ',', value_parser = thin, requires = "roll")]
    pub thin: Vec<Thinning>,
    /// Read options from a file, one to a line (`roll 1h`); SIGHUP reads them again
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// An end of what is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Seconds.
    Age(f64),
    /// Bytes.
    Size(u64),
}

/// How old runs become smaller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Thinning {
    /// Not at all.
    None,
    /// So.
    After(Thin),
}

impl RollArgs {
    /// Limits of the data that is kept.
    ///
    /// # Errors
    /// When two ages or two sizes are given.
    pub fn kept(&self) -> anyhow::Result<Keep> {
        let mut keep = Keep::default();
        for limit in &self.keep {
            let twice = match limit {
                Limit::Age(age_s) => keep.age_s.replace(*age_s).is_some(),
                Limit::Size(bytes) => keep.bytes.replace(*bytes).is_some(),
            };
            if twice {
                bail!("--keep has two ages or two sizes: give one of each, as in `--keep 14d,20GB`");
            }
        }
        let after = |thinning: &Thinning| match thinning {
            Thinning::None => None,
            Thinning::After(thin) => Some(*thin),
        };
        keep.thin = match self.thin.as_slice() {
            [] => vec![THIN],
            given => given.iter().filter_map(after).collect(),
        };
        keep.thin.sort_by(|a, b| a.after_s.total_cmp(&b.after_s));
        Ok(keep)
    }
}

fn limit(text: &str) -> Result<Limit, String> {
    let age = parse_seconds(text).filter(|s| *s > 0.0 && text.ends_with(|c: char| c.is_ascii_alphabetic()));
    let known = age.map(Limit::Age).or_else(|| size(text).ok().map(Limit::Size));
    known.ok_or_else(|| "expected an age such as 14d or a size such as 20GB".to_owned())
}

fn thin(text: &str) -> Result<Thinning, String> {
    if text == "none" {
        return Ok(Thinning::None);
    }
    let parsed = text.split_once('=').and_then(|(after, step)| Some((parse_seconds(after)?, parse_seconds(step)?)));
    match parsed {
        Some((after_s, step_s)) => Ok(Thinning::After(Thin { after_s, step_s })),
        None => Err("expected AGE=STEP such as 2d=10s, or none".to_owned()),
    }
}

/// The words of a command line with those of the file that `--config` names behind it. Each line of it is an option
/// without its dashes and, after a space, its value; `#` begins a remark.
///
/// # Errors
/// When the file cannot be read.
pub fn with_config(words: &[OsString]) -> anyhow::Result<Vec<OsString>> {
    let mut all = Vec::with_capacity(words.len());
    let mut own = words.iter().skip_while(|word| *word != "record");
    if own.next().is_none() {
        return Ok(words.to_vec());
    }
    let before = words.iter().take_while(|word| *word != "record").count() + 1;
    all.extend_from_slice(&words[..before]);
    let mut rest = words[before..].iter();
    while let Some(word) = rest.next() {
        all.push(word.clone());
        if word == "--" {
            break;
        }
        let text = word.to_string_lossy();
        let path = if text == "--config" {
            let Some(path) = rest.next() else { break };
            all.push(path.clone());
            PathBuf::from(path)
        } else if let Some(path) = text.strip_prefix("--config=") {
            PathBuf::from(path)
        } else {
            continue;
        };
        let lines = fs_err::read_to_string(&path).context("the options of --config cannot be read")?;
        all.extend(lines.lines().flat_map(option));
    }
    all.extend(rest.cloned());
    Ok(all)
}

/// The words that one line of a file of options stands for.
fn option(line: &str) -> Vec<OsString> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Vec::new();
    }
    let line = line.trim_start_matches('-');
    match line.split_once(|c: char| c.is_whitespace() || c == '=') {
        Some((name, value)) => vec![format!("--{name}={}", value.trim()).into()],
        None => vec![format!("--{line}").into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_ages_or_sizes() {
        assert_eq!((limit("14d"), limit("20GB")), (Ok(Limit::Age(14.0 * 86_400.0)), Ok(Limit::Size(20 << 30))));
        assert!(limit("0s").is_err() && limit("much").is_err());
        assert_eq!(thin("2d=10s"), Ok(Thinning::After(THIN)));
        assert!(thin("2d").is_err());
    }

    #[test]
    fn options_of_a_file_stand_where_it_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record.conf");
        fs_err::write(&path, "# of this host\nroll 1h\n\n--keep=14d,20GB\nsource +pressure\nquiet\n").unwrap();
        let words = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
        let file = path.to_str().unwrap();
        let all = with_config(&words(&["fenxi", "--store", "s", "record", "--config", file, "--name", "a"])).unwrap();
        let expected = ["fenxi", "--store", "s", "record", "--config", file, "--roll=1h", "--keep=14d,20GB"];
        let rest = ["--source=+pressure", "--quiet", "--name", "a"];
        assert_eq!(all, words(&[expected.as_slice(), rest.as_slice()].concat()));
        // Arguments that belong to a command are left alone.
        let other = words(&["fenxi", "record", "--", "x", "--config", file]);
        assert_eq!(with_config(&other).unwrap(), other);
        assert!(with_config(&words(&["fenxi", "record", "--config=/nowhere"])).is_err());
    }
}
