//! `fenxi trace check`.

use std::process::ExitCode;

use clap::Args;
use fenxi_ebpf::{abilities, observers};
use serde_json::json;

use crate::{
    options::{Global, JsonArgs},
    print,
};

/// `fenxi trace check`
#[derive(Debug, Args)]
#[command(after_help = "\
Tries every attach type, and starts and stops every observer. Exit status: 1 if
any observer does not work.

Example:
  fenxi trace check")]
pub struct CheckArgs {
    /// Form of the output
    #[command(flatten)]
    pub form: JsonArgs,
}

/// Tries everything and prints the results.
pub fn run(_: &Global, args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let (abilities, observers) = (abilities(), observers());
    let works = observers.iter().all(|found| found.refused.is_none());
    if args.form.is_json() {
        let abilities: Vec<_> =
            abilities.iter().map(|a| json!({"name": a.name, "refused": a.refused, "lost": a.lost})).collect();
        let observers: Vec<_> = observers
            .iter()
            .map(|o| json!({"observer": o.observer, "about": o.summary, "refused": o.refused, "notes": o.notes}))
            .collect();
        print::json(&format!("{}\n", json!({"abilities": abilities, "observers": observers})))?;
    } else {
        print::text(&text(&abilities, &observers))?;
    }
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(abilities: &[fenxi_ebpf::Ability], observers: &[fenxi_ebpf::Finding]) -> String {
    let word = |refused: &Option<String>| if refused.is_some() { "no" } else { "yes" }.to_owned();
    let rows: Vec<_> = abilities
        .iter()
        .map(|a| {
            vec![a.name.to_owned(), word(&a.refused), if a.refused.is_some() { a.lost.clone() } else { String::new() }]
        })
        .collect();
    let mut out = print::columns(&["KERNEL FEATURE OR PRIVILEGE", "HERE", "NEEDED FOR"], &[], &rows);
    out.push('\n');
    let rows: Vec<_> =
        observers.iter().map(|o| vec![o.observer.to_owned(), word(&o.refused), o.summary.to_owned()]).collect();
    out.push_str(&print::columns(&["OBSERVER", "WORKS", "OBSERVES"], &[], &rows));
    let mut why: Vec<String> = Vec::new();
    let abilities = abilities.iter().filter_map(|a| Some(format!("{}: {}", a.name, a.refused.as_ref()?)));
    why.extend(abilities);
    why.extend(observers.iter().filter_map(|o| Some(format!("{}: {}", o.observer, o.refused.as_ref()?))));
    why.extend(observers.iter().flat_map(|o| o.notes.iter().map(move |note| format!("{}: {note}", o.observer))));
    if !why.is_empty() {
        out.push_str(&format!("\n{}\n", why.join("\n")));
    }
    out
}
