//! Facts that are given on the command line.

use std::{
    process::{Command, Stdio},
    sync::Arc,
};

use anyhow::{Context, bail, ensure};
use fenxi_source::{GivenFact, GivenFacts, Source};
use fs_err as fs;

/// Bytes of a fact that are kept.
const MOST: usize = 64 << 10;

/// The source of the facts, each a name and what was typed behind it; none without any. A name behind `HOST:` is about that
/// one of `hosts`.
///
/// # Errors
/// When a name is given twice, a file cannot be read, is no text or too long, or a command fails.
pub fn given(typed: &[(String, String)], hosts: &[&str]) -> anyhow::Result<Option<Arc<dyn Source>>> {
    let mut facts: Vec<GivenFact> = Vec::with_capacity(typed.len());
    for (typed, text) in typed {
        let value = value(text).with_context(|| format!("--fact {typed}"))?;
        let of_host = typed.split_once(':').filter(|(host, _)| hosts.contains(host));
        let (host, name) = of_host.map_or((None, typed.as_str()), |(host, name)| (Some(host.to_owned()), name));
        ensure!(!facts.iter().any(|fact| fact.host == host && fact.name == name), "--fact {typed} is given twice");
        facts.push(GivenFact { host, name: name.to_owned(), value });
    }
    Ok((!facts.is_empty()).then(|| Arc::new(GivenFacts::new(facts)) as Arc<dyn Source>))
}

/// Content of `@FILE`, output of `$(COMMAND)`, or a text.
fn value(typed: &str) -> anyhow::Result<String> {
    let bytes = if let Some(path) = typed.strip_prefix('@') {
        fs::read(path)?
    } else if let Some(command) = typed.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) {
        printed(command)?
    } else {
        typed.as_bytes().to_vec()
    };
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).context("it is no text")?;
    let text = text.trim_end();
    ensure!(!text.is_empty(), "it is empty");
    ensure!(text.len() <= MOST, "it has {} bytes; at most {MOST} are kept as a fact", text.len());
    Ok(text.to_owned())
}

/// Output of a command. Its errors go to the terminal.
fn printed(command: &str) -> anyhow::Result<Vec<u8>> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = shell.output().with_context(|| format!("`{command}` could not be run"))?;
    if !output.status.success() {
        bail!("`{command}` failed: {}", output.status);
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_files_and_commands() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("my.cnf");
        fs::write(&file, "[mysqld]\nport = 3307\n\n").unwrap();
        assert_eq!(value("a=b $(no").unwrap(), "a=b $(no");
        assert_eq!(value(&format!("@{}", file.display())).unwrap(), "[mysqld]\nport = 3307");
        assert_eq!(value("$(printf '%s\\n' one two)").unwrap(), "one\ntwo");
    }

    #[test]
    fn what_cannot_be_kept_is_an_error() {
        let said = |typed: &str| format!("{:#}", value(typed).unwrap_err());
        assert!(said("@/nowhere/at/all").contains("/nowhere/at/all"));
        assert_eq!(said("$(exit 3)"), "`exit 3` failed: exit status: 3");
        assert_eq!(said("$(printf 'a\\000b')"), "it is no text");
        assert_eq!(said(""), "it is empty");
        assert!(said("$(head -c 70000 /dev/zero | tr '\\0' x)").starts_with("it has 70000 bytes"));
        let twice = [("a".to_owned(), "1".to_owned()), ("a".to_owned(), "2".to_owned())];
        assert_eq!(given(&twice, &[]).err().unwrap().to_string(), "--fact a is given twice");
    }
}
