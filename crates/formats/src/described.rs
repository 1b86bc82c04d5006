//! Description of a format in listings: its own fields, or those of its description, which is read on demand.

use fenxi_model::Table;

use super::{Fills, Format, own::shipped};

/// Tables with which a format is listed as one that fills any.
const ANY: usize = 20;

impl Format {
    /// Which tools and options print it, in one line.
    pub fn summary(&self) -> &'static str {
        shipped::about(self).map_or(self.summary, |about| &about.summary)
    }

    /// Tables it can fill; anything else it finds goes to `metric`.
    pub fn tables(&self) -> &'static [&'static Table] {
        shipped::about(self).map_or(self.tables, |about| &about.tables)
    }

    /// A few lines as the tool prints them.
    pub fn example(&self) -> &'static str {
        shipped::about(self).map_or(self.example, |about| &about.example)
    }

    /// Tables that it fills, besides `metric` for unknown columns.
    pub fn fills(&self) -> Fills {
        match self.tables().len() {
            0 => Fills::Results,
            n if n > ANY => Fills::Any,
            _ => Fills::Tables(self.tables()),
        }
    }
}
