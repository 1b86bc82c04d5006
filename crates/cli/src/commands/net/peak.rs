//! `fenxi net peak`: drives the steps while this host is recorded, shows them, and keeps both as a run.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs},
    ops::ControlFlow,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, bail};
use fenxi_load::{
    engine::{Interval, Outcome},
    net::{
        LONGEST, LONGEST_UDP, SHORTEST_UDP,
        mix::Messages,
        peak::{self, Far, Peak, Plan, Step},
    },
    report::{self, Figure, Spread, Summary},
    server::Usage,
    tally::Tally,
};
use fenxi_model::{Micros, Rows, Unit};
use fenxi_record::Stage;
use fenxi_remote::{Programs, RemoteCommand, Target};
use fenxi_source::Root;
use serde_json::{Value, json};

use super::{PeakArgs, mix};
use crate::{machine::hostname, options::Global, print, sources, stores};

/// Seconds before each measurement.
const SETTLE: f64 = 0.3;

/// Finds the peak.
pub fn run(global: &Global, args: &PeakArgs) -> anyhow::Result<ExitCode> {
    let plan = plan(global, args)?;
    let record = recording(global, args, &plan)?;
    let (ended, interrupted) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut work = Some(|| {
        let mut times = Vec::new();
        let found = far(args.on.as_ref()).and_then(|far| {
            let ends = || interrupted.load(Ordering::Relaxed);
            let mut each = |step: &Step| {
                times.push(stores::now());
                if !global.quiet {
                    print::message(&line(step, &plan.messages).join("  "));
                }
                ControlFlow::Continue(())
            };
            Ok(peak::run(&plan, far, &ends, &mut each)?)
        });
        ended.store(true, Ordering::Relaxed);
        (found, times)
    });
    let (found, observed) = std::thread::scope(|scope| {
        let mut thread = None;
        let observed = fenxi_record::observe(record, &mut |_: Stage<'_>| {
            // Not before the recorder takes the signals: a thread begins with those that its maker leaves to others.
            if let Some(work) = work.take() {
                thread = Some(scope.spawn(work));
            }
            if ended.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        interrupted.store(true, Ordering::Relaxed);
        (thread.map(std::thread::ScopedJoinHandle::join), observed)
    });
    let mut observed = observed?;
    let Some(Ok((found, times))) = found else { bail!("the search for the peak ended without a result") };
    let peak = match found {
        Ok(peak) => peak,
        Err(error) => {
            observed.discard()?;
            return Err(error);
        }
    };
    rows(&peak, &plan, &times, observed.rows());
    let kept = observed.seal()?;
    if args.form.is_json() {
        print::json(&as_json(&peak, &plan))?;
    } else {
        print::text(&as_text(&peak, &plan))?;
    }
    if let (Some(run), false) = (kept.run, global.quiet) {
        print::message(&format!("recorded {run}"));
    }
    Ok(if peak.interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn plan(global: &Global, args: &PeakArgs) -> anyhow::Result<Plan> {
    let mut messages = mix::messages(global, &args.mix, &args.engine)?;
    let longest = if args.udp { LONGEST_UDP } else { LONGEST };
    if messages.request_bytes.max(messages.reply_bytes) > longest {
        bail!("messages have up to {longest} bytes here; the mix has more");
    }
    if args.udp && messages.request_bytes < SHORTEST_UDP {
        print::message(&format!("requests have {SHORTEST_UDP} bytes, which a datagram needs at least"));
        messages.request_bytes = SHORTEST_UDP;
    }
    let listen = match (args.listen, &args.on) {
        (Some(address), _) => address,
        (None, None) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0),
        (None, Some(target)) => SocketAddr::new(address_of(target)?, 0),
    };
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Plan {
        messages,
        udp: args.udp,
        connections: usize::from(args.connections),
        threads: args.threads.map_or(cpus, usize::from),
        server_threads: args.server_threads.map_or(cpus, usize::from),
        service_us: args.service.map_or(0, |seconds| (seconds * 1e6) as u64),
        address: listen.ip(),
        port: listen.port(),
        link_mbps: args.link.map(f64::from),
        settle_s: SETTLE,
        step_s: args.duration,
    })
}

/// The address of a host that ssh reaches by its name.
fn address_of(target: &Target) -> anyhow::Result<IpAddr> {
    let is_ssh = target.transport.first().is_some_and(|word| word == "ssh");
    let unknown = || format!("the address of {} is not known; give it with --listen", target.name);
    if !is_ssh {
        bail!(unknown());
    }
    let mut found = (target.name.as_str(), 0).to_socket_addrs().with_context(unknown)?;
    found.next().map(|address| address.ip()).with_context(unknown)
}

/// The other end, which ends when its pipe is closed.
fn far(on: Option<&Target>) -> anyhow::Result<Far> {
    let Some(target) = on else { return Ok(Far::Here) };
    let words = ["--exec", "--", "net", "receiver"].map(str::to_owned);
    let receiver =
        RemoteCommand::run(target, &Programs::default(), &words, &print::message).map_err(anyhow::Error::msg)?;
    let (output, input) = receiver.into_pipes()?;
    Ok(Far::There(output, input))
}

fn recording(global: &Global, args: &PeakArgs, plan: &Plan) -> anyhow::Result<fenxi_record::Plan> {
    let root = Root::live();
    let host = hostname(&root);
    let mut params: BTreeMap<String, String> = [
        ("request_bytes", plan.messages.request_bytes.to_string()),
        ("reply_bytes", plan.messages.reply_bytes.to_string()),
        ("protocol", if plan.udp { "udp" } else { "tcp" }.to_owned()),
        ("connections", plan.connections.to_string()),
        ("threads", plan.threads.to_string()),
        ("server_threads", plan.server_threads.to_string()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    params.insert("receiver".to_owned(), args.on.as_ref().map_or("here", |target| &target.name).to_owned());
    if plan.service_us > 0 {
        params.insert("service_us".to_owned(), plan.service_us.to_string());
    }
    Ok(fenxi_record::Plan {
        store: Some(stores::create(global)?),
        name: args.labels.name.clone().unwrap_or_else(|| "net-peak".to_owned()),
        tags: args.labels.tag.iter().cloned().collect(),
        params,
        random: stores::random(),
        beside_work: true,
        ..fenxi_record::Plan::new(sources::choose(&args.source)?, root, host, 1.0)
    })
}

/// Adds steps as intervals of a load, and the best one as results.
fn rows(peak: &Peak, plan: &Plan, times: &[Micros], rows: &mut Rows) {
    for (step, t) in peak.steps.iter().zip(times) {
        Summary::from_interval(&interval(step, plan)).row(rows, *t);
    }
    let best = &peak.steps[peak.best];
    let total = interval(best, plan);
    let transactions = best.tally.transactions;
    let server = best.server.cpus.map(|cpus| Usage {
        name: "receiver".to_owned(),
        transactions,
        cpu_s: cpus * best.seconds,
        wait_s: None,
        switches: None,
        memory_bytes: None,
        grown_bytes: None,
    });
    let (drained, stopped, lost) = (Tally::default(), None, Vec::new());
    let outcome = Outcome { total, drained, unfinished: 0, unstarted: 0, stopped, lost, server };
    report::rows(&outcome, rows);
    for (name, value, unit, better) in extra(peak, plan) {
        let figure = Figure { name: name.to_owned(), value, unit, better };
        report::figure(&figure, rows);
    }
    rows.note("net peak", None, &format!("the limit was {}", peak.limit.words()));
}

/// A step as an interval of a load.
fn interval(step: &Step, plan: &Plan) -> Interval {
    let n = step.tally.transactions;
    let bytes = (n * plan.messages.request_bytes as u64, n * plan.messages.reply_bytes as u64);
    let service = step.tally.latency.clone();
    let tally =
        Tally { reads: n, round_trips: n, message_bytes: bytes, service, queued_ns: None, ..step.tally.clone() };
    Interval { begin_s: 0.0, end_s: step.seconds, warmup: false, offered_per_s: None, tally }
}

/// Results that a load of a database has not: name, value, unit, better direction.
fn extra(peak: &Peak, plan: &Plan) -> Vec<(&'static str, f64, &'static str, &'static str)> {
    let best = &peak.steps[peak.best];
    let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
    let all = [
        ("message_bits_per_s", Some(best.bits_per_s(&plan.messages)), "bit/s", "higher"),
        ("packets_per_s", packets(best), "/s", "neither"),
        ("link_utilization", percent(best.link), "%", "neither"),
        ("client_cpus", best.client.cpus, "CPU", "lower"),
        ("server_cpus", best.server.cpus, "CPU", "lower"),
        ("client_threads_busy", Some(100.0 * best.client.busy), "%", "neither"),
        ("server_threads_busy", Some(100.0 * best.server.busy), "%", "neither"),
        ("load_share_of_peak", percent(share(peak, plan)), "%", "neither"),
    ];
    all.into_iter().filter_map(|(name, value, unit, better)| Some((name, value?, unit, better))).collect()
}

/// Packets per second in both directions, as the sender's interface counted them.
fn packets(step: &Step) -> Option<f64> {
    step.client.per_s.map(|[_, received, _, sent]| received + sent)
}

/// Share of the peak that the load of the mix reached.
fn share(peak: &Peak, plan: &Plan) -> Option<f64> {
    Some(plan.messages.seen_per_s? / peak.steps[peak.best].per_s())
}

const HEADER: [&str; 10] =
    ["CONNECTIONS", "MESSAGES", "GBIT/S", "PACKETS", "LINK", "P50 MS", "P99 MS", "LOST", "CLIENT CPUS", "SERVER CPUS"];

fn line(step: &Step, messages: &Messages) -> Vec<String> {
    let spread = Spread::from_latencies(&step.tally.latency);
    let or_none = |value: Option<f64>, show: &dyn Fn(f64) -> String| value.map_or_else(|| "-".to_owned(), show);
    let ms = |value: Option<f64>| or_none(value, &|ms| format!("{ms:.3}"));
    let per_s = |value: f64| Unit::PerS.human(value).to_string();
    let cpus = |used: Option<f64>| or_none(used, &|cpus| format!("{cpus:.2}"));
    vec![
        step.connections.to_string(),
        per_s(step.per_s()),
        format!("{:.3}", step.bits_per_s(messages) / 1e9),
        or_none(packets(step), &per_s),
        or_none(step.link, &|share| Unit::Percent.human(100.0 * share).to_string()),
        ms(spread.p50_ms),
        ms(spread.p99_ms),
        step.tally.failed.to_string(),
        cpus(step.client.cpus),
        cpus(step.server.cpus),
    ]
}

fn as_text(peak: &Peak, plan: &Plan) -> String {
    let messages = &plan.messages;
    let best = &peak.steps[peak.best];
    let (protocol, way) = (if plan.udp { "UDP" } else { "TCP" }, best.client.interface.as_deref().unwrap_or("-"));
    let rows: Vec<Vec<String>> = peak.steps.iter().map(|step| line(step, messages)).collect();
    let mut text = format!(
        "{} B out, {} B in, {protocol} to {} through {}\n\n{}\n",
        messages.request_bytes,
        messages.reply_bytes,
        plan.address,
        print::visible(way),
        print::table(&HEADER, 0..HEADER.len(), &[], &rows, false)
    );
    let busy = |busy: f64| Unit::Percent.human(100.0 * busy).to_string();
    text += &format!(
        "peak   {} messages per second with {} connections; threads busy: client {}, server {}\n",
        best.per_s().round(),
        best.connections,
        busy(best.client.busy),
        busy(best.server.busy)
    );
    text += &format!("limit  {}\n", peak.limit.words());
    if let (Some(share), Some(seen)) = (share(peak, plan), messages.seen_per_s) {
        text += &format!("load   {} messages per second in the run, {} of the peak\n", seen.round(), busy(share));
    }
    text
}

fn as_json(peak: &Peak, plan: &Plan) -> String {
    let step = |step: &Step| {
        json!({
            "connections": step.connections, "messages_per_s": step.per_s(), "bits_per_s": step.bits_per_s(&plan.messages),
            "packets_per_s": packets(step), "link": step.link, "latency": Spread::from_latencies(&step.tally.latency),
            "lost": step.tally.failed, "client": step.client, "server": step.server,
        })
    };
    let lines = peak.steps.iter().map(|each| json!({ "step": step(each) }));
    let best: Value = json!({
        "peak": step(&peak.steps[peak.best]), "limit": peak.limit, "messages": plan.messages,
        "load_share_of_peak": share(peak, plan), "interrupted": peak.interrupted,
    });
    lines.chain([best]).map(|line| format!("{line}\n")).collect()
}
