//! Which cluster answers, and where it finds the store.

use crate::connect::Target;

/// A cluster that answers instead of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterOptions {
    /// Its address.
    pub target: Target,
    /// Where it finds the store, as a path or a URL; None where it is at the same path as here.
    pub store: Option<String>,
}
