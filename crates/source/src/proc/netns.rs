//! `netns`: TCP and UDP of the network namespaces that other processes are in, from `net` of /proc/PID.
//!
//! The kernel counts protocols for each namespace apart, so that `tcp` and `udp` know nothing of containers. Which
//! namespace a process is in is looked up when it is first seen and every sixteenth sample, by its link `ns/net`: without
//! the right to trace a process (another user's) its namespace stays unknown. A namespace is read through its process of the lowest number, and left at
//! the first sample that finds none in it, as an open file would keep it alive. Its first sample is where counters
//! begin. At most [`MOST`] are read; what is left out is noted.

use std::collections::BTreeMap;

use fenxi_model::{Micros, Rows, catalog::netns};
use rustc_hash::FxHashMap;

use super::{
    keyed::{
        As::{Gauge, Rate},
        Meters, Pairs, Wanted, wanted,
    },
    process::reader::Reader,
    scan::number,
};
use crate::{Collector, ProcFile, Root, Source, SourceError, Spec, Take, Tick};

/// How many namespaces are read at most.
const MOST: usize = 128;
/// Samples after which the namespace of a process is looked up anew: hardly any enters another one later.
const LINK_AGE: u32 = 16;

/// The `netns` source.
pub static SOURCE: Netns = Netns;

static SPEC: Spec = Spec {
    name: "netns",
    summary: "TCP and UDP of other network namespaces: containers",
    tables: &[&netns::TABLE],
    take: Take::EveryTick,
    default: true,
    live: false,
};

static WANTED: &[Wanted<netns::Schema>] = &[
    wanted(netns::established, Gauge, 1.0, &["Tcp.CurrEstab"]),
    wanted(netns::active_opens_per_s, Rate, 1.0, &["Tcp.ActiveOpens"]),
    wanted(netns::passive_opens_per_s, Rate, 1.0, &["Tcp.PassiveOpens"]),
    wanted(netns::attempt_fails_per_s, Rate, 1.0, &["Tcp.AttemptFails"]),
    wanted(netns::in_segments_per_s, Rate, 1.0, &["Tcp.InSegs"]),
    wanted(netns::out_segments_per_s, Rate, 1.0, &["Tcp.OutSegs"]),
    wanted(netns::retransmits_per_s, Rate, 1.0, &["Tcp.RetransSegs"]),
    wanted(netns::listen_overflows_per_s, Rate, 1.0, &["TcpExt.ListenOverflows"]),
    wanted(netns::timeouts_per_s, Rate, 1.0, &["TcpExt.TCPTimeouts"]),
    wanted(netns::delayed_acks_per_s, Rate, 1.0, &["TcpExt.DelayedACKs"]),
    wanted(netns::time_wait, Gauge, 1.0, &["TCP.tw"]),
    wanted(netns::sockets, Gauge, 1.0, &["TCP.inuse", "TCP6.inuse"]),
    wanted(netns::in_datagrams_per_s, Rate, 1.0, &["Udp.InDatagrams"]),
    wanted(netns::receive_buffer_errors_per_s, Rate, 1.0, &["Udp.RcvbufErrors"]),
];

/// Collects the `netns` table.
pub struct Netns;

impl Source for Netns {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        let own = space_of(root, "self");
        Ok(Box::new(Namespaces {
            root: root.clone(),
            reader: Reader::open(root)?,
            pids: Vec::new(),
            own,
            links: FxHashMap::default(),
            spaces: BTreeMap::new(),
            round: 0,
            noted: false,
        }))
    }
}

struct Namespaces {
    root: Root,
    reader: Reader,
    pids: Vec<u32>,
    /// The recorder's, which `tcp` and `udp` cover.
    own: Option<u64>,
    /// The namespace of each process that is there, and the round in which it was seen last; None where it may not be known.
    links: FxHashMap<u32, (Option<u64>, u32)>,
    spaces: BTreeMap<u64, Space>,
    round: u32,
    /// Whether it was noted that some are left out.
    noted: bool,
}

impl Collector for Namespaces {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        // Of a copy it is not known which process is the recorder.
        let Some(own) = self.own else { return Ok(()) };
        let first = self.first_processes()?;
        self.spaces.retain(|id, space| first.get(id) == Some(&space.pid));
        for (id, pid) in first {
            if id == own || self.spaces.contains_key(&id) {
                continue;
            }
            if self.spaces.len() == MOST {
                if !std::mem::replace(&mut self.noted, true) {
                    rows.note("/proc", None, &format!("only {MOST} network namespaces are read"));
                }
                break;
            }
            self.spaces.extend(Space::open(&self.root, pid).map(|space| (id, space)));
        }
        self.spaces.iter_mut().for_each(|(id, space)| space.sample(*id, tick, rows));
        Ok(())
    }
}

impl Namespaces {
    /// The process of the lowest number of each namespace.
    fn first_processes(&mut self) -> Result<BTreeMap<u64, u32>, SourceError> {
        self.reader.pids(&mut self.pids)?;
        self.round = self.round.wrapping_add(1);
        let round = self.round;
        let mut first = BTreeMap::new();
        for pid in self.pids.iter().copied() {
            let known = self.links.get(&pid).map(|(id, _)| *id);
            // A part of them at each sample, so that none takes longer than the others.
            let is_due = pid % LINK_AGE == round % LINK_AGE;
            let id = known.filter(|_| !is_due).unwrap_or_else(|| space_of(&self.root, &pid.to_string()));
            self.links.insert(pid, (id, round));
            if let Some(id) = id {
                first.entry(id).and_modify(|known: &mut u32| *known = pid.min(*known)).or_insert(pid);
            }
        }
        self.links.retain(|_, (_, seen)| *seen == round);
        Ok(first)
    }
}

/// The number in the link `net:[4026531840]`.
fn space_of(root: &Root, process: &str) -> Option<u64> {
    let link = root.read_link(&format!("/proc/{process}/ns/net"))?;
    number(link.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?.as_bytes())
}

/// One namespace, with its files open.
struct Space {
    pid: u32,
    comm: String,
    meters: Meters<netns::Schema>,
    /// `snmp` and `netstat`, with their layouts.
    pairs: Vec<(ProcFile, Pairs)>,
    sockstat: Vec<ProcFile>,
    before: Option<Micros>,
}

impl Space {
    fn open(root: &Root, pid: u32) -> Option<Space> {
        let open = |name: &&str| root.open(&format!("/proc/{pid}/net/{name}")).ok();
        let pairs: Vec<_> = ["snmp", "netstat"].iter().filter_map(open).map(|file| (file, Pairs::default())).collect();
        let comm = root.read_text(&format!("/proc/{pid}/comm"))?;
        let sockstat = ["sockstat", "sockstat6"].iter().filter_map(open).collect();
        (!pairs.is_empty()).then(|| Space { pid, comm, meters: Meters::new(WANTED), pairs, sockstat, before: None })
    }

    fn sample(&mut self, id: u64, tick: Tick, rows: &mut Rows) {
        self.meters.begin();
        for (file, layout) in &mut self.pairs {
            // The namespace may end between the list and this.
            let Ok(text) = file.read() else { return };
            layout.take(text, &mut self.meters);
        }
        for file in &mut self.sockstat {
            let Ok(text) = file.read() else { return };
            self.meters.take_sockets(text);
        }
        let name = id.to_string();
        self.meters.advance(&format!("network namespace {name}"), tick, rows);
        let begun = self.before.replace(tick.t).is_some();
        if let (true, Some(dt)) = (begun, tick.dt.filter(|dt| *dt > 0.0)) {
            let mut row = rows.row(&netns::TABLE, tick.t, dt);
            row.str(netns::namespace, &*name).str(netns::comm, &*self.comm);
            self.meters.fill(&mut row, dt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LINK_AGE, SOURCE};
    use crate::testing::{Machine, near};

    fn put(machine: &Machine, pid: u32, space: u64, opens: u64) {
        machine.link(&format!("/proc/{pid}/ns/net"), &format!("net:[{space}]"));
        machine.put(&format!("/proc/{pid}/comm"), "nginx\n");
        machine.put(
            &format!("/proc/{pid}/net/snmp"),
            format!("Tcp: ActiveOpens CurrEstab\nTcp: {opens} 3\nUdp: InDatagrams RcvbufErrors\nUdp: 4 {opens}\n"),
        );
        machine.put(&format!("/proc/{pid}/net/netstat"), format!("TcpExt: ListenOverflows\nTcpExt: {opens}\n"));
        machine.put(&format!("/proc/{pid}/net/sockstat"), "TCP: inuse 5 orphan 0 tw 700 alloc 9 mem 1\n");
    }

    #[test]
    fn each_other_namespace_is_read_through_its_first_process() {
        let machine = Machine::new();
        put(&machine, 1, 10, 5);
        machine.link("/proc/self/ns/net", "net:[10]");
        put(&machine, 30, 20, 100);
        put(&machine, 31, 20, 9);
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        put(&session.machine, 30, 20, 150);
        let seen = session.tick(2.0);
        assert_eq!(seen.keys("netns"), [["20"]]);
        let value = |column| seen.value("netns", column, &["20"]);
        near(value("active_opens_per_s"), 25.0);
        near(value("listen_overflows_per_s"), 25.0);
        near(value("receive_buffer_errors_per_s"), 25.0);
        assert_eq!((value("time_wait"), value("sockets")), (Some(700.0), Some(5.0)));
        assert_eq!(seen.text("netns", "comm", &["20"]).as_deref(), Some("nginx"));
        // Its first process ends: it is read on through the other, whose counters begin.
        session.machine.remove("/proc/30");
        assert_eq!(session.tick(1.0).count("netns"), 0);
        assert_eq!(session.tick(1.0).count("netns"), 1);
        session.machine.remove("/proc/31");
        assert_eq!(session.tick(1.0).count("netns"), 0);
    }

    #[test]
    fn who_enters_another_namespace_is_found_there_later() {
        let machine = Machine::new();
        machine.link("/proc/self/ns/net", "net:[10]");
        put(&machine, 30, 10, 5);
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        session.machine.remove("/proc/30/ns/net");
        put(&session.machine, 30, 20, 9);
        let found = (0..LINK_AGE + 2).map(|_| session.tick(1.0).count("netns")).sum::<usize>();
        assert!(found >= 1);
    }

    #[test]
    fn without_its_own_namespace_known_there_are_no_others() {
        let machine = Machine::new();
        put(&machine, 30, 20, 100);
        let mut session = machine.start(&SOURCE);
        session.tick(None);
        assert_eq!(session.tick(1.0).count("netns"), 0);
    }
}
