//! Sockets of a thread: connecting, readiness events, reading, and loss of connections.

use rustix::event::epoll;

use super::{
    connection::Phase,
    worker::{MAX_DIALING, Stage, Worker},
};
use crate::policy::{Action, Failure};
use fenxi_wire::{
    Event, Session, WireError,
    channel::{Channel, Received},
};

/// Of so many answers one is looked at for how long it has been there, which costs more than to read it.
const LOOKED_AT: u64 = 16;
/// The longest message of a server: rows of loads are short.
const LONGEST: usize = 16 << 20;
/// Bytes that a thread holds of messages whose rest has not come. A server that sends the beginnings of long ones only
/// to all connections would take all memory.
const MOST_HELD: usize = 64 << 20;
/// How often a connection is read at a time, so that one which always has more holds up no other, nor the end of the load.
const READS: usize = 64;
/// How long a connection may take until it is logged in.
const LOGIN_NS: u64 = 30_000_000_000;
/// The first pause after a failed attempt to connect, which doubles up to the last.
const FIRST_BACK_OFF_NS: u64 = 10_000_000;
const LAST_BACK_OFF_NS: u64 = 5_000_000_000;

/// The kernel's flags when no more will come.
const ENDED: epoll::EventFlags = epoll::EventFlags::HUP.union(epoll::EventFlags::RDHUP).union(epoll::EventFlags::ERR);

/// Whether something waits until there is room to send it.
#[derive(Clone, Copy)]
enum SendSpace {
    Awaited,
    Enough,
}

/// The events asked of the kernel for a socket: what is new, once.
fn wanted(room: SendSpace) -> epoll::EventFlags {
    let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    match room {
        SendSpace::Awaited => flags | epoll::EventFlags::OUT,
        SendSpace::Enough => flags,
    }
}

impl Worker<'_> {
    /// Begins to connect, as many as may at a time and at the rate that is wanted.
    pub(super) fn dial_some(&mut self, now: u64) {
        while self.dialing < MAX_DIALING && now >= self.next_dial && self.stage != Stage::Draining {
            let Some(id) = self.dial.pop_front() else { return };
            if let Some(rate) = self.plan.run.connects_per_s {
                let gap = (1e9 * self.threads as f64 / rate) as u64;
                // Turns that were missed are not made up for: that would be a burst.
                self.next_dial = self.next_dial.max(now.saturating_sub(gap)) + gap;
            }
            self.dialing += 1;
            self.connections[id].phase = Phase::Connecting;
            let channel = Channel::connect(&self.plan.endpoint).and_then(|channel| {
                let flags = wanted(SendSpace::Awaited);
                channel.stamp_arrivals();
                epoll::add(&self.epoll, &channel, epoll::EventData::new_u64(id as u64), flags)?;
                Ok(channel)
            });
            match channel {
                Ok(channel) => {
                    self.connections[id].channel = Some(channel);
                    self.connections[id].awaits_room = true;
                    self.set_timer(id, now + LOGIN_NS);
                }
                Err(error) => self.disconnect(id, now, Failure::Connect, || error.to_string()),
            }
        }
    }

    /// Handles an event of the kernel on a connection.
    pub(super) fn event(&mut self, id: usize, flags: epoll::EventFlags) {
        let now = self.shared.now();
        let connection = &mut self.connections[id];
        let Some(channel) = &mut connection.channel else { return };
        if connection.phase == Phase::Connecting {
            if let Err(error) = channel.established() {
                return self.disconnect(id, now, Failure::Connect, || error.to_string());
            }
            self.output.clear();
            let session = connection.session.insert(Session::new(&self.target.login, &mut self.output));
            session.limit(LONGEST);
            connection.phase = Phase::LoggingIn;
            return self.send(id, now);
        }
        if flags.contains(epoll::EventFlags::OUT) {
            if let Err(error) = channel.flush() {
                return self.disconnect(id, now, Failure::Lost, || error.to_string());
            }
            self.watch_room(id);
        }
        let ended = flags.intersects(ENDED);
        if ended || flags.contains(epoll::EventFlags::IN) {
            self.read(id, ended, now);
            self.start_ready(now);
        }
    }

    /// Sends what is in `output`.
    pub(super) fn send(&mut self, id: usize, now: u64) {
        let connection = &mut self.connections[id];
        if !connection.phase.is_new() {
            self.tally.round_trips += 1;
            self.tally.message_bytes.0 += self.output.len() as u64;
        }
        let Some(channel) = &mut connection.channel else { return };
        if let Err(error) = channel.send(&self.output) {
            return self.disconnect(id, now, Failure::Lost, || error.to_string());
        }
        self.watch_room(id);
    }

    /// Asks the kernel for what is wanted to be known: whether there is room to send only while something waits for it.
    fn watch_room(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        let Some(channel) = &connection.channel else { return };
        let unsent = channel.has_unsent();
        if std::mem::replace(&mut connection.awaits_room, unsent) != unsent {
            let what = wanted(if unsent { SendSpace::Awaited } else { SendSpace::Enough });
            // The socket is known to the kernel, so there is nothing that it could refuse. What has come meanwhile is reported
            // again.
            let _ = epoll::modify(&self.epoll, channel, epoll::EventData::new_u64(id as u64), what);
        }
    }

    /// Reads what has come. The kernel reports only what is new: of a stream that has ended, everything is read.
    fn read(&mut self, id: usize, ended: bool, now: u64) {
        for _ in 0..READS {
            if !self.read_once(id, ended, now) {
                return;
            }
        }
        self.read_later(id);
    }

    /// Has the kernel report again that there is something to read.
    fn read_later(&mut self, id: usize) {
        let connection = &self.connections[id];
        if let Some(channel) = &connection.channel {
            let what = wanted(if connection.awaits_room { SendSpace::Awaited } else { SendSpace::Enough });
            let _ = epoll::modify(&self.epoll, channel, epoll::EventData::new_u64(id as u64), what);
        }
    }

    /// Whether there may be more.
    fn read_once(&mut self, id: usize, ended: bool, now: u64) -> bool {
        let mut input = std::mem::take(&mut self.input);
        input.clear();
        let connection = &mut self.connections[id];
        self.held -= connection.rest.len();
        input.append(&mut connection.rest);
        let looks = !connection.phase.is_new() && self.tally.answers.is_multiple_of(LOOKED_AT);
        let had = input.len();
        let received = connection.channel.as_mut().map(|channel| match looks {
            false => channel.receive(&mut input),
            true => channel.receive_late(&mut input).map(|(received, late)| {
                self.tally.late(late);
                received
            }),
        });
        let mut used = 0;
        if matches!(received, Some(Ok(Received::Some | Received::All))) {
            if !self.connections[id].phase.is_new() {
                self.tally.answers += 1;
                self.tally.message_bytes.1 += (input.len() - had) as u64;
            }
            used = self.feed(id, &input, now);
        }
        let more = match received {
            Some(Ok(Received::Some)) => true,
            Some(Ok(Received::All)) => ended,
            _ => false,
        };
        match received {
            _ if self.connections[id].session.is_none() => {}
            Some(Ok(Received::End)) => self.disconnect(id, now, Failure::Lost, || "the server closed it".to_owned()),
            Some(Err(error)) => self.disconnect(id, now, Failure::Lost, || error.to_string()),
            _ if self.held + (input.len() - used) > MOST_HELD => {
                let what = || format!("beginnings of long messages take more than {MOST_HELD} bytes");
                self.disconnect(id, now, Failure::Lost, what);
            }
            // Exactly what is needed, and freed when the rest is there.
            _ => {
                self.held += input.len() - used;
                self.connections[id].rest = input[used..].to_vec();
            }
        }
        self.input = input;
        more && self.connections[id].session.is_some()
    }

    /// Lets the session read what has come; how much of it was whole messages.
    fn feed(&mut self, id: usize, input: &[u8], now: u64) -> usize {
        let mut used = 0;
        loop {
            let connection = &mut self.connections[id];
            let (Some(session), Some(channel)) = (&mut connection.session, &mut connection.channel) else {
                return used;
            };
            self.output.clear();
            let (count, event) = match session.feed(&input[used..], &mut self.output) {
                Ok(fed) => fed,
                Err(error) => {
                    let failure = match &error {
                        WireError::Server(refusal) => Failure::from(&**refusal),
                        _ if connection.phase.is_new() => Failure::Login,
                        _ => Failure::Lost,
                    };
                    self.disconnect(id, now, failure, || error.to_string());
                    return used;
                }
            };
            used += count;
            if event == Event::StartTls {
                let begun = channel.send(&self.output).and_then(|()| channel.secure(&self.target));
                self.output.clear();
                session.secured(&mut self.output);
                if let Err(error) = begun {
                    self.disconnect(id, now, Failure::Login, || error.to_string());
                    return used;
                }
            }
            if event == Event::Binding {
                session.bind(channel.end_point());
            }
            if !self.output.is_empty() {
                self.send(id, now);
            }
            match event {
                Event::More => return used,
                Event::Ready => self.logged_in(id, now),
                Event::Prepared => self.advance(id, now),
                Event::Done(reply) => self.replied(id, reply, now),
                Event::CopyIn => {
                    let what = || "a statement wants data, which only loading has".to_owned();
                    self.disconnect(id, now, Failure::Lost, what);
                }
                Event::Nothing | Event::StartTls | Event::Binding | Event::Row(_) => {}
            }
        }
    }

    fn logged_in(&mut self, id: usize, now: u64) {
        let connection = &mut self.connections[id];
        connection.timer = connection.timer.wrapping_add(1);
        connection.failures = 0;
        self.connected += 1;
        self.tally.connects += 1;
        self.tally.reconnects += u64::from(std::mem::replace(&mut connection.was_there, true));
        self.dialed(id);
        if self.connections[id].parked {
            self.connections[id].phase = Phase::Parked;
        } else if std::mem::take(&mut self.connections[id].resumes) {
            self.again(id, now);
        } else {
            self.free(id, now);
        }
    }

    /// An attempt to connect has ended, well or not.
    fn dialed(&mut self, id: usize) {
        self.dialing -= 1;
        self.untried -= usize::from(!std::mem::replace(&mut self.connections[id].was_tried, true));
    }

    /// A connection is free for the next transaction.
    pub(super) fn free(&mut self, id: usize, now: u64) {
        self.connections[id].phase = Phase::Idle;
        self.connections[id].idle_since = now;
        let closed = self.stage == Stage::Measuring && !self.plan.run.schedule.is_open();
        if closed { self.ready.push_back(id) } else { self.idle.push_back(id) }
    }

    /// Ends a connection because of a failure, which is counted, and makes it again after a pause.
    pub(super) fn disconnect(&mut self, id: usize, now: u64, failure: Failure, message: impl FnOnce() -> String) {
        let phase = self.connections[id].phase;
        let action = self.plan.run.policy.action(failure);
        let mut text = String::new();
        self.tally.fail(failure, || {
            text = message();
            text.clone()
        });
        if action == Action::Stop {
            self.shared.stop(format!("{failure}: {text}"));
        }
        if phase.is_new() {
            self.dialed(id);
        } else {
            self.connected -= 1;
        }
        if phase.is_busy() {
            self.failed(id, action);
        }
        let connection = &mut self.connections[id];
        let pause = FIRST_BACK_OFF_NS << connection.failures.min(20);
        connection.failures += 1;
        let pause = pause.min(LAST_BACK_OFF_NS) as f64 * (0.5 + self.random.unit());
        self.hang_up(id);
        self.set_timer(id, now + pause as u64);
    }

    /// Decides about the transaction of a connection that is lost.
    fn failed(&mut self, id: usize, action: Action) {
        let connection = &mut self.connections[id];
        connection.work.attempts += 1;
        if action == Action::Retry && connection.work.attempts <= self.plan.run.policy.max_retries {
            // It stays under way.
            connection.resumes = true;
            self.tally.retries += 1;
        } else {
            self.running -= 1;
            self.tally.failed += 1;
        }
    }

    /// Ends a connection as the workload wants it, and makes it again at once.
    pub(super) fn reconnect(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        if let (Some(session), Some(channel)) = (&mut connection.session, &mut connection.channel) {
            self.output.clear();
            session.terminate(&mut self.output);
            let _ = channel.send(&self.output);
        }
        self.connected -= 1;
        self.hang_up(id);
        self.dial.push_back(id);
    }

    fn hang_up(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        connection.phase = Phase::Closed;
        // The kernel forgets a socket that is closed.
        connection.channel = None;
        connection.session = None;
        self.held -= std::mem::take(&mut connection.rest).len();
        connection.awaits_room = false;
        connection.timer = connection.timer.wrapping_add(1);
    }
}
