//! `fenxi ask`.

use std::process::ExitCode;

use fenxi_query::{Question, question, questions};
use fenxi_store::Store;
use serde_json::json;

use crate::{
    args::{AskArgs, Cli, Format},
    commands::sql,
    print, stores,
};

/// Answers a ready question, or lists them.
pub fn run(cli: &Cli, args: &AskArgs) -> anyhow::Result<ExitCode> {
    let store = stores::open(cli)?;
    let Some(name) = &args.question else {
        let format = args.answer.format;
        let form = print::Form::json_if(format == Format::Json);
        print::put(form, list(&questions(&store)?, format).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    };
    let question = question(&store, name)?;
    if args.sql {
        print::data(question.sql.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    answer(&store, cli, args, &question)?;
    Ok(ExitCode::SUCCESS)
}

fn answer(store: &Store, cli: &Cli, args: &AskArgs, question: &Question) -> anyhow::Result<()> {
    let latest = ["@1".to_owned()];
    let selectors = if args.answer.run.is_empty() { &latest } else { args.answer.run.as_slice() };
    let scope = sql::scope(store, selectors)?;
    let engine = sql::engine(store, &args.answer)?;
    if args.answer.format == Format::Table && !cli.quiet {
        print::message(&format!("{}: {}", question.title, question.about));
    }
    let params = question.bind(&args.param)?;
    sql::answer(&engine, &question.sql, &params, &scope, args.answer.format)
}

fn list(all: &[Question], format: Format) -> String {
    if format == Format::Json {
        let line = |q: &Question| {
            let params: Vec<_> = q.params.iter().map(|p| json!({ "name": p.name, "about": p.about })).collect();
            json!({ "question": q.name, "section": q.section.to_string(), "title": q.title, "about": q.about, "params": params, "own": q.own })
                .to_string()
                + "\n"
        };
        return all.iter().map(line).collect();
    }
    let row = |q: &Question| {
        let params: Vec<_> = q.params.iter().map(|p| p.name.clone()).collect();
        vec![q.name.clone(), q.section.to_string(), q.title.clone(), params.join(", ")]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    print::columns(&["question", "section", "title", "parameters"], &[], &rows)
}
