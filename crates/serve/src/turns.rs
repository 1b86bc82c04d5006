//! Concurrency limits for slow or large requests: a few run, a few wait for a short time, all others are refused.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::reply::Failure;

/// Requests that may wait for a place.
const WAITING: usize = 32;

/// Places for one kind of work.
pub(crate) struct Turns {
    places: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Turns {
    pub(crate) fn new(places: usize) -> Turns {
        Turns { places: Arc::new(Semaphore::new(places.max(1))), waiting: Arc::default() }
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
        match tokio::time::timeout(wait, places.acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(Failure::ending()),
            Err(_) => Err(Failure::busy()),
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
