//! The end that asks: connections, each of which sends a request and waits for its reply, over and over.

use std::{
    io::{self, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicU8, Ordering},
    time::{Duration, Instant},
};

use rustix::event::epoll::{self, EventData, EventFlags};

use super::{CHUNK, Exchange, KEY, Order, SHORTEST_UDP, usage::Seat};
use crate::{policy::Failure, tally::Tally};

/// How long connecting may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// A datagram whose reply has not come by then is lost.
const LOST: Duration = Duration::from_millis(300);
/// How often lost ones are looked for, and the end is noticed.
const GLANCE: Duration = Duration::from_millis(50);
/// How long replies are waited for at the end.
const DRAIN: Duration = Duration::from_secs(1);

/// Phase of a step, which decides what is done with replies that come.
pub(super) const SETTLING: u8 = 0;
/// As [`SETTLING`].
pub(super) const MEASURING: u8 = 1;
/// As [`SETTLING`].
pub(super) const ENDING: u8 = 2;

/// A connection.
#[derive(Debug)]
pub(super) struct Flow {
    way: Way,
    began: Option<Instant>,
}

#[derive(Debug)]
enum Way {
    Tcp(Exchange),
    /// With the number of the last datagram.
    Udp(UdpSocket, u64),
}

impl AsFd for Flow {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.way {
            Way::Tcp(exchange) => exchange.socket.as_fd(),
            Way::Udp(socket, _) => socket.as_fd(),
        }
    }
}

impl Flow {
    /// Connects to a receiver's thread.
    pub fn connect(to: SocketAddr, order: &Order) -> io::Result<Flow> {
        let way = if order.udp {
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(any)?;
            socket.connect(to)?;
            socket.set_nonblocking(true)?;
            Way::Udp(socket, 0)
        } else {
            let mut socket = TcpStream::connect_timeout(&to, PATIENCE)?;
            socket.set_write_timeout(Some(PATIENCE))?;
            socket.write_all(&order.key)?;
            Way::Tcp(Exchange::new(socket)?)
        };
        Ok(Flow { way, began: None })
    }
}

/// A thread with its connections.
pub(super) struct Asking<'a> {
    pub flows: Vec<Option<Flow>>,
    epoll: OwnedFd,
    order: &'a Order,
    buffer: Vec<u8>,
    tally: Tally,
    phase: &'a AtomicU8,
    under_way: usize,
}

impl<'a> Asking<'a> {
    pub fn new(flows: Vec<Flow>, order: &'a Order, phase: &'a AtomicU8) -> io::Result<Asking<'a>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (id, flow) in flows.iter().enumerate() {
            epoll::add(&epoll, flow, EventData::new_u64(id as u64), EventFlags::IN)?;
        }
        let flows = flows.into_iter().map(Some).collect();
        let buffer = vec![0; CHUNK];
        Ok(Asking { flows, epoll, order, buffer, tally: Tally::default(), phase, under_way: 0 })
    }

    /// Exchanges messages until the phase is [`ENDING`]; gives the connections that are left, and what was counted while it was
    /// [`MEASURING`].
    pub fn run(mut self, seat: &Seat) -> (Vec<Flow>, Tally) {
        seat.take();
        let mut events = Vec::with_capacity(64);
        (0..self.flows.len()).for_each(|id| self.begin(id));
        let (mut looked, mut until) = (Instant::now(), None);
        while self.under_way > 0 && until.is_none_or(|until| Instant::now() < until) {
            seat.wait(&self.epoll, &mut events, GLANCE);
            for event in &events {
                self.event(event.data.u64() as usize);
            }
            if self.order.udp && looked.elapsed() >= GLANCE {
                looked = Instant::now();
                (0..self.flows.len()).for_each(|id| self.give_up(id));
            }
            if until.is_none() && self.phase.load(Ordering::Relaxed) == ENDING {
                until = Some(Instant::now() + DRAIN);
            }
        }
        // One within an exchange could not begin the next one.
        let left = self.flows.into_iter().flatten().filter(|flow| flow.began.is_none());
        (left.collect(), self.tally)
    }

    /// Sends a request, unless it is over.
    fn begin(&mut self, id: usize) {
        let Some(flow) = &mut self.flows[id] else { return };
        if self.phase.load(Ordering::Relaxed) == ENDING {
            return;
        }
        flow.began = Some(Instant::now());
        self.under_way += 1;
        let sent = match &mut flow.way {
            Way::Tcp(exchange) => {
                (exchange.to_send, exchange.to_receive) = (self.order.request, self.order.reply);
                exchange.push(&self.buffer)
            }
            Way::Udp(socket, number) => {
                *number += 1;
                let length = self.order.request.max(SHORTEST_UDP);
                self.buffer[..KEY].copy_from_slice(&self.order.key);
                self.buffer[KEY..SHORTEST_UDP].copy_from_slice(&number.to_le_bytes());
                match socket.send(&self.buffer[..length]) {
                    // No room, or refused earlier: it is lost, as on the way.
                    Ok(_) => Ok(true),
                    Err(error)
                        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused) =>
                    {
                        Ok(true)
                    }
                    Err(error) => Err(error),
                }
            }
        };
        self.watch(id, sent);
    }

    /// Waits for room where not all was sent; ends a connection that failed.
    fn watch(&mut self, id: usize, sent: io::Result<bool>) {
        let Some(flow) = &self.flows[id] else { return };
        match sent {
            Ok(true) => {}
            Ok(false) => {
                let what = EventFlags::OUT | EventFlags::IN;
                let _ = epoll::modify(&self.epoll, flow, EventData::new_u64(id as u64), what);
            }
            Err(error) => {
                self.tally.fail(Failure::Lost, || error.to_string());
                self.tally.failed += 1;
                self.flows[id] = None;
                self.under_way -= 1;
            }
        }
    }

    fn event(&mut self, id: usize) {
        let Some(flow) = &mut self.flows[id] else { return };
        let Some(began) = flow.began else { return };
        let done = match &mut flow.way {
            Way::Tcp(exchange) => {
                let was_waiting = exchange.to_send > 0;
                match exchange.push(&self.buffer) {
                    Ok(true) if was_waiting => {
                        let _ =
                            epoll::modify(&self.epoll, &exchange.socket, EventData::new_u64(id as u64), EventFlags::IN);
                        exchange.pull(&mut self.buffer)
                    }
                    Ok(true) => exchange.pull(&mut self.buffer),
                    other => other,
                }
            }
            Way::Udp(socket, number) => loop {
                match socket.recv(&mut self.buffer) {
                    // One that comes late answers what was given up.
                    Ok(n) if n >= 8 && self.buffer[..8] == number.to_le_bytes() => break Ok(true),
                    Ok(_) => {}
                    Err(error)
                        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused) =>
                    {
                        break Ok(false);
                    }
                    Err(error) => break Err(error),
                }
            },
        };
        match done {
            Ok(true) => {
                flow.began = None;
                self.under_way -= 1;
                if self.phase.load(Ordering::Relaxed) == MEASURING {
                    self.tally.transactions += 1;
                    self.tally.latency.saturating_record(began.elapsed().as_nanos() as u64);
                }
                self.begin(id);
            }
            Ok(false) => {}
            Err(error) => self.watch(id, Err(error)),
        }
    }

    /// Counts a datagram whose reply does not come, and sends the next one.
    fn give_up(&mut self, id: usize) {
        let Some(flow) = &mut self.flows[id] else { return };
        if flow.began.is_some_and(|began| began.elapsed() >= LOST) {
            flow.began = None;
            self.under_way -= 1;
            if self.phase.load(Ordering::Relaxed) == MEASURING {
                self.tally.failed += 1;
            }
            self.begin(id);
        }
    }
}
