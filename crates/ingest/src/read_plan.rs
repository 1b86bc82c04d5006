//! Stage 2 of an import, in its own thread: what all probes together say about how inputs are read.

use std::{collections::BTreeSet, sync::Mutex};

use crate::{group::Group, plan::UNKNOWN_HOST, probe::Probe, source::Source};

/// How the inputs are read that were not written while others were probed.
pub(crate) struct ReadPlan {
    /// The one host that names or contents of the inputs give, for those that name none: `unknown` when there are none or
    /// several.
    pub(crate) default_host: String,
    /// The probe of each input, where it was probed.
    pub(crate) probes: Vec<Option<Probe>>,
    /// Groups of [`NEIGHBOURS`](crate::group::NEIGHBOURS) that were read as they were probed, as nothing in other inputs
    /// changes their rows.
    pub(crate) ready: Vec<Mutex<Option<Group>>>,
}

impl ReadPlan {
    /// From the probes of `sources` and the groups that were read meanwhile; `is_host_given`: for all inputs.
    pub(crate) fn new(
        sources: &[Source],
        is_host_given: bool,
        (probes, mut ready): (Vec<Option<Probe>>, Vec<Option<Group>>),
    ) -> ReadPlan {
        let mut hosts = BTreeSet::new();
        for (source, probe) in sources.iter().zip(&probes).filter(|_| !is_host_given) {
            hosts.extend(Probe::hosts(source, probe.as_ref()).cloned());
        }
        let default_host = match (hosts.len(), hosts.pop_first()) {
            (1, Some(host)) => host,
            _ => UNKNOWN_HOST.to_owned(),
        };
        if default_host != UNKNOWN_HOST {
            ready.iter_mut().for_each(|group| drop(group.take_if(|group| group.lacks_host)));
        }
        ReadPlan { default_host, probes, ready: ready.into_iter().map(Mutex::new).collect() }
    }
}
