//! Whether a thread that waits in `poll`, `select` or `epoll_wait` waits for the answer of a peer, as one does that blocks in `recv`.
//!
//! Most clients wait so: whatever has a timeout (curl, drivers of databases), and all event loops. The files that a thread polls are found by
//! its system call: the memory that its arguments point to, or the list of the epoll file (/proc/PID/fdinfo). It waits for a peer when a
//! connected socket is among them and its process listens nowhere: a server waits for requests, which is no wait for an answer. The peer may be a
//! name server; and a socket that opens is waited for until room for data is there.

use fenxi_procfs::{
    scan::{hex, number, words},
    sockets::{self, State},
    wait::{Call, Wait},
};
use rustc_hash::FxHashMap;

use super::super::process::reader::Reader;

/// A thread that polls more files is not looked at.
const MOST_POLLED: usize = 64;
/// Open files of a process that are looked at; of one with more it is not known whether it listens.
const MOST_FILES: usize = 1024;
/// Bytes of a table of sockets (some 7,000) that are read.
const MOST_TABLE: usize = 1 << 20;
/// Rounds for which sockets are remembered: one that connects is a client's only then.
const REMEMBERED: u32 = 10;
/// POLLIN and EPOLLIN.
const IN: u64 = 1;
/// POLLOUT and EPOLLOUT.
const OUT: u64 = 4;

/// The sockets of processes whose threads poll, and what they are.
#[derive(Default)]
pub(super) struct Polled {
    /// By their inodes. [`State::Other`] also covers pairs and sockets of other families.
    known: FxHashMap<u64, State>,
    /// Rounds since all of them were forgotten.
    age: u32,
    /// Whether the tables of sockets were read in this round.
    has_read: bool,
    /// Files of processes that are sockets, with their inodes, as they were found in this round; None where they are not readable.
    open: FxHashMap<u32, Option<Vec<(u32, u64)>>>,
    /// Files from which the thread at hand waits for data, and those that it waits to write to.
    files: Vec<u32>,
    opening: Vec<u32>,
    memory: Vec<u8>,
}

impl Polled {
    /// Begins a round of looks. The files of a process are listed once in it, and the tables of sockets of one process are read.
    pub(super) fn begin(&mut self) {
        self.has_read = false;
        self.open.clear();
        self.age += 1;
        if self.age > REMEMBERED {
            self.known.clear();
            self.age = 0;
        }
    }

    /// Wait of this thread, which polls: for the answer of a peer or a name server, or a connection; None if uncertain.
    pub(super) fn waits_for(&mut self, reader: &mut Reader, pid: u32, tid: u32) -> Option<Wait> {
        self.find(reader, pid, tid)?;
        let mut open = std::mem::take(&mut self.open);
        let sockets = open.entry(pid).or_insert_with(|| open_sockets(reader, pid));
        let waits = sockets.as_ref().and_then(|sockets| self.peer(reader, pid, sockets));
        self.open = open;
        waits
    }

    /// Finds the files that the thread waits for.
    fn find(&mut self, reader: &mut Reader, pid: u32, tid: u32) -> Option<()> {
        self.files.clear();
        self.opening.clear();
        let call = Call::parse(reader.file(pid, Some(tid), "syscall")?)?;
        match call.number {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll => self.find_in_array(reader, pid, call),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_select => self.find_in_set(reader, pid, call),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait => self.find_in_epoll(reader, pid, call),
            libc::SYS_ppoll => self.find_in_array(reader, pid, call),
            libc::SYS_pselect6 => self.find_in_set(reader, pid, call),
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => self.find_in_epoll(reader, pid, call),
            _ => None,
        }
    }

    /// `poll(struct pollfd *fds, nfds_t nfds, …)`: file, wanted events, events of two bytes each.
    fn find_in_array(&mut self, reader: &mut Reader, pid: u32, call: Call) -> Option<()> {
        let n = usize::try_from(call.arguments[1]).ok().filter(|n| (1..=MOST_POLLED).contains(n))?;
        self.memory.resize(n * 8, 0);
        reader.memory(pid, call.arguments[0], &mut self.memory)?;
        self.files.extend(self.memory.chunks_exact(8).filter_map(|entry| polled(entry, IN)));
        self.opening.extend(self.memory.chunks_exact(8).filter_map(|entry| polled(entry, OUT)));
        Some(())
    }

    /// `select(int nfds, fd_set *readfds, …)`: a bit for each file, in words of eight bytes.
    fn find_in_set(&mut self, reader: &mut Reader, pid: u32, call: Call) -> Option<()> {
        let n = usize::try_from(call.arguments[0]).ok().filter(|n| (1..=libc::FD_SETSIZE).contains(n))?;
        self.memory.resize(n.div_ceil(64) * 8, 0);
        reader.memory(pid, call.arguments[1], &mut self.memory)?;
        let has = |file: &usize| {
            let word = &self.memory[file / 64 * 8..][..8];
            u64::from_ne_bytes(word.try_into().unwrap_or_default()) >> (file % 64) & 1 == 1
        };
        self.files.extend((0..n).filter(has).take(MOST_POLLED + 1).filter_map(|file| u32::try_from(file).ok()));
        (self.files.len() <= MOST_POLLED).then_some(())
    }

    /// `epoll_wait(int epfd, …)`: lines such as `tfd:        5 events:       19 data: …` of its fdinfo.
    fn find_in_epoll(&mut self, reader: &mut Reader, pid: u32, call: Call) -> Option<()> {
        let text = reader.whole(pid, &format!("fdinfo/{}", call.arguments[0]), MOST_TABLE)?;
        for line in text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"tfd:")) {
            let mut words = words(line).skip(1);
            let file = words.next().and_then(number).and_then(|file| u32::try_from(file).ok())?;
            let events = hex(words.nth(1)?)?;
            if events & IN != 0 {
                self.files.push(file);
            }
            if events & OUT != 0 {
                self.opening.push(file);
            }
        }
        (self.files.len() <= MOST_POLLED).then_some(())
    }

    /// Wait for the polled sockets of a process. One that listens may await its next request; a single file is certain.
    fn peer(&mut self, reader: &mut Reader, pid: u32, sockets: &[(u32, u64)]) -> Option<Wait> {
        if !sockets.iter().any(|(file, _)| self.files.contains(file) || self.opening.contains(file)) {
            return None;
        }
        // One that opened may have a peer by now.
        if sockets.iter().any(|(_, inode)| self.known.get(inode).is_none_or(|state| *state == State::Opens)) {
            self.look_up(reader, pid, sockets);
        }
        let is = |(_, inode): &(u32, u64), state| self.known.get(inode) == Some(&state);
        let polls = |files: &[u32], state| sockets.iter().any(|socket| files.contains(&socket.0) && is(socket, state));
        let listens = sockets.iter().any(|socket| is(socket, State::Listens));
        if polls(&self.files, State::Asks) && (!listens || self.files.len() == 1) {
            return Some(Wait::NameServer);
        }
        if listens {
            return None;
        }
        if polls(&self.files, State::Connected) {
            return Some(Wait::Receive);
        }
        polls(&self.opening, State::Opens).then_some(Wait::Connect)
    }

    /// Reads what the sockets of the network namespace of a process are, once a round.
    fn look_up(&mut self, reader: &mut Reader, pid: u32, sockets: &[(u32, u64)]) {
        if self.has_read {
            return;
        }
        self.has_read = true;
        for table in ["net/tcp", "net/tcp6", "net/udp", "net/udp6"] {
            let Some(text) = reader.whole(pid, table, MOST_TABLE) else { continue };
            self.known.extend(sockets::states(&text).map(|(state, inode)| (inode, state)));
        }
        // Those that are in none are pairs and sockets of other families.
        for (_, inode) in sockets {
            self.known.entry(*inode).or_insert(State::Other);
        }
    }
}

/// The files of a process that are sockets; None when they are not readable, or there are too many.
fn open_sockets(reader: &mut Reader, pid: u32) -> Option<Vec<(u32, u64)>> {
    let links = reader.links(pid, "fd", MOST_FILES)?;
    Some(links.iter().filter_map(|(file, link)| Some((*file, socket(link)?))).collect())
}

/// The file of a `struct pollfd` that is polled for these events.
fn polled(entry: &[u8], wanted: u64) -> Option<u32> {
    let file = i32::from_ne_bytes(entry.get(..4)?.try_into().ok()?);
    let events = u16::from_ne_bytes(entry.get(4..6)?.try_into().ok()?);
    u32::try_from(file).ok().filter(|_| u64::from(events) & wanted != 0)
}

/// The inode in `socket:[4242]`.
fn socket(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, Write},
        net::{TcpListener, UdpSocket},
        process::{Child, Command, Stdio},
        time::{Duration, Instant},
    };

    use super::{IN, OUT, Polled, Reader, Wait, polled, socket};
    use crate::Root;

    /// A program that prints when it is about to wait.
    struct Waiting(Child);

    impl Waiting {
        fn start(text: &str, port: u16) -> Waiting {
            let script = format!("import select, socket, sys, time\nport = {port}\n{text}");
            let mut child = Command::new("python3")
                .args(["-c", &script])
                .stdout(Stdio::piped())
                .stdin(Stdio::piped())
                .spawn()
                .expect("python3, which the project's scripts need");
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n");
            Waiting(child)
        }
    }

    impl Drop for Waiting {
        fn drop(&mut self) {
            let _ = self.0.stdin.take().map(|mut stdin| stdin.write_all(b"\n"));
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Whether the program waits for its peer, once it waits at all.
    fn waits(text: &str, port: u16) -> bool {
        waits_for(text, port) == Some(Wait::Receive)
    }

    fn waits_for(text: &str, port: u16) -> Option<Wait> {
        let waiting = Waiting::start(text, port);
        let pid = waiting.0.id();
        let mut reader = Reader::open(&Root::live()).unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while reader
            .file(pid, None, "wchan")
            .is_none_or(|text| !text.windows(4).any(|part| part == b"poll" || part == b"epol"))
        {
            assert!(Instant::now() < end, "it does not begin to wait");
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut polled = Polled::default();
        polled.begin();
        polled.waits_for(&mut reader, pid, pid)
    }

    const CONNECT: &str = "s = socket.create_connection(('127.0.0.1', port))\nprint('ready', flush=True)\n";

    #[test]
    fn a_client_waits_for_its_peer_however_it_polls() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let waits = |text: &str| waits(&format!("{CONNECT}{text}"), port);
        assert!(waits("p = select.poll(); p.register(s, select.POLLIN); p.poll()"), "poll");
        assert!(waits("s.settimeout(60); s.recv(1)"), "a timeout");
        assert!(waits("select.select([s], [], [], 60)"), "select");
        assert!(waits("p = select.epoll(); p.register(s, select.EPOLLIN); p.poll(60)"), "epoll");
        assert!(
            waits(
                "import asyncio\nasync def ask():\n  r, w = await asyncio.open_connection('127.0.0.1', port)\n  await r.read(1)\nasyncio.run(ask())"
            ),
            "asyncio"
        );
    }

    #[test]
    fn what_waits_for_something_else_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let waits_beside = |text: &str| waits(&format!("{CONNECT}{text}"), port);
        assert!(!waits_beside("select.select([sys.stdin], [], [], 60)"), "standard input");
        assert!(!waits_beside("select.select([], [], [], 60)"), "the clock");
        assert!(!waits_beside("p = select.poll(); p.register(s, select.POLLPRI); p.poll()"), "not for data");
        assert!(!waits_beside("import asyncio\nasyncio.run(asyncio.sleep(60))"), "the clock of a loop");
        let listen = "l = socket.create_server(('127.0.0.1', 0))\n";
        assert!(
            !waits(&format!("{listen}print('ready', flush=True)\nselect.select([l], [], [], 60)"), port),
            "a server"
        );
        // A server that waits for the next request of a client that it has accepted.
        assert!(!waits_beside(&format!("{listen}select.select([s], [], [], 60)")), "a connection of a server");
    }

    #[test]
    fn a_connection_that_opens_is_waited_for() {
        // A listener without room: its second connection and those after it get no answer.
        let listening = "l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(0)\nheld = [socket.socket() for _ in range(2)]\n\
                         for one in held: one.setblocking(False); one.connect_ex(l.getsockname())\n\
                         print('ready', flush=True)\nprint(l.getsockname()[1], flush=True)\nsys.stdin.readline()";
        let mut listener = Command::new("python3")
            .args(["-c", &format!("import socket, sys\n{listening}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3, which the project's scripts need");
        let mut lines = BufReader::new(listener.stdout.take().unwrap()).lines();
        let (_, port) = (lines.next(), lines.next().unwrap().unwrap().parse().unwrap());
        let open = "s = socket.socket(); s.settimeout(60)\nprint('ready', flush=True)\ns.connect(('127.0.0.1', port))";
        assert_eq!(waits_for(open, port), Some(Wait::Connect));
        drop(listener.stdin.take());
        let _ = listener.wait();
    }

    #[test]
    fn a_datagram_that_answers_is_waited_for() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let text =
            "s = socket.socket(type=socket.SOCK_DGRAM)\nTO\nprint('ready', flush=True)\nselect.select([s], [], [], 60)";
        assert!(waits(&text.replace("TO", "s.connect(('127.0.0.1', port))"), port), "as resolvers wait");
        assert!(!waits(&text.replace("TO", "s.bind(('127.0.0.1', 0))"), port), "a server");
    }

    #[test]
    fn entries_are_read() {
        assert_eq!((polled(&[5, 0, 0, 0, 1, 0, 0, 0], IN), polled(&[5, 0, 0, 0, 1, 0, 0, 0], OUT)), (Some(5), None));
        assert_eq!((polled(&[5, 0, 0, 0, 4, 0, 0, 0], IN), polled(&[5, 0, 0, 0, 4, 0, 0, 0], OUT)), (None, Some(5)));
        assert_eq!(polled(&[255, 255, 255, 255, 1, 0, 0, 0], IN), None);
        assert_eq!((socket("socket:[4242]"), socket("pipe:[4242]")), (Some(4242), None));
    }
}
