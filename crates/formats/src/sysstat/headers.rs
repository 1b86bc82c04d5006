//! The layout under each header line, made once for each that differs.

/// More headers than any switch gives; an input with more of them is damaged.
const MAX_HEADERS: usize = 256;

/// The layouts under the header lines of an input. Tools repeat them with every report, so that
/// making a layout each time would cost as much as reading the rows.
#[derive(Debug)]
pub(crate) struct Headers<S> {
    known: Vec<(Box<str>, S)>,
    current: Option<usize>,
}

impl<S> Headers<S> {
    pub(crate) fn new() -> Headers<S> {
        Headers { known: Vec::new(), current: None }
    }

    /// Switches to the layout of the header line `line`, which is made by `make` if it is new.
    pub(crate) fn enter(&mut self, line: &str, make: impl FnOnce() -> S) -> &mut S {
        let found = self.known.iter().position(|(header, _)| **header == *line);
        let place = found.unwrap_or_else(|| {
            if self.known.len() >= MAX_HEADERS {
                self.known.clear();
            }
            self.known.push((line.into(), make()));
            self.known.len() - 1
        });
        self.current = Some(place);
        &mut self.known[place].1
    }

    /// The layout under the last header line.
    pub(crate) fn current(&self) -> Option<&S> {
        self.current.and_then(|place| self.known.get(place)).map(|(_, section)| section)
    }

    /// No header line holds any more.
    pub(crate) fn leave(&mut self) {
        self.current = None;
    }
}
