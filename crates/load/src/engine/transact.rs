//! Execution of transactions on a connection: steps, responses, error handling.

use super::{
    connection::{After, Phase, Transaction},
    worker::Worker,
};
use crate::{
    policy::{Action, Failure},
    random::Random,
    workload::{
        Kind, Op,
        expr::{Frame, Item},
    },
};
use fenxi_wire::{Mode, Reply, ServerError, Value};

/// Values of a statement that need no allocation.
const FEW: usize = 32;

impl Worker<'_> {
    /// Begins the transaction of a number on a free connection.
    pub(super) fn begin(&mut self, id: usize, turn: u64, intended: u64, now: u64) {
        let connection = &mut self.connections[id];
        connection.work = Transaction {
            turn,
            transaction: 0,
            intended,
            started: now,
            random: Random::new(self.plan.run.seed, turn),
            at: 0,
            attempts: 0,
            pending: [0; 3],
            opened: false,
        };
        self.running += 1;
        self.again(id, now);
    }

    /// Begins a transaction from its first step, with the same choices however often.
    pub(super) fn again(&mut self, id: usize, now: u64) {
        let connection = &mut self.connections[id];
        let work = &mut connection.work;
        work.random = Random::new(self.plan.run.seed, work.turn);
        let transactions = &self.plan.program.transactions;
        let weights = transactions.last().map_or(0, |last| last.weights);
        let drawn = work.random.below(weights);
        work.transaction = transactions.partition_point(|transaction| transaction.weights <= drawn);
        (work.at, work.pending, work.opened) = (0, [0; 3], false);
        connection.slots.fill(0);
        self.advance(id, now);
    }

    /// Goes on with a transaction until it has to wait.
    pub(super) fn advance(&mut self, id: usize, now: u64) {
        let plan = self.plan;
        self.output.clear();
        loop {
            let connection = &mut self.connections[id];
            let Some(session) = &mut connection.session else { return };
            let work = &mut connection.work;
            let step = plan.program.transactions.get(work.transaction).and_then(|t| t.ops.get(work.at));
            let piped = work.pending != [0; 3];
            let mut frame = Frame { slots: &mut connection.slots, random: &mut work.random, turn: work.turn };
            match step {
                // Requests that wait at the end of a pipeline are sent before anything else happens.
                None | Some(Op::Think(_)) if piped => {
                    session.sync(&mut self.output);
                    connection.phase = Phase::Running;
                    return self.send(id, now);
                }
                None => return self.complete(id, now),
                Some(Op::Compute(value)) => {
                    value.value(&mut frame);
                    work.at += 1;
                }
                Some(Op::Unless(value, to)) => work.at = if value.value(&mut frame) <= 0 { *to } else { work.at + 1 },
                Some(Op::Jump(to)) => work.at = *to,
                Some(Op::Think(time)) => {
                    let pause = u64::try_from(time.value(&mut frame)).unwrap_or(0).saturating_mul(1000);
                    work.at += 1;
                    connection.phase = Phase::Thinking;
                    self.tally.think_ns = self.tally.think_ns.saturating_add(pause);
                    return self.set_timer(id, now.saturating_add(pause));
                }
                Some(Op::Run { first, count, table }) => {
                    let number = if *count > 1 { table.value(&mut frame) } else { 1 };
                    let place = number.saturating_sub(1).rem_euclid((*count).max(1) as i64) as usize;
                    let call = &plan.program.calls[first + place];
                    if !session.is_prepared(&call.statement, plan.run.mode) {
                        session.prepare(&call.statement, &mut self.output);
                        connection.phase = Phase::Preparing;
                        return self.send(id, now);
                    }
                    work.at += 1;
                    work.opened |= call.kind == Kind::Other;
                    work.pending[call.kind as usize] += 1;
                    self.text.clear();
                    with_values(&call.values, &mut frame, &mut self.text, |values| {
                        session.execute(&call.statement, values, plan.run.mode, &mut self.output);
                    });
                    if plan.run.mode != Mode::Pipelined {
                        connection.phase = Phase::Running;
                        return self.send(id, now);
                    }
                }
            }
        }
    }

    /// Takes the answer to what was sent.
    pub(super) fn replied(&mut self, id: usize, reply: Reply, now: u64) {
        let connection = &mut self.connections[id];
        match connection.phase {
            // The answer to a rollback changes nothing: the connection is usable, or it will be lost.
            Phase::RollingBack(After::Again) => return self.again(id, now),
            Phase::RollingBack(After::Done) => {
                self.running -= 1;
                return self.free(id, now);
            }
            Phase::Running | Phase::Preparing => {}
            _ => return,
        }
        let pending = std::mem::take(&mut connection.work.pending);
        self.tally.rows += reply.rows;
        match reply.error {
            None => {
                let counts = [&mut self.tally.reads, &mut self.tally.writes, &mut self.tally.others];
                counts.into_iter().zip(pending).for_each(|(count, done)| *count += u64::from(done));
                self.advance(id, now);
            }
            Some(error) => self.refused(id, &error, reply.open, now),
        }
    }

    fn refused(&mut self, id: usize, error: &ServerError, open: bool, now: u64) {
        let failure = Failure::from(error);
        self.tally.fail(failure, || error.message.clone());
        let action = self.plan.run.policy.action(failure);
        let connection = &mut self.connections[id];
        connection.work.attempts += 1;
        let after = match action {
            Action::Retry if connection.work.attempts <= self.plan.run.policy.max_retries => {
                self.tally.retries += 1;
                After::Again
            }
            Action::Stop => {
                self.shared.stop(error.to_string());
                self.tally.failed += 1;
                After::Done
            }
            _ => {
                self.tally.failed += 1;
                After::Done
            }
        };
        if open || connection.work.opened {
            self.output.clear();
            if let Some(session) = &mut connection.session {
                session.query("ROLLBACK", &mut self.output);
            }
            connection.phase = Phase::RollingBack(after);
            return self.send(id, now);
        }
        match after {
            After::Again => self.again(id, now),
            After::Done => {
                self.running -= 1;
                self.free(id, now);
            }
        }
    }

    fn complete(&mut self, id: usize, now: u64) {
        let connection = &mut self.connections[id];
        let work = &mut connection.work;
        self.running -= 1;
        self.tally.transactions += 1;
        self.tally.latency.saturating_record(now.saturating_sub(work.intended));
        self.tally.service.saturating_record(now.saturating_sub(work.started));
        let program = &self.plan.program;
        let leaves = program.transactions.get(work.transaction).and_then(|t| t.reconnect_pct.as_ref());
        let leaves = leaves.is_some_and(|pct| {
            let mut frame = Frame { slots: &mut connection.slots, random: &mut work.random, turn: work.turn };
            let pct = pct.value(&mut frame);
            (work.random.below(100) as i64) < pct
        });
        if leaves { self.reconnect(id) } else { self.free(id, now) }
    }
}

/// Draws the values of a statement and passes them on; `text` holds their texts meanwhile.
fn with_values(items: &[Item], frame: &mut Frame<'_>, text: &mut Vec<u8>, pass: impl FnOnce(&[Value<'_>])) {
    /// A number, or the range of its text.
    #[derive(Clone, Copy)]
    enum Drawn {
        Number(i64),
        Text(usize, usize),
    }
    let mut draw = |item: &Item| match item {
        Item::Number(number) => Drawn::Number(number.value(frame)),
        Item::Text(kind) => {
            let begin = text.len();
            kind.write(frame, text);
            Drawn::Text(begin, text.len())
        }
    };
    let mut few = [Drawn::Number(0); FEW];
    let mut many = Vec::new();
    let drawn = if items.len() <= FEW {
        few.iter_mut().zip(items).for_each(|(place, item)| *place = draw(item));
        &few[..items.len()]
    } else {
        many.extend(items.iter().map(draw));
        many.as_slice()
    };
    let value = |drawn: &Drawn| match *drawn {
        Drawn::Number(number) => Value::Int(number),
        Drawn::Text(begin, end) => Value::Text(&text[begin..end]),
    };
    if drawn.len() <= FEW {
        let mut values = [Value::Int(0); FEW];
        values.iter_mut().zip(drawn).for_each(|(place, drawn)| *place = value(drawn));
        pass(&values[..drawn.len()]);
    } else {
        pass(&drawn.iter().map(value).collect::<Vec<_>>());
    }
}
