//! State shared by all requests: settings, engines, the front end, sessions, and bounds of how much is done at a time.

use std::{ops::Deref, sync::Arc};

use tokio_util::sync::CancellationToken;

use crate::{
    Settings,
    access::Door,
    assets::Assets,
    connections::House,
    live::Samplers,
    metrics::Metrics,
    pool::{Log, Pool},
    queue::Turns,
    response_budget::Room,
};

/// State shared by all requests.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) settings: Settings,
    pub(crate) pool: Pool,
    pub(crate) assets: Assets,
    pub(crate) door: Door,
    pub(crate) metrics: Metrics,
    /// Who samples this machine for listeners.
    pub(crate) samplers: Samplers,
    /// Who is connected.
    pub(crate) house: Arc<House>,
    /// Turns of averages: each reads all of its runs.
    pub(crate) averages: Turns,
    /// Turns of files that were taken and become runs.
    pub(crate) imports: Turns,
    /// Turns of archives that are given.
    pub(crate) exports: Turns,
    /// Turns of files that are taken.
    pub(crate) uploads: Turns,
    /// Room for answers that wait for their clients.
    pub(crate) answers: Room,
    /// Cancelled when the server ends.
    pub(crate) stop: CancellationToken,
    /// Name of the session's cookie: browsers share cookies between all ports of a host.
    pub(crate) cookie: String,
}

impl Deref for Shared {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Shared {
    /// Of a server whose first port is `port`.
    pub(crate) fn new(settings: Settings, port: u16, stop: CancellationToken, house: Arc<House>) -> Shared {
        Shared(Arc::new(Inner {
            pool: Pool::new(&settings, log(&settings)),
            assets: Assets::new(),
            door: Door::default(),
            metrics: Metrics::default(),
            samplers: Samplers::default(),
            house,
            averages: Turns::new(1, "other averages"),
            imports: Turns::new(settings.limits.imports, "other imports"),
            exports: Turns::new(settings.limits.transfers, "other exports"),
            uploads: Turns::new(settings.limits.transfers, "other uploads"),
            answers: Room::new(settings.limits.answer_bytes),
            stop,
            cookie: format!("fenxi-{port}"),
            settings,
        }))
    }
}

/// Takes lines about what went wrong, with the time before them.
fn log(settings: &Settings) -> Log {
    let (audit, now) = (Arc::clone(&settings.audit), settings.now);
    Box::new(move |line| audit(&format!("{} {line}", now().iso())))
}
