//! `db top`: a database server on a whole screen. Figures with sparklines, active sessions by class of activity, and one of
//! several panes of rows. It shows what there is and changes nothing: no key ends a session or a statement.

mod canvas;
mod draw;
mod history;
mod panes;
mod terminal;

pub use draw::draw;
pub use history::History;
pub use terminal::{Event, Key, Screen};

use panes::{Choice, PANES};

/// State of the view: pane, sort key, filter.
#[derive(Debug)]
pub struct Top {
    /// History so far.
    pub history: History,
    /// The pane that is shown.
    pane: usize,
    choice: Choice,
    /// The moment that is shown; None: the last one.
    at: Option<usize>,
    /// Rows of the pane above the first one that is shown.
    offset: usize,
    /// Whether the filter is being typed.
    types: bool,
    /// Whether it is a recorded run.
    is_replay: bool,
    /// True if it is drawn in colours.
    pub has_colour: bool,
}

/// Control flow after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    On,
    /// The user wants to leave.
    Over,
}

impl Top {
    /// With nothing in it yet.
    pub fn new(server: Option<String>, is_replay: bool) -> Top {
        Top {
            history: History::new(server),
            pane: 0,
            choice: Choice::default(),
            // A run is read from its beginning.
            at: is_replay.then_some(0),
            offset: 0,
            types: false,
            is_replay,
            has_colour: true,
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: Key) -> Flow {
        if self.types {
            self.typed(key);
            return Flow::On;
        }
        match key {
            Key::Char('q') => return Flow::Over,
            Key::Char('/') => self.types = true,
            Key::Char('s') => self.sort_by_next(),
            Key::Char(' ' | 'p') => self.at = if self.at.is_some() { None } else { self.last() },
            Key::Left => self.step(-1),
            Key::Right => self.step(1),
            Key::PageUp => self.step(-60),
            Key::PageDown => self.step(60),
            Key::Home => self.at = Some(0),
            Key::End => self.at = self.last().filter(|_| self.is_replay),
            Key::Up => self.offset = self.offset.saturating_sub(1),
            Key::Down => self.offset += 1,
            Key::Tab => self.show_pane((self.pane + 1) % PANES.len()),
            Key::Escape => self.choice.filter.clear(),
            Key::Char(c) => {
                if let Some(pane) = PANES.iter().position(|pane| pane.key == c) {
                    self.show_pane(pane);
                }
            }
            Key::Enter | Key::Backspace => {}
        }
        Flow::On
    }

    fn typed(&mut self, key: Key) {
        match key {
            Key::Enter => self.types = false,
            Key::Escape => {
                self.types = false;
                self.choice.filter.clear();
            }
            Key::Backspace => {
                self.choice.filter.pop();
            }
            Key::Char(c) if !c.is_control() => self.choice.filter.push(c),
            _ => {}
        }
        self.offset = 0;
    }

    fn show_pane(&mut self, pane: usize) {
        self.pane = pane;
        self.choice.sort = None;
        self.offset = 0;
    }

    fn sort_by_next(&mut self) {
        let pane = &PANES[self.pane];
        let next = self.choice.sort.or(pane.sorted_by).map_or(0, |by| by + 1);
        // Behind the last column comes the order that the pane has by itself.
        self.choice.sort = Some(next).filter(|by| *by < pane.columns.len());
    }

    fn last(&self) -> Option<usize> {
        self.history.moments.len().checked_sub(1)
    }

    /// The number of the moment that is shown.
    fn now(&self) -> Option<usize> {
        let last = self.last()?;
        Some(self.at.map_or(last, |at| at.min(last)))
    }

    fn step(&mut self, by: isize) {
        let Some(now) = self.now() else { return };
        self.at = Some(now.saturating_add_signed(by).min(self.last().unwrap_or(0)));
    }
}

#[cfg(test)]
mod tests;
