//! Concurrency limits for slow or large requests: a few run, a few wait for a short time, all others are refused.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::reply::Failure;

/// Requests that may wait for a place.
const WAITING: usize = 32;

/// Places for one kind of work.
pub(crate) struct Turns {
    /// The work that takes the places, in words.
    by: &'static str,
    places: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Turns {
    /// So many places, taken `by` this.
    pub(crate) fn new(places: usize, by: &'static str) -> Turns {
        Turns { by, places: Arc::new(Semaphore::new(places.max(1))), waiting: Arc::default() }
    }

    /// A place, kept until it is dropped; a failure when there is none within `wait`.
    pub(crate) async fn take(&self, wait: Duration) -> Result<OwnedSemaphorePermit, Failure> {
        let places = Arc::clone(&self.places);
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            return Ok(place);
        }
        let _waits = Waits::enter(&self.waiting);
        if self.waiting.load(Ordering::Relaxed) > WAITING {
            return Err(Failure::busy());
        }
        let begun = Instant::now();
        match tokio::time::timeout(wait, places.acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(Failure::ending()),
            Err(_) => Err(Failure::waited(self.by, begun.elapsed())),
        }
    }

    /// How many wait for a place.
    pub(crate) fn waiting(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.waiting)
    }
}

/// Counts for as long as it lives.
struct Waits(Arc<AtomicUsize>);

impl Waits {
    fn enter(waiting: &Arc<AtomicUsize>) -> Waits {
        waiting.fetch_add(1, Ordering::Relaxed);
        Waits(Arc::clone(waiting))
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;

    #[test]
    fn who_waits_in_vain_is_answered_with_why_and_when_to_come_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let turns = Turns::new(2, "other imports");
            let [first, _second] =
                [turns.take(Duration::ZERO).await.unwrap(), turns.take(Duration::ZERO).await.unwrap()];
            let response = turns.take(Duration::from_millis(20)).await.unwrap_err().into_response();
            assert_eq!((response.status().as_u16(), response.headers()["retry-after"].as_bytes()), (503, &b"2"[..]));
            let text = axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
            assert!(String::from_utf8_lossy(&text).contains("other imports take all places"), "{text:?}");
            drop(first);
            assert!(turns.take(Duration::ZERO).await.is_ok());
        });
    }
}
