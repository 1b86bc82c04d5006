//! Room for answers that wait for their clients.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Room for answers, in KiB.
pub(crate) struct Room {
    pub(super) all: u32,
    pub(super) free: Arc<Semaphore>,
}

impl Room {
    pub(crate) fn new(bytes: u64) -> Room {
        let all = u32::try_from((bytes >> 10).max(1)).unwrap_or(u32::MAX >> 3).min(u32::MAX >> 3);
        Room { all, free: Arc::new(Semaphore::new(all as usize)) }
    }
}
