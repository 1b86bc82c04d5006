//! `fenxi findings`.

use std::{io, process::ExitCode};

use clap::Args;
use fenxi_compare::Diagnosis;
use fenxi_query::{CanAsk, Engine, Finding, Found, Kind, Occurrence, findings};
use fenxi_store::Store;
use serde_json::{Map, json};

use crate::{
    answer, answers,
    options::{EngineArgs, Global, PageArgs, RangeArgs},
    print, stores,
};

/// Occurrences of one finding that are printed; the others are counted.
const SHOWN: usize = 3;
/// Width of text where there is no terminal.
const WIDTH: usize = 100;

/// `fenxi findings`
#[derive(Debug, Args)]
#[command(after_help = "\
A finding is an SQL rule that checks a run and reports what it detects, with
figures. Add rules of your own as files in the directory `findings` of the
store.

Examples:
  fenxi findings                  check the latest run
  fenxi findings before after     check two runs
  fenxi findings 03:10..03:25     check a time of a recording with --roll
  fenxi findings -f markdown -o findings.md
  fenxi list findings             list the rules")]
pub struct FindingsArgs {
    /// Runs or ranges of time to check [default: @1]
    #[arg(value_name = "RUN[/FROM..TO]")]
    pub runs: Vec<String>,
    /// When
    #[command(flatten)]
    pub range: RangeArgs,
    /// List the rules, as `fenxi list findings` does
    #[arg(long, hide = true)]
    pub all: bool,
    /// Form of the output
    #[command(flatten)]
    pub form: PageArgs,
    /// The engine that answers
    #[command(flatten)]
    pub engine: EngineArgs,
}

/// Prints what stands out in runs, or lists the rules.
pub fn run(global: &Global, args: &FindingsArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(global)?;
    if args.all {
        return list(&store, args);
    }
    let engine = Engine::on_demand(&store, &args.engine.options())?;
    let wanted = args.range.of(&args.runs, &["@1"]);
    let ((asked, diagnosis, runs), is_whole) = answers::undamaged(&store, &wanted, |selectors| {
        let scope = answers::scope(&store, selectors)?;
        let asked = if args.form.is_json() { None } else { engine.asked(&scope)?.sentence() };
        Ok((asked, Diagnosis::of(&engine, &scope)?, scope.runs.map_or(0, |runs| runs.len())))
    })?;
    let Diagnosis { answer, found: all, several_hosts, .. } = diagnosis;
    let text = if args.form.is_json() {
        all.iter().flat_map(json_lines).collect()
    } else {
        let page =
            Page { markdown: args.form.is_markdown(), width: page_width(args), several: runs > 1, several_hosts };
        answer::text(&answer, page_width(args), args.form.is_markdown())
            + "\n"
            + &page.write(&all)
            + &answer::not_asked(asked, page_width(args))
    };
    print::paged(print::Form::json_if(args.form.is_json()), &text)?;
    let mut code = if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    for error in all.iter().filter_map(|found| found.outcome.as_ref().err()) {
        print::message(&format!("warning: a finding failed: {error}"));
        code = ExitCode::FAILURE;
    }
    Ok(code)
}

/// Lists the rules; with runs, what these lack for each.
fn list(store: &Store, args: &FindingsArgs) -> anyhow::Result<ExitCode> {
    let runs = args.range.of(&args.runs, &[]);
    let asked = match runs.is_empty() {
        true => None,
        false => Some(Engine::on_demand(store, &args.engine.options())?.asked(&answers::scope(store, &runs)?)?),
    };
    let text = rules(&findings(store)?, asked.as_ref(), args);
    print::paged(print::Form::json_if(args.form.is_json()), &text)?;
    Ok(ExitCode::SUCCESS)
}

/// A terminal's width, but no longer lines than the eye follows.
fn page_width(args: &FindingsArgs) -> usize {
    if args.form.is_markdown() { usize::MAX } else { print::width(&io::stdout()).unwrap_or(WIDTH).clamp(40, WIDTH) }
}

fn json_lines(found: &Found) -> Vec<String> {
    let f = &found.finding;
    let line = |o: &Occurrence| {
        let evidence: Map<_, _> = o.evidence.iter().cloned().collect();
        json!({
            "run": o.run, "host": o.host, "finding": f.name, "severity": o.severity.max(found.severity()).word(),
            "section": f.section.word(), "title": f.title, "message": o.message, "advice": f.advice, "ask": f.ask,
            "evidence": evidence, "own": f.own, "kind": found.kind().word(), "follows_from": found.follows_from,
            "impact": found.impact().map(|impact| json!({ "share": impact.share, "of": impact.of })),
        })
        .to_string()
            + "\n"
    };
    found.outcome.iter().flatten().map(line).collect()
}

/// How findings are laid out for a person.
struct Page {
    markdown: bool,
    width: usize,
    /// Whether sentences must name their run.
    several: bool,
    /// Whether sentences must name their host.
    several_hosts: bool,
}

impl Page {
    fn write(&self, all: &[Found]) -> String {
        let mut out = String::new();
        for kind in Kind::ALL {
            let these: Vec<&Found> = all.iter().filter(|f| f.outcome.is_ok() && f.kind() == *kind).collect();
            if these.is_empty() {
                continue;
            }
            let heading = answer::heading(*kind, these.len());
            out += &if self.markdown { format!("## {heading}\n\n") } else { format!("{}\n\n", heading.to_uppercase()) };
            for found in these {
                self.finding(&mut out, found);
            }
        }
        if out.is_empty() {
            out.push_str("no findings; `fenxi list findings` lists all rules\n");
        }
        out
    }

    fn finding(&self, out: &mut String, found: &Found) {
        let occurrences = found.outcome.as_deref().unwrap_or_default();
        let f = &found.finding;
        let own = if f.own { " (own)" } else { "" };
        let (mark, end) = if self.markdown { ("### ", "\n\n") } else { ("", "\n") };
        *out += &format!("{mark}{}{own}{}{end}", f.title, answer::weight(found));
        let hosts: Vec<_> = occurrences.iter().map(|o| &o.host).collect();
        let several_hosts = self.several_hosts || hosts.windows(2).any(|w| w[0] != w[1]);
        for o in occurrences.iter().take(SHOWN) {
            let run = Some(&o.run).filter(|_| self.several);
            let host = o.host.as_ref().filter(|_| several_hosts);
            let lead: Vec<&str> = run.into_iter().chain(host).map(String::as_str).collect();
            let lead = if lead.is_empty() { String::new() } else { format!("{}: ", lead.join(" ")) };
            self.paragraph(out, "- ", &format!("{lead}{}", o.message));
        }
        if occurrences.len() > SHOWN {
            self.paragraph(out, "- ", &format!("and {} more like it", occurrences.len() - SHOWN));
        }
        if self.markdown {
            out.push('\n');
        }
        self.paragraph(out, "", &f.advice);
        if !found.follows_from.is_empty() {
            self.paragraph(out, "", &format!("Follows from: {}.", found.follows_from.join("; ")));
        }
        if let (Some(ask), Some(first)) = (&f.ask, occurrences.first()) {
            if self.markdown {
                *out += &format!("\nEvidence: `fenxi ask {ask} -r {}`\n", first.run);
            } else {
                *out += &format!("  see: fenxi ask {ask} -r {}\n", first.run);
            }
        }
        out.push('\n');
    }

    /// Text broken at the width; on a terminal it is indented below its title.
    fn paragraph(&self, out: &mut String, mark: &str, text: &str) {
        let indent = if self.markdown { "" } else { "  " };
        let room = self.width.saturating_sub(indent.len() + mark.len());
        for (i, line) in print::wrapped(text, room).iter().enumerate() {
            let lead = if i == 0 { mark.to_owned() } else { " ".repeat(mark.len()) };
            *out += &format!("{indent}{lead}{line}\n");
        }
    }
}

/// The rules, with what runs lack for each where that is asked.
fn rules(all: &[Finding], asked: Option<&CanAsk>, args: &FindingsArgs) -> String {
    let lacks = |f: &Finding| asked.map(|asked| asked.lacks(&f.name));
    if args.form.is_json() {
        let line = |f: &Finding| {
            json!({ "finding": f.name, "severity": f.severity.word(), "section": f.section.word(), "title": f.title,
                "message": f.message(), "advice": f.advice, "ask": f.ask, "own": f.own, "lacks": lacks(f) })
            .to_string()
                + "\n"
        };
        return all.iter().map(line).collect();
    }
    if args.form.is_markdown() {
        let head = "| finding | severity | section | detects |\n|---|---|---|---|\n".to_owned();
        let line = |f: &Finding| {
            format!(
                "| `{}` | {} | {} | {}: {} |\n",
                f.name,
                f.severity,
                f.section,
                f.title,
                f.message().replace('|', "\\|")
            )
        };
        return head + &all.iter().map(line).collect::<String>();
    }
    let row = |f: &Finding| {
        let told = [f.name.clone(), f.severity.to_string(), f.section.to_string(), f.title.clone()];
        told.into_iter().chain(lacks(f)).collect::<Vec<_>>()
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let header = ["finding", "severity", "section", "looks for", "not asked, for lack of"];
    print::listing(&header[..4 + usize::from(asked.is_some())], &[], &[2], &rows)
}
