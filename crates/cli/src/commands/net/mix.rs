//! The mix of a run, by the question `net-mix`; shown, or kept in a file.

use std::{collections::BTreeSet, process::ExitCode};

use anyhow::{Context, anyhow, bail};
use fenxi_load::net::mix::{Layer, Messages, Mix};
use fenxi_model::{RunId, Unit};
use fenxi_query::{Engine, Scope};
use fenxi_source::Root;
use fenxi_store::Store;
use serde_json::json;

use super::MixArgs;
use crate::{
    machine::hostname,
    options::{EngineArgs, Global, size},
    print, sources, stores, whole,
};

/// Sources that are recorded of this host.
const SOURCES: [&str; 3] = ["net", "tcp", "facts"];

/// Shows a mix, or writes it.
pub fn run(global: &Global, args: &MixArgs) -> anyhow::Result<ExitCode> {
    let mix = match args.run.as_deref() {
        Some(text) => read(global, text, &args.engine)?,
        None => {
            let (store, run) = record(global, args.duration)?;
            of_run(&store, &run, &args.engine)?
        }
    };
    if let Some(path) = &args.output {
        whole::write(path, whole::Output::Anything, |file| {
            use std::io::Write;
            Ok(file.write_all(mix.to_toml().as_bytes())?)
        })?;
    } else if args.form.is_json() {
        let run = &mix.run;
        print::json(
            &mix.layer.iter().map(|layer| format!("{}\n", json!({ "run": run, "layer": layer }))).collect::<String>(),
        )?;
    } else {
        print::text(&as_text(&mix))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The mix of a file or a run.
fn read(global: &Global, text: &str, engine: &EngineArgs) -> anyhow::Result<Mix> {
    if text.contains('/') || text.ends_with(".toml") {
        return Mix::parse(&fs_err::read_to_string(text)?).map_err(|why| anyhow!("{text}: {why}"));
    }
    let store = stores::open(global)?;
    let run = store.select_one(text)?;
    of_run(&store, &run, engine)
}

fn of_run(store: &Store, run: &RunId, engine: &EngineArgs) -> anyhow::Result<Mix> {
    let answer = Engine::on_demand(store, &engine.options())?.ask("net-mix", &[], &Scope::of([run.clone()]))?;
    let (texts, numbers) = (|name: &str| answer.strings(name), |name: &str| answer.f64s(name));
    let (host, layer, name) = (texts("host"), texts("layer"), texts("name"));
    let [out_per_s, out_bytes, in_per_s, in_bytes, connections, opens_per_s, util] =
        ["out_per_s", "out_bytes", "in_per_s", "in_bytes", "connections", "opens_per_s", "util"].map(numbers);
    let row = |row: usize| Layer {
        host: host[row].clone(),
        layer: layer[row].clone().unwrap_or_default(),
        name: name[row].clone().unwrap_or_default(),
        out_per_s: out_per_s[row],
        out_bytes: out_bytes[row],
        in_per_s: in_per_s[row],
        in_bytes: in_bytes[row],
        connections: connections[row],
        opens_per_s: opens_per_s[row],
        util: util[row],
    };
    let mix = Mix { run: Some(run.to_string()), layer: (0..answer.n_rows()).map(row).collect() };
    if mix.layer.is_empty() {
        bail!(
            "{run} has no packets of interfaces and no messages of a load: nothing was sent, or the sources `net` and `tcp` were left out"
        );
    }
    Ok(mix)
}

/// The messages of a run, a file or `REQUEST:REPLY`.
pub fn messages(global: &Global, text: &str, engine: &EngineArgs) -> anyhow::Result<Messages> {
    if let Some((request, reply)) = text.split_once(':')
        && let (Ok(request), Ok(reply)) = (size(request), size(reply))
    {
        return Ok(Messages { request_bytes: request as usize, reply_bytes: reply as usize, seen_per_s: None });
    }
    let mix = read(global, text, engine)?;
    mix.messages().with_context(|| {
        format!(
            "{text} has no sizes of messages, which `fenxi load run --record` counts; state bytes of a request and its reply: --mix 60:8192"
        )
    })
}

/// Records this host for a while.
fn record(global: &Global, seconds: f64) -> anyhow::Result<(Store, RunId)> {
    let (root, store) = (Root::live(), stores::create(global)?);
    let host = hostname(&root);
    let plan = fenxi_record::Plan {
        store: Some(store.clone()),
        name: "net-mix".to_owned(),
        duration_s: Some(seconds),
        random: stores::random(),
        ..fenxi_record::Plan::new(sources::named(&SOURCES), root, host, seconds.min(1.0))
    };
    let kept = fenxi_record::record(plan, &mut |_| std::ops::ControlFlow::Continue(()))?;
    Ok((store, kept.run.context("nothing was recorded")?))
}

fn as_text(mix: &Mix) -> String {
    let or_none =
        |value: Option<f64>, unit: Unit| value.map_or_else(|| "-".to_owned(), |value| unit.human(value).to_string());
    let hosts: BTreeSet<_> = mix.layer.iter().map(|layer| &layer.host).collect();
    let row = |layer: &Layer| {
        let mut cells = vec![layer.layer.clone(), print::visible(&layer.name).into_owned()];
        if hosts.len() > 1 {
            cells.insert(0, print::visible(layer.host.as_deref().unwrap_or("-")).into_owned());
        }
        cells.extend([
            or_none(layer.out_per_s, Unit::PerS),
            or_none(layer.out_bytes, Unit::Bytes),
            or_none(layer.in_per_s, Unit::PerS),
            or_none(layer.in_bytes, Unit::Bytes),
            or_none(layer.connections, Unit::Count),
            or_none(layer.opens_per_s, Unit::PerS),
            or_none(layer.util, Unit::Percent),
        ]);
        cells
    };
    let mut header = vec!["LAYER", "NAME", "OUT", "BYTES OUT", "IN", "BYTES IN", "CONNECTIONS", "OPENED", "UTIL"];
    if hosts.len() > 1 {
        header.insert(0, "HOST");
    }
    let rows: Vec<Vec<String>> = mix.layer.iter().map(row).collect();
    let first = header.len() - 7;
    print::table(&header, first..header.len(), &[], &rows, false)
}
