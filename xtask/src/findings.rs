//! The reference of findings, from the headers of their files.

use anyhow::{Context, Result};

use crate::repository::Repository;

const FOLDER: &str = "findings";

/// One finding's header, as far as the page shows it.
struct Rule {
    name: String,
    title: String,
    severity: String,
    section: String,
    message: String,
    advice: String,
    ask: Option<String>,
    comparison: Option<String>,
    /// The comment that gives reasons for its thresholds.
    why: String,
}

/// The page, by section and name.
pub fn page(head: &str, repository: &Repository) -> Result<String> {
    let mut rules = Vec::new();
    for entry in fs_err::read_dir(repository.root.join(FOLDER))? {
        let path = entry?.path();
        let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let text = fs_err::read_to_string(&path)?;
        rules.push(rule(&name, &text).with_context(|| format!("{} lacks a key", path.display()))?);
    }
    rules.sort_by(|a, b| (&a.section, &a.name).cmp(&(&b.section, &b.name)));
    let mut page = format!("{head}\n# Findings\n\n");
    page += &format!(
        "What `fenxi findings` looks for: {} rules. How to write one: [findings](../findings.md). Words in braces are \
         columns of the rule's answer. A rule is silent where a run lacks what it needs.\n",
        rules.len()
    );
    for section in rules.chunk_by(|a, b| a.section == b.section) {
        page += &format!("\n## {}\n", section[0].section);
        for rule in section {
            page += &format!(
                "\n### {}\n\n{} ({}). \"{}\"\n\n{}\n",
                rule.name, rule.title, rule.severity, rule.message, rule.advice
            );
            if !rule.why.is_empty() {
                page += &format!("\nWhen: {}\n", rule.why);
            }
            match rule.comparison.as_deref() {
                Some("refuse") => page += "\nA run in which it is found is not comparable.\n",
                Some(_) => page += "\nA comparison with such a run has a warning.\n",
                None => {}
            }
            if let Some(ask) = &rule.ask {
                page += &format!("\nEvidence: `fenxi ask {ask}`\n");
            }
        }
    }
    Ok(page)
}

fn rule(name: &str, text: &str) -> Option<Rule> {
    let header: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("--")).map(str::trim).collect();
    let get = |key: &str| {
        header.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(|v| v.trim().to_owned())
    };
    let keyed = |line: &&str| line.split_once(':').is_some_and(|(key, _)| !key.contains(' '));
    let why: Vec<&str> = header.iter().filter(|line| !line.is_empty() && !keyed(line)).copied().collect();
    Some(Rule {
        name: name.to_owned(),
        title: get("title")?,
        severity: get("severity")?,
        section: get("section")?,
        message: get("message")?,
        advice: get("advice")?,
        ask: get("ask"),
        comparison: get("comparison"),
        why: why.join(" "),
    })
}
