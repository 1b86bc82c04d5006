//! Facts that a person gives with a recording: what the machine does not tell by itself.

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

/// Facts by name, each a text; told once, at the start, under the topic `given`.
#[derive(Clone, Debug)]
pub struct GivenFacts {
    facts: Vec<(String, String)>,
}

impl GivenFacts {
    /// These facts.
    pub fn new(facts: Vec<(String, String)>) -> GivenFacts {
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
        for (name, value) in self.facts.drain(..) {
            let mut row = rows.row(&TABLE, tick.t, None);
            row.str(text::topic, "given").str(text::name, name.as_str()).text(text::value, value.as_str());
        }
        Ok(())
    }
}
