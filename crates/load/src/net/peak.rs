//! The peak of a network for given messages: more and more connections, until throughput no longer rises; and what limited it.

use std::{
    io::Read,
    net::{IpAddr, SocketAddr, UdpSocket},
    ops::ControlFlow,
    process::{ChildStdin, ChildStdout},
    sync::atomic::{AtomicU8, Ordering},
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{
    KEY, Message, Order, Used, hear,
    mix::Messages,
    receiver::Receiver,
    say,
    sender::{Asking, ENDING, Flow, MEASURING, SETTLING},
    usage::{Seat, Snapshot},
};
use crate::{engine::EngineError, tally::Tally, team::Patient};

/// Throughput that is higher by less than this share is no rise.
const RISE: f64 = 0.05;
/// After so many steps without a rise the peak is passed.
const FLAT: usize = 2;
/// A resource used for this share of the time is the limit.
const FULL: f64 = 0.9;
/// As [`FULL`], of the CPUs of a host: measuring is a part of it.
const HOST_FULL: f64 = 0.93;
/// A host is full with something else where an end's threads are busy for less than this share.
const HALF: f64 = 0.5;
/// An end whose threads are busy for less than this share waits for the other one.
const WAITS: f64 = 0.75;
/// How often it is looked whether the user wants the end.
const GLANCE: Duration = Duration::from_millis(20);

/// Plan of an exchange: the messages, and how they are sent.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sizes of messages.
    pub messages: Messages,
    /// In datagrams instead of TCP connections.
    pub udp: bool,
    /// Connections at most.
    pub connections: usize,
    /// Threads that send, and those that answer.
    pub threads: usize,
    /// As `threads`.
    pub server_threads: usize,
    /// Microseconds for which each request holds a thread of the receiver up.
    pub service_us: u64,
    /// Where the receiver listens; and its first port, 0 for any.
    pub address: IpAddr,
    /// As `address`.
    pub port: u16,
    /// Speed of the link, Mbit/s; None for what the driver reports.
    pub link_mbps: Option<f64>,
    /// Seconds before and during the measurement of a step.
    pub settle_s: f64,
    /// As `settle_s`.
    pub step_s: f64,
}

/// The other end.
#[derive(Debug)]
pub enum Far {
    /// Threads of this process.
    Here,
    /// A receiver behind a pipe.
    There(ChildStdout, ChildStdin),
}

/// Result of one number of connections.
#[derive(Clone, Debug)]
pub struct Step {
    /// Connections.
    pub connections: usize,
    /// Seconds that were measured.
    pub seconds: f64,
    /// Exchanges, as transactions; lost datagrams and connections, as failed.
    pub tally: Tally,
    /// Resource use of the sender, and of the receiver.
    pub client: Used,
    /// As `client`.
    pub server: Used,
    /// True if both ends are on one host, whose CPUs they share.
    pub same_host: bool,
    /// Share of the link, 0 to 1, in its busier direction; None where its speed is not known.
    pub link: Option<f64>,
}

impl Step {
    /// Exchanges of messages per second.
    pub fn per_s(&self) -> f64 {
        self.tally.transactions as f64 / self.seconds
    }

    /// Bits of messages per second in the busier direction.
    pub fn bits_per_s(&self, messages: &Messages) -> f64 {
        8.0 * self.per_s() * messages.request_bytes.max(messages.reply_bytes) as f64
    }
}

/// The limit of the throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The link is full.
    Link,
    /// Neither end is busy: what is between them is full, or drops.
    Path,
    /// CPU time of the sender's threads.
    ClientCpu,
    /// All threads of the receiver are busy, and its host has CPUs left.
    ServerThreads,
    /// CPUs of the receiver's host.
    ServerCpu,
    /// Both ends are on one host, whose CPUs are busy.
    SharedCpu,
    /// One CPU of the sender's or the receiver's host, on which packets are received.
    Softirq,
    /// None: throughput still rises with each step.
    Connections,
}

impl Limit {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Limit::Link => "the link",
            Limit::Path => "the link, or what else is on the way: both ends wait for it",
            Limit::ClientCpu => "CPU time of the client's threads",
            Limit::ServerThreads => "server threads: all are busy, and their host has CPUs left",
            Limit::ServerCpu => "CPUs of the server's host",
            Limit::SharedCpu => "CPUs of this host, which both ends share",
            Limit::Softirq => "one CPU, on which packets are received (softirq)",
            Limit::Connections => "none was reached: throughput still rises; raise --connections",
        }
    }
}

/// Steps and what they show.
#[derive(Clone, Debug)]
pub struct Peak {
    /// In the order of their connections.
    pub steps: Vec<Step>,
    /// The place of the step with the highest throughput.
    pub best: usize,
    /// The limit of its throughput.
    pub limit: Limit,
    /// True if the user ended it before the peak was passed.
    pub interrupted: bool,
}

/// The receiver, wherever it is.
enum End {
    Here(Receiver),
    There(Box<dyn Read>, ChildStdin),
}

impl End {
    fn start(far: Far, order: &Order) -> Result<(End, Vec<u16>), EngineError> {
        let wrong = |what: String| EngineError::Plan(format!("the receiver: {what}"));
        match far {
            Far::Here => {
                let receiver = Receiver::start(order).map_err(|e| wrong(e.to_string()))?;
                let ports = receiver.ports.clone();
                Ok((End::Here(receiver), ports))
            }
            Far::There(from, mut to) => {
                let mut from = Patient(from);
                say(&mut to, &Message::Order(order.clone())).map_err(|e| wrong(e.to_string()))?;
                match hear(&mut from).map_err(|e| wrong(e.to_string()))? {
                    Message::Ports(ports) if ports.len() == order.threads => {
                        Ok((End::There(Box::new(from), to), ports))
                    }
                    Message::Refused(why) => Err(wrong(why)),
                    _ => Err(wrong("it answers, but not as a receiver".to_owned())),
                }
            }
        }
    }

    fn look(&mut self) -> Result<Snapshot, EngineError> {
        match self {
            End::Here(receiver) => Ok(receiver.look()),
            End::There(from, to) => {
                say(to, &Message::Look)?;
                match hear(from)? {
                    Message::Seen(seen) => Ok(*seen),
                    _ => Err(EngineError::Plan("the receiver: it answers, but not as a receiver".to_owned())),
                }
            }
        }
    }
}

/// Makes steps until throughput no longer rises, connections are at their maximum, or `watch` breaks.
///
/// # Errors
/// When the receiver cannot be reached, or all connections are lost.
pub fn run(
    plan: &Plan,
    far: Far,
    ends: &dyn Fn() -> bool,
    watch: &mut dyn FnMut(&Step) -> ControlFlow<()>,
) -> Result<Peak, EngineError> {
    let order = order(plan)?;
    let (mut end, ports) = End::start(far, &order)?;
    let mut flows: Vec<Flow> = Vec::new();
    let (mut steps, mut best, mut connections, mut interrupted): (Vec<Step>, usize, usize, bool) =
        (Vec::new(), 0, 1, false);
    loop {
        while flows.len() < connections && !ends() {
            let to = SocketAddr::new(plan.address, ports[flows.len() % ports.len()]);
            let flow = Flow::connect(to, &order);
            flows.push(flow.map_err(|e| EngineError::Plan(format!("cannot connect to the receiver at {to}: {e}")))?);
        }
        let Some(step) = step(plan, &order, &mut flows, &mut end, ends)? else {
            interrupted = true;
            break;
        };
        let goes_on = watch(&step).is_continue();
        steps.push(step);
        if steps.last().is_some_and(|step| step.per_s() > steps[best].per_s() * (1.0 + RISE)) {
            best = steps.len() - 1;
        }
        if !goes_on || steps.len() > best + FLAT || connections >= plan.connections {
            break;
        }
        connections = (connections * 2).min(plan.connections);
    }
    if steps.iter().all(|step| step.tally.transactions == 0) {
        let why = if interrupted {
            "interrupted before a step was measured"
        } else {
            "no reply came; is something between both ends?"
        };
        return Err(EngineError::Plan(why.to_owned()));
    }
    best = (0..steps.len()).max_by(|a, b| steps[*a].per_s().total_cmp(&steps[*b].per_s())).unwrap_or(best);
    let limit = limit(&steps, best);
    Ok(Peak { steps, best, limit, interrupted })
}

fn order(plan: &Plan) -> Result<Order, EngineError> {
    let mut key = [0; KEY];
    fs_err::File::open("/dev/urandom")?.read_exact(&mut key)?;
    // The address from which the other one is reached: nothing is sent.
    let any = if plan.address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)?;
    let peer = socket.connect(SocketAddr::new(plan.address, 9)).and_then(|()| socket.local_addr());
    let peer = peer.map_err(|e| EngineError::Plan(format!("{} cannot be reached: {e}", plan.address)))?.ip();
    let (request, reply) = (plan.messages.request_bytes, plan.messages.reply_bytes);
    let (threads, service_us) = (plan.server_threads, plan.service_us);
    Ok(Order { key, address: plan.address, peer, port: plan.port, threads, udp: plan.udp, request, reply, service_us })
}

/// One step; None when it was ended.
fn step(
    plan: &Plan,
    order: &Order,
    flows: &mut Vec<Flow>,
    end: &mut End,
    ends: &dyn Fn() -> bool,
) -> Result<Option<Step>, EngineError> {
    let connections = flows.len();
    let n_threads = plan.threads.clamp(1, connections.max(1));
    let (seats, phase) = (Seat::some(n_threads), AtomicU8::new(SETTLING));
    let mut shares: Vec<Vec<Flow>> = (0..n_threads).map(|_| Vec::new()).collect();
    // Flows of one receiver's thread are spread over the sender's.
    let per = connections.div_ceil(n_threads).max(1);
    for (place, flow) in flows.drain(..).enumerate() {
        shares[place / per].push(flow);
    }
    let asking = shares.into_iter().map(|share| Asking::new(share, order, &phase)).collect::<Result<Vec<_>, _>>()?;
    let wait = |seconds: f64| {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        while Instant::now() < until && !ends() {
            std::thread::sleep(GLANCE.min(until.saturating_duration_since(Instant::now())));
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            asking.into_iter().zip(seats.iter()).map(|(asking, seat)| scope.spawn(move || asking.run(seat))).collect();
        let mut look = || Ok::<_, EngineError>((Snapshot::take(&seats, order.peer, order.address), end.look()?));
        let measured = (|| {
            wait(plan.settle_s);
            let before = look()?;
            phase.store(MEASURING, Ordering::Relaxed);
            let began = Instant::now();
            wait(plan.step_s);
            // Before threads end, whose times are gone then.
            let after = look()?;
            Ok::<_, EngineError>((before, after, began.elapsed().as_secs_f64()))
        })();
        // Also where the other end is lost.
        phase.store(ENDING, Ordering::Relaxed);
        let mut tally = Tally::default();
        for thread in threads {
            let Ok((mut left, counted)) = thread.join() else { continue };
            flows.append(&mut left);
            tally.beside(&counted);
        }
        let (before, after, seconds) = measured?;
        let (client, server) = (Used::between(&before.0, &after.0), Used::between(&before.1, &after.1));
        let (Some(client), Some(server)) = (client, server) else { return Ok(None) };
        tally.connected = connections as u64;
        tally.cpu_ns = client.cpus.map_or(0, |cpus| (cpus * seconds * 1e9) as u64);
        tally.busiest = client.busy;
        let link = link_share(plan.link_mbps, &client, &server);
        let same_host = before.0.shares_host(&before.1);
        Ok(Some(Step { connections, seconds, tally, client, server, same_host, link }).filter(|_| !ends()))
    })
}

/// The share of the link that was used; as either end sees it.
fn link_share(stated_mbps: Option<f64>, client: &Used, server: &Used) -> Option<f64> {
    let slower = [client, server].into_iter().filter_map(|end| end.speed_mbps).reduce(f64::min);
    let [received, _, sent, _] = client.per_s.or(server.per_s)?;
    Some(8.0 * received.max(sent) / (1e6 * stated_mbps.or(slower)?))
}

/// The limit of the throughput, at the last step that was near the best one: there it shows most.
fn limit(steps: &[Step], best: usize) -> Limit {
    let near = |step: &&Step| step.per_s() >= steps[best].per_s() * (1.0 - 2.0 * RISE);
    let Some(step) = steps[best..].iter().rev().find(near) else { return Limit::Connections };
    let (client, server) = (&step.client, &step.server);
    if step.link.is_some_and(|share| share >= FULL) {
        return Limit::Link;
    }
    if client.busy >= FULL && server.busy < WAITS {
        return Limit::ClientCpu;
    }
    if server.busy >= FULL && client.busy < WAITS {
        return of_server(server);
    }
    let [client_full, server_full] = [client, server].map(is_host_full);
    if step.same_host && (client_full || server_full) {
        return Limit::SharedCpu;
    }
    // Of both ends that are busy one may wait for the other: the busier one is the limit.
    if client.busy >= FULL && client.busy >= server.busy || client_full {
        return Limit::ClientCpu;
    }
    if server.busy >= FULL || server_full {
        return of_server(server);
    }
    if [client, server].into_iter().any(|end| end.softirq.is_some_and(|busy| busy >= FULL)) {
        return Limit::Softirq;
    }
    // Without a step that brought nothing it is not known whether more would have.
    let last = steps.len() - 1;
    let before = steps[..last].iter().map(Step::per_s).fold(0.0, f64::max);
    if last == 0 || best == last && steps[last].per_s() > before * (1.0 + RISE) {
        Limit::Connections
    } else {
        Limit::Path
    }
}

/// Whether the CPUs of an end's host are used, and its threads want much of them.
fn is_host_full(end: &Used) -> bool {
    end.busy >= HALF && end.host_busy.is_some_and(|busy| busy >= HOST_FULL)
}

/// Which limit of the receiver it is that all of its threads are busy.
fn of_server(server: &Used) -> Limit {
    let uses = |share: f64| server.cpus.is_none_or(|cpus| cpus >= share * server.threads as f64);
    let has_no_more = server.threads >= server.host_cpus && uses(FULL);
    if has_no_more || is_host_full(server) && uses(HALF) { Limit::ServerCpu } else { Limit::ServerThreads }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(busy: f64, host_busy: f64) -> Used {
        Used {
            threads: 2,
            host_cpus: 4,
            busy,
            cpus: Some(2.0 * busy),
            host_busy: Some(host_busy),
            softirq: None,
            interface: Some("eth0".to_owned()),
            speed_mbps: None,
            per_s: Some([1e6, 1e3, 1e8, 1e5]),
        }
    }

    fn step(per_s: u64, client: Used, server: Used) -> Step {
        let tally = Tally { transactions: per_s, ..Tally::default() };
        Step { connections: 1, seconds: 1.0, tally, client, server, same_host: false, link: None }
    }

    #[test]
    fn the_limit_is_what_was_full() {
        let steps = |last: u64, client: &Used, server: &Used| {
            [100, 190, last].map(|per_s| step(per_s, client.clone(), server.clone())).to_vec()
        };
        let of = |last, client: Used, server: Used| {
            let steps = steps(last, &client, &server);
            let best = if last > 190 { 2 } else { 1 };
            limit(&steps, best)
        };
        assert_eq!(of(191, used(0.3, 0.2), used(0.4, 0.3)), Limit::Path);
        assert_eq!(of(300, used(0.3, 0.2), used(0.4, 0.3)), Limit::Connections);
        assert_eq!(of(191, used(0.97, 0.5), used(0.4, 0.3)), Limit::ClientCpu);
        assert_eq!(of(191, used(0.97, 0.5), used(0.99, 0.3)), Limit::ServerThreads);
        let held_up = Used { cpus: Some(0.1), ..used(0.99, 0.98) };
        assert_eq!(of(191, used(0.3, 0.98), held_up), Limit::ServerThreads, "others use the CPUs");
        assert_eq!(of(191, used(0.1, 0.99), used(0.1, 0.99)), Limit::Path, "others use the CPUs");
        assert_eq!(of(191, used(0.5, 0.5), used(0.99, 0.97)), Limit::ServerCpu);
        assert_eq!(of(191, used(0.5, 0.5), Used { softirq: Some(0.95), ..used(0.3, 0.3) }), Limit::Softirq);
        let mut steps = steps(191, &used(0.97, 0.97), &used(0.97, 0.97));
        steps[2].same_host = true;
        assert_eq!(limit(&steps, 1), Limit::SharedCpu);
        steps[2].link = link_share(Some(850.0), &steps[2].client, &steps[2].server);
        assert_eq!(limit(&steps, 1), Limit::Link);
        // Of a single step no others are known.
        assert_eq!(limit(&steps[..1], 0), Limit::ClientCpu);
        assert_eq!(limit(&[step(5, used(0.2, 0.2), used(0.2, 0.2))], 0), Limit::Connections);
    }
}
