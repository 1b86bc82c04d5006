//! Memory budget of responses that clients have not yet read.

mod room;

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::StatusCode,
    response::Response,
};
use hyper::body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

pub(crate) use room::Room;

use crate::{
    reply::{Failure, reply},
    shared::Shared,
};

/// Answers up to this are bounded by how many requests there are.
const SMALL: usize = 64 << 10;
/// When there is no more room, answers that were not read for so long give theirs up.
const STALLED: Duration = Duration::from_secs(3);
/// Time that an answer waits for room.
const WAIT: Duration = Duration::from_secs(2);

/// A reply of `bytes`, when there is room for them.
pub(crate) async fn held(
    shared: &Shared,
    status: StatusCode,
    content_type: &'static str,
    bytes: impl Into<Bytes>,
) -> Result<Response, Failure> {
    let bytes = bytes.into();
    if bytes.len() <= SMALL {
        return Ok(reply(status, content_type, bytes));
    }
    let Room { all, free } = &shared.answers;
    // One that is larger than all of the room has it alone.
    let needed = u32::try_from(bytes.len() >> 10).unwrap_or(*all).min(*all);
    let place = match Arc::clone(free).try_acquire_many_owned(needed) {
        Ok(place) => place,
        Err(_) => {
            shared.house.drop_stalled(STALLED);
            let place = tokio::time::timeout(WAIT, Arc::clone(free).acquire_many_owned(needed)).await;
            place.ok().and_then(Result::ok).ok_or_else(Failure::busy)?
        }
    };
    Ok(reply(status, content_type, Body::new(Held { bytes: Some(bytes), _place: place })))
}

/// Bytes that keep their room until they are dropped.
struct Held {
    bytes: Option<Bytes>,
    _place: OwnedSemaphorePermit,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
