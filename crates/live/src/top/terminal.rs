//! The terminal: an alternate screen that is given back however the program ends, and keys.

use std::{
    io::{self, Write},
    panic,
    time::Duration,
};

use crossterm::{
    cursor::{Hide, Show},
    event::{self, Event as Raw, KeyCode, KeyEventKind, KeyModifiers},
    execute,
    terminal::{self, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};

use super::{Top, canvas::Canvas, draw};

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One moment back.
    Left,
    /// One moment on.
    Right,
    /// A minute back.
    PageUp,
    /// A minute on.
    PageDown,
    /// The first moment.
    Home,
    /// The last moment.
    End,
    /// The next pane.
    Tab,
    /// Ends typing.
    Enter,
    /// Gives up what was typed.
    Escape,
    /// Takes a character back.
    Backspace,
}

/// Something that happened at the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A key was pressed.
    Key(Key),
    /// Ctrl-C was pressed.
    Interrupt,
    /// Nothing that matters but that the screen has to be drawn.
    Redraw,
}

/// The whole screen of a terminal, until it is dropped.
pub struct Screen {
    /// The contents it shows.
    shown: Canvas,
}

/// Gives the terminal back. What cannot be written to it cannot be reported there either.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}

impl Screen {
    /// Takes the terminal; a panic gives it back before it prints anything.
    ///
    /// # Errors
    /// When standard output is no terminal that can be used so.
    pub fn open() -> io::Result<Screen> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
        enable_raw_mode()?;
        let opened = execute!(io::stdout(), EnterAlternateScreen, Hide);
        if opened.is_err() {
            restore();
        }
        opened.map(|()| Screen { shown: Canvas::default() })
    }

    /// Draws what there is.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn draw(&mut self, top: &Top) -> io::Result<()> {
        let (width, height) = terminal::size()?;
        let canvas = draw(top, width, height);
        // In one piece, so that no half of it is seen.
        let mut bytes = Vec::new();
        canvas.write(&self.shown, &mut bytes)?;
        self.shown = canvas;
        let mut out = io::stdout().lock();
        out.write_all(&bytes)?;
        out.flush()
    }

    /// Waits for something to happen at the terminal, so long.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn wait(&self, patience: Duration) -> io::Result<Option<Event>> {
        if !event::poll(patience)? {
            return Ok(None);
        }
        let Raw::Key(key) = event::read()? else { return Ok(Some(Event::Redraw)) };
        if key.kind == KeyEventKind::Release {
            return Ok(None);
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return Ok((key.code == KeyCode::Char('c')).then_some(Event::Interrupt));
        }
        Ok(key_of(key.code).map(Event::Key))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn key_of(code: KeyCode) -> Option<Key> {
    Some(match code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Tab => Key::Tab,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    })
}
