//! Lines of an input, one after another, in bounded memory.

use std::{
    borrow::Cow,
    cell::OnceCell,
    io::{self, Read},
};

use crate::{
    follow::Follow,
    terminal,
    utf16::{self, Utf16},
};

/// Bytes of an input that recognition reads.
pub const HEAD_BYTES: usize = 64 << 10;
/// The longest line that is kept whole; what is beyond is skipped and counted.
pub const MAX_LINE: usize = 1 << 20;
/// Lines at the beginning among which remarks of `script`, `sudo` and their like are looked for.
const FIRST_LINES: usize = 8;
/// Lines at the end of a short input among which they are looked for.
const LAST_LINES: usize = 3;
/// How much is read at once.
const CHUNK: usize = 256 << 10;

/// An input being read: text of any size, line by line, or as a stream of bytes.
///
/// Line ends may be LF or CR LF; a byte order mark is skipped, UTF-16 that begins with one is decoded; bytes that are no UTF-8 are
/// replaced. Colours and titles that a tool sends to a terminal are left out of lines.
pub struct Input<'r> {
    reader: Box<dyn Read + 'r>,
    /// Bytes read and not yet given: `buffer[begin..end]`.
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    at_end: bool,
    /// Whether any escape character was read: most texts have none, and none of their lines is looked through for one.
    escapes: bool,
    /// The range of the current line in `buffer`, without its terminator.
    current: (usize, usize),
    /// The current line when it is not as in the file (no UTF-8, or colours in it), made when it is asked for.
    repaired: OnceCell<String>,
    number: u64,
    repeat: bool,
    long_lines: u64,
    /// Lines around the output that were left out.
    around: u64,
    error: Option<io::Error>,
    /// Who wants to know which line is read.
    follow: Option<Follow>,
}

impl std::fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Input(line {})", self.number)
    }
}

impl<'r> Input<'r> {
    /// Begins reading `reader`, which need not be buffered.
    pub fn new(reader: impl Read + 'r) -> Input<'r> {
        Input::begun(Vec::new(), false, Box::new(reader))
    }

    /// An input that is in memory as a whole.
    pub fn of(content: Vec<u8>) -> Input<'r> {
        Input::begun(content, true, Box::new(io::empty()))
    }

    fn begun(buffer: Vec<u8>, at_end: bool, reader: Box<dyn Read + 'r>) -> Input<'r> {
        let mut input = Input {
            reader,
            begin: 0,
            end: buffer.len(),
            buffer,
            at_end,
            escapes: false,
            current: (0, 0),
            repaired: OnceCell::new(),
            number: 0,
            repeat: false,
            long_lines: 0,
            around: 0,
            error: None,
            follow: None,
        };
        input.escapes = has_escape(&input.buffer[..input.end]);
        input.fill_head();
        if let Some(order) = utf16::order(&input.buffer[..input.end]) {
            let begun = input.buffer[..input.end].to_vec();
            let reader = std::mem::replace(&mut input.reader, Box::new(io::empty()));
            input.reader = Box::new(Utf16::new(io::Cursor::new(begun).chain(reader), order));
            (input.end, input.at_end) = (0, false);
            input.fill_head();
        }
        if input.buffer[..input.end].starts_with(b"\xef\xbb\xbf") {
            input.begin = 3;
        }
        input
    }

    fn fill_head(&mut self) {
        while self.end < HEAD_BYTES && !self.at_end {
            self.fill();
        }
    }

    /// The bytes of [`Input::head`] as they came; of UTF-16, as UTF-8.
    pub fn head_bytes(&self) -> &[u8] {
        &self.buffer[self.begin..self.end.min(self.begin + HEAD_BYTES)]
    }

    /// Text that has been read and not yet given, at minimum [`HEAD_BYTES`] of it before the first line is
    /// taken (less only when the input is shorter).
    pub fn head(&self) -> Cow<'_, str> {
        // Valid text is recognised faster so.
        let bytes = self.head_bytes();
        let head = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
        let head = if self.escapes && has_escape(bytes) { Cow::Owned(terminal::plain(&head)) } else { head };
        let mut ends = head.lines().take(FIRST_LINES).chain(head.lines().rev().take(LAST_LINES));
        if !ends.any(|line| terminal::is_around(line.as_bytes())) {
            return head;
        }
        head.split_inclusive('\n').filter(|line| !terminal::is_around(line.trim_ascii_end().as_bytes())).collect()
    }

    /// The next line without its terminator; None at the end of the input.
    pub fn line(&mut self) -> Option<&str> {
        self.step().then(|| self.text())
    }

    /// Goes to the next line; false at the end of the input.
    fn step(&mut self) -> bool {
        if std::mem::take(&mut self.repeat) {
            return true;
        }
        while self.advance() {
            if !terminal::is_around(&self.buffer[self.current.0..self.current.1]) {
                return true;
            }
            self.around += 1;
        }
        false
    }

    /// Reports to `follow` which line is read from here on.
    #[must_use]
    pub fn followed(mut self, follow: &Follow) -> Input<'r> {
        self.follow = Some(follow.clone());
        self
    }

    /// Hands on every line with its number.
    pub fn each_line(&mut self, mut on: impl FnMut(u64, &str)) {
        self.lines(&mut on);
    }

    /// Compiled once, and not again for every caller.
    fn lines(&mut self, on: &mut dyn FnMut(u64, &str)) {
        while self.step() {
            on(self.number(), self.text());
        }
    }

    /// The line that was given last, without what only a terminal minds.
    pub fn text(&self) -> &str {
        let bytes = &self.buffer[self.current.0..self.current.1];
        match std::str::from_utf8(bytes) {
            Ok(text) if !self.escapes || !has_escape(bytes) => text,
            _ => self.repaired.get_or_init(|| terminal::plain(&String::from_utf8_lossy(bytes))),
        }
    }

    /// The line that was given last with what controls a terminal, for a tool that draws screens.
    pub fn drawn(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.buffer[self.current.0..self.current.1])
    }

    /// Lets the next call of [`Input::line`] give the same line once more.
    pub fn again(&mut self) {
        self.repeat = true;
    }

    /// The number of the line that was given last, from 1; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Lines that were longer than [`MAX_LINE`] and were cut.
    pub fn long_lines(&self) -> u64 {
        self.long_lines
    }

    /// Lines that were left out, as they are no part of an output: remarks of `script`, `sudo` and shells, empty prompts.
    pub fn around(&self) -> u64 {
        self.around
    }

    /// Why reading ended before the end of the input, if it did.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// The rest of the input as bytes, for formats that are documents (JSON, XML).
    ///
    /// Line numbers stay where they were.
    pub fn bytes(&mut self) -> impl Read + use<'_, 'r> {
        if self.repeat {
            self.repeat = false;
            self.begin = self.current.0;
        }
        Rest(self)
    }

    /// The rest of the input as one text, for documents that must be seen whole; invalid UTF-8 is
    /// replaced. None when it is longer than `limit` bytes.
    pub fn whole(&mut self, limit: usize) -> Option<String> {
        let mut bytes = Vec::new();
        // Reading from memory cannot fail; an error of the reader ends the input and is kept.
        let _ = self.bytes().take(limit as u64 + 1).read_to_end(&mut bytes);
        if bytes.len() > limit {
            return None;
        }
        Some(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }

    fn advance(&mut self) -> bool {
        let mut searched = self.begin;
        let mut cut = false;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let newline = searched + at;
                self.take(newline, newline + 1, cut);
                return true;
            }
            if self.at_end {
                if self.begin == self.end && !cut {
                    return false;
                }
                self.take(self.end, self.end, cut);
                return true;
            }
            if self.end - self.begin > MAX_LINE {
                // Keep the line's beginning, drop what follows as it comes.
                self.end = self.begin + MAX_LINE;
                self.long_lines += u64::from(!cut);
                cut = true;
            }
            searched = self.fill() + self.begin;
        }
    }

    /// Makes `begin..line_end` the current line and goes on at `next`.
    fn take(&mut self, line_end: usize, next: usize, cut: bool) {
        let mut end = if cut { line_end.min(self.begin + MAX_LINE) } else { line_end };
        // Several where a terminal's line ends were recorded.
        while end > self.begin && self.buffer[end - 1] == b'\r' {
            end -= 1;
        }
        self.current = (self.begin, end);
        self.begin = next;
        self.number += 1;
        self.repaired.take();
        if let Some(follow) = &self.follow {
            follow.line(self.number);
        }
    }

    /// Reads more, after moving what is left to the front. Gives how many bytes after `begin` were
    /// there before.
    fn fill(&mut self) -> usize {
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
        }
        let before = self.end;
        // A short input needs no more than its head, and room to see that it ends; and the mark that it may begin with.
        let room = if self.buffer.is_empty() { HEAD_BYTES + 64 } else { CHUNK };
        if self.buffer.len() < self.end + room {
            // Fresh zeros come from the system; filling the old buffer up would touch each byte.
            let mut buffer = vec![0; self.end + room];
            buffer[..self.end].copy_from_slice(&self.buffer[..self.end]);
            self.buffer = buffer;
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => {
                    self.escapes |= has_escape(&self.buffer[self.end..self.end + n]);
                    self.end += n;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    self.error = Some(e);
                    self.at_end = true;
                }
            }
            return before;
        }
    }
}

fn has_escape(bytes: &[u8]) -> bool {
    memchr::memchr(terminal::ESCAPE, bytes).is_some()
}

/// The rest of an input as bytes.
struct Rest<'a, 'r>(&'a mut Input<'r>);

impl Read for Rest<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let input = &mut *self.0;
        while input.begin == input.end {
            if input.at_end {
                return Ok(0);
            }
            input.fill();
        }
        let n = into.len().min(input.end - input.begin);
        into[..n].copy_from_slice(&input.buffer[input.begin..input.begin + n]);
        input.begin += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes a few at a time, as a pipe may.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn lines(bytes: &[u8], step: usize) -> Vec<String> {
        let mut input = Input::new(Trickle(bytes, step));
        let mut lines = Vec::new();
        while let Some(line) = input.line() {
            lines.push(line.to_owned());
        }
        lines
    }

    #[test]
    fn lines_are_the_same_however_they_arrive() {
        let text = b"\xef\xbb\xbfone\r\ntwo\n\nfo\xffur\nlast";
        for step in [1, 2, 5, 1000] {
            assert_eq!(lines(text, step), ["one", "two", "", "fo\u{fffd}ur", "last"]);
        }
        assert!(lines(b"", 1).is_empty());
        assert_eq!(lines(b"\n", 1), [""]);
    }

    #[test]
    fn what_only_a_terminal_minds_is_left_out() {
        let text = b"\x1b[32;22m  all\x1b[0m\x1b[K 5\r\r\nplain\n\x1b]0;title\x07caf\xe9 \x1b[1m6\x1b(B\x1b[m\n";
        for step in [1, 3, 1000] {
            assert_eq!(lines(text, step), ["  all 5", "plain", "caf\u{fffd} 6"]);
        }
        let mut input = Input::of(text.to_vec());
        assert_eq!(input.head(), "  all 5\r\r\nplain\ncaf\u{fffd} 6\n");
        input.line();
        assert_eq!(input.drawn(), "\u{1b}[32;22m  all\u{1b}[0m\u{1b}[K 5");
    }

    #[test]
    fn what_is_in_memory_is_read_like_a_stream() {
        let utf16: Vec<u8> = "\u{feff}ein\nzwei ü".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for text in [&b"\xef\xbb\xbfone\r\ntwo\n\nfo\xffur\nlast"[..], b"", b"\n", &utf16] {
            let mut input = Input::of(text.to_vec());
            assert_eq!(input.head_bytes(), Input::new(text).head_bytes());
            let lines: Vec<String> = std::iter::from_fn(|| input.line().map(str::to_owned)).collect();
            assert_eq!(lines, self::lines(text, 7));
        }
    }

    #[test]
    fn a_line_can_be_had_twice_and_the_rest_as_bytes() {
        let mut input = Input::new(&b"a\n{1\n2}"[..]);
        assert_eq!(input.head(), "a\n{1\n2}");
        input.line();
        assert_eq!(input.line(), Some("{1"));
        assert_eq!(input.number(), 2);
        input.again();
        let mut rest = String::new();
        input.bytes().read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "{1\n2}");
        assert_eq!(input.line(), None);
    }

    #[test]
    fn an_endless_line_is_cut_in_bounded_memory() {
        let long = std::io::repeat(b'x').take(100 << 20);
        let mut input = Input::new(long.chain(&b"\nnext"[..]));
        assert_eq!(input.line().map(str::len), Some(MAX_LINE));
        assert!(input.buffer.len() <= MAX_LINE + 2 * CHUNK, "{}", input.buffer.len());
        assert_eq!(input.line(), Some("next"));
        assert_eq!(input.long_lines(), 1);
        assert_eq!(input.line(), None);
    }
}
