//! A request as its handler has it: what all share, and who asks; and what it was routed to.

use std::ops::Deref;

use axum::{
    extract::FromRequestParts,
    http::{Method, request::Parts},
    routing::MethodRouter,
};
use fenxi_store::{Store, StoreError};

use crate::{
    reply::Failure,
    rights::{Asker, Right},
    shared::Shared,
};

/// Handler at a path, and the right that it needs.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) right: Right,
    pub(crate) answer: MethodRouter<Shared>,
}

/// A request: what all share, and who asks. Without an asker there is none.
#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) shared: Shared,
    pub(crate) asker: Asker,
}

impl Visit {
    /// The store as who asks may see it. It lists the runs: a thread that serves does not wait for it.
    pub(crate) fn store(&self) -> Result<Store, StoreError> {
        self.asker.view(&self.shared.settings.store)
    }
}

impl Deref for Visit {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl FromRequestParts<Shared> for Visit {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Visit, Failure> {
        let asker = parts.extensions.get::<Asker>().cloned();
        let asker = asker.ok_or_else(|| Failure::forbidden("it is not known who asks"))?;
        Ok(Visit { shared: shared.clone(), asker })
    }
}
