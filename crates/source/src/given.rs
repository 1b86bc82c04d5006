//! Facts that a person gives with a recording: what the machine does not know itself.

use fenxi_model::{
    Rows,
    catalog::text::{self, TABLE},
};

use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

static SPEC: Spec = Spec {
    name: "given",
    summary: "facts that were given with the recording",
    tables: &[&TABLE],
    take: Take::StartAndEnd,
    default: false,
    live: false,
};

/// A fact that a person gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenFact {
    /// The host that it is about; None for the one that is recorded.
    pub host: Option<String>,
    /// Name of the fact.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Facts by name, each a text; reported once, at the start, under the topic `given`.
#[derive(Clone, Debug)]
pub struct GivenFacts {
    facts: Vec<GivenFact>,
}

impl GivenFacts {
    /// These facts.
    pub fn new(facts: Vec<GivenFact>) -> GivenFacts {
        GivenFacts { facts }
    }
}

impl Source for GivenFacts {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, _root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(self.clone()))
    }
}

impl Collector for GivenFacts {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        for GivenFact { host, name, value } in self.facts.drain(..) {
            report(rows, tick, host.as_deref(), ["given", &name, &value]);
        }
        Ok(())
    }
}

fn report(rows: &mut Rows, tick: Tick, host: Option<&str>, [topic, name, value]: [&str; 3]) {
    let own = rows.host().to_owned();
    rows.set_host(host.unwrap_or(&own));
    rows.row(&TABLE, tick.t, None).str(text::topic, topic).str(text::name, name).text(text::value, value);
    rows.set_host(&own);
}

static ROLES: Spec = Spec {
    name: "role",
    summary: "what each host of the recording is there for",
    tables: &[&TABLE],
    take: Take::StartAndEnd,
    default: false,
    live: false,
};

/// The purpose of hosts, as given by a person: the fact `role` of the topic `host`.
#[derive(Clone, Debug)]
pub struct Roles {
    /// Hosts, each with its role.
    roles: Vec<(String, String)>,
}

impl Roles {
    /// Hosts, each with its role.
    pub fn new(roles: Vec<(String, String)>) -> Roles {
        Roles { roles }
    }
}

impl Source for Roles {
    fn spec(&self) -> &'static Spec {
        &ROLES
    }

    fn start(&self, _root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(self.clone()))
    }
}

impl Collector for Roles {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        for (host, role) in self.roles.drain(..) {
            report(rows, tick, Some(&host), ["host", "role", &role]);
        }
        Ok(())
    }
}
