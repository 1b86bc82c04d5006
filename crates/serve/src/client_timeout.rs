//! Client patience: limits how long a request waits for its client, with the two bodies that measure it.
//!
//! A body that is sent knows whose turn it is: the client's from when a piece was given, or one more is ready, until
//! the next is asked for, because HTTP asks when there is room. A body that is received: the client's while there is
//! nothing. What the client was waited for in all may be no more than a patience and what its bytes have earned, so that
//! neither silence nor a byte now and then holds anything for long.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use crate::connections::{Turn, locked};

/// Bytes a second that a client has to take or give.
const RATE: f64 = 8192.0;
/// Bytes of a piece of an answer: HTTP/2 keeps one piece for each stream that is not read.
const PIECE: usize = 32 << 10;

/// One request, from its head to the end of its answer.
#[derive(Default)]
pub(crate) struct Request {
    pace: Mutex<Pace>,
    /// Whether it was given up: its place is another's.
    is_uncounted: AtomicBool,
}

#[derive(Default)]
struct Pace {
    /// Since when the client is waited for; None while the server works.
    since: Option<Instant>,
    /// How long the client was waited for before.
    waited: Duration,
    /// Bytes from the client and to it.
    bytes: u64,
    /// When it was cut off.
    cut: Option<Instant>,
    /// Rest of the answer, where it can be taken away.
    answer: Option<Answer>,
    /// Who waits for the rest of the request.
    reader: Option<Waker>,
}

/// Rest of an answer.
struct Answer {
    body: Body,
    /// Rest of the last piece that the body gave.
    rest: Bytes,
}

impl Request {
    /// The client did what it was waited for.
    pub(crate) fn ours(&self, now: Instant) {
        let mut pace = locked(&self.pace);
        if let Some(since) = pace.since.take() {
            pace.waited += now.saturating_duration_since(since);
        }
    }

    /// The client is waited for from now on; it was sent so many bytes.
    pub(crate) fn theirs(&self, now: Instant, bytes: usize) {
        let mut pace = locked(&self.pace);
        pace.since.get_or_insert(now);
        pace.bytes += bytes as u64;
    }

    /// Since when the client is waited for.
    pub(crate) fn stalled(&self) -> Option<Instant> {
        locked(&self.pace).since
    }

    /// Since when the client is waited for, if the request has a place that it could give up.
    pub(crate) fn counted_stalled(&self) -> Option<Instant> {
        self.stalled().filter(|_| !self.is_uncounted.load(Ordering::Relaxed))
    }

    /// Gives up its place; whether it had it.
    pub(crate) fn uncount(&self) -> bool {
        !self.is_uncounted.swap(true, Ordering::Relaxed)
    }

    /// Whether the client was waited for longer than is allowed.
    pub(crate) fn is_overdue(&self, now: Instant, patience: Duration) -> bool {
        let pace = locked(&self.pace);
        let Some(since) = pace.since.filter(|_| pace.cut.is_none()) else { return false };
        let waited = pace.waited + now.saturating_duration_since(since);
        waited.as_secs_f64() > patience.as_secs_f64() + pace.bytes as f64 / RATE
    }

    /// Ends it: what is left of the answer is thrown away, with all that it holds, and nothing more is read.
    pub(crate) fn cut(&self, now: Instant) {
        let mut pace = locked(&self.pace);
        pace.cut.get_or_insert(now);
        let (answer, reader) = (pace.answer.take(), pace.reader.take());
        // Not under the lock: dropping an answer does whatever its parts do.
        drop(pace);
        drop(answer);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// When it was cut off.
    pub(crate) fn cut_since(&self) -> Option<Instant> {
        locked(&self.pace).cut
    }

    fn take_answer(&self) -> Option<Answer> {
        locked(&self.pace).answer.take()
    }

    /// Keeps the rest of the answer; gives it back when it was cut off meanwhile.
    fn keep_answer(&self, answer: Answer) -> Option<Answer> {
        let mut pace = locked(&self.pace);
        if pace.cut.is_some() {
            return Some(answer);
        }
        pace.answer = Some(answer);
        None
    }
}

/// Why a body has no end.
fn too_slow() -> axum::Error {
    axum::Error::new(io::Error::new(io::ErrorKind::TimedOut, "the client was waited for too long"))
}

/// Wakes who waits for an answer's next piece, and notes that it is the client's turn until it is asked for.
struct Noted {
    request: Arc<Request>,
    waker: Waker,
}

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.request.theirs(Instant::now(), 0);
        self.waker.wake_by_ref();
    }
}

/// The body of an answer, in pieces.
pub(crate) struct Sending {
    turn: Turn,
    /// Bytes of the last piece that are left.
    rest: usize,
    /// Whether the answer has nothing after them.
    has_ended: bool,
    hint: SizeHint,
}

impl Sending {
    /// The answer to the request that has this turn.
    pub(crate) fn new(turn: Turn, body: Body) -> Sending {
        let (has_ended, hint) = (body.is_end_stream(), body.size_hint());
        // One that was cut off has no answer.
        drop(turn.request.keep_answer(Answer { body, rest: Bytes::new() }));
        Sending { turn, rest: 0, has_ended, hint }
    }

    /// The next piece, and what is left of the answer.
    fn next(&mut self, mut answer: Answer, context: &mut Context<'_>) -> (Polled, Answer) {
        if answer.rest.is_empty() {
            let request = Arc::clone(&self.turn.request);
            let waker = Waker::from(Arc::new(Noted { request, waker: context.waker().clone() }));
            let polled = Pin::new(&mut answer.body).poll_frame(&mut Context::from_waker(&waker));
            (self.has_ended, self.hint) = (answer.body.is_end_stream(), answer.body.size_hint());
            match polled {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => answer.rest = data,
                    Err(other) => return (Poll::Ready(Some(Ok(other))), answer),
                },
                polled => {
                    self.has_ended |= matches!(polled, Poll::Ready(None));
                    return (polled, answer);
                }
            }
        }
        let piece = answer.rest.split_to(answer.rest.len().min(PIECE));
        self.rest = answer.rest.len();
        self.turn.request.theirs(Instant::now(), piece.len());
        (Poll::Ready(Some(Ok(Frame::data(piece)))), answer)
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        // The rest of the answer knows its request, by who waits for its next piece, and the request the answer:
        // neither would ever go by itself.
        drop(self.turn.request.take_answer());
    }
}

type Polled = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        self.turn.request.ours(Instant::now());
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        // It is taken out while it is asked, and may be cut off meanwhile.
        let Some(answer) = self.turn.request.take_answer() else { return Poll::Ready(Some(Err(too_slow()))) };
        let (polled, answer) = self.next(answer, context);
        match self.turn.request.keep_answer(answer) {
            None => polled,
            Some(_) => Poll::Ready(Some(Err(too_slow()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended && self.rest == 0
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest as u64;
        if self.has_ended {
            return SizeHint::with_exact(rest);
        }
        let mut hint = SizeHint::new();
        hint.set_lower(self.hint.lower() + rest);
        if let Some(upper) = self.hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

/// The body of a request.
pub(crate) struct Receiving<B> {
    body: B,
    request: Arc<Request>,
}

impl<B> Receiving<B> {
    pub(crate) fn new(body: B, request: Arc<Request>) -> Receiving<B> {
        Receiving { body, request }
    }
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for Receiving<B>
where
    B::Error: Into<axum::BoxError>,
{
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let now = Instant::now();
        if polled.is_ready() {
            self.request.ours(now);
        } else {
            self.request.theirs(now, 0);
        }
        let mut pace = locked(&self.request.pace);
        if polled.is_pending() && pace.cut.is_some() {
            // The answer about it has a separate time.
            *pace = Pace::default();
            return Poll::Ready(Some(Err(too_slow())));
        }
        pace.reader = polled.is_pending().then(|| context.waker().clone());
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            pace.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        drop(pace);
        polled.map(|frame| frame.map(|frame| frame.map_err(axum::Error::new)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for Receiving<B> {
    fn drop(&mut self) {
        // No client waits for the rest of it.
        self.request.ours(Instant::now());
        locked(&self.request.pace).reader = None;
    }
}
