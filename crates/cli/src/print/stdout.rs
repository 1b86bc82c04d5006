//! Standard output: what may pass, and what becomes of writes that fail.
//!
//! Every byte for standard output passes here. What was laid out for people is made visible wherever it goes; JSON has
//! its own escapes; all other data is left as it is, unless a person is going to look at it on a terminal.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, PoisonError},
};

use fenxi_model::{HIDDEN, is_hidden};

/// Form of the output, which decides what must not be in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text laid out for people, without colours: only newlines and tabs move the cursor.
    Text,
    /// JSON: what is hidden is written as escapes, which mean the same.
    Json,
    /// A format that programs read: as it is, but visible on a terminal.
    Data,
}

impl Form {
    /// JSON if that was asked for, otherwise text.
    pub fn json_if(json: bool) -> Form {
        if json { Form::Json } else { Form::Text }
    }
}

/// Why standard output could not be written, the first time; the layers in between may forget or ignore it.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

fn failed() -> std::sync::MutexGuard<'static, Option<io::Error>> {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why standard output could not be written, if it could not; it is reported once.
pub fn failure() -> Option<io::Error> {
    failed().take()
}

/// Whether standard output could not be written.
pub fn has_failed() -> bool {
    failed().is_some()
}

/// Remembers when a write to standard output failed, and gives back how it went.
pub fn remember<T>(result: io::Result<T>) -> io::Result<T> {
    result.inspect_err(|error| {
        let kind = error.kind();
        if kind != io::ErrorKind::Interrupted {
            let copy = error.raw_os_error().map_or_else(|| kind.into(), io::Error::from_raw_os_error);
            failed().get_or_insert(copy);
        }
    })
}

/// Standard output, buffered.
#[derive(Debug)]
pub struct Stdout {
    out: io::BufWriter<io::Stdout>,
    filter: Option<Filter>,
}

impl Stdout {
    /// A separate buffer; it must be flushed.
    pub fn new(form: Form) -> Stdout {
        let out = io::stdout();
        let filter = (form != Form::Data || out.is_terminal()).then(|| Filter::of(form));
        Stdout { out: io::BufWriter::new(out), filter }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.filter {
            None => remember(self.out.write(bytes)),
            Some(filter) if filter.has_nothing_to_do(bytes) => remember(self.out.write(bytes)),
            Some(filter) => {
                let shown = filter.pass(bytes);
                remember(self.out.write_all(shown.as_bytes()))?;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(rest) = self.filter.as_mut().and_then(Filter::end) {
            remember(self.out.write_all(rest.as_bytes()))?;
        }
        remember(self.out.flush())
    }
}

impl Drop for Stdout {
    fn drop(&mut self) {
        // Its user may not have flushed it; it is remembered how that went.
        let _ = self.flush();
    }
}

/// Makes a stream of bytes visible.
#[derive(Debug)]
pub(super) struct Filter {
    form: Form,
    /// The beginning of a character whose end is still to come.
    rest: Vec<u8>,
}

impl Filter {
    pub(super) fn of(form: Form) -> Filter {
        Filter { form, rest: Vec::new() }
    }

    /// Whether `bytes` pass as they are: most do, and are not looked at one character after another.
    fn has_nothing_to_do(&self, bytes: &[u8]) -> bool {
        self.rest.is_empty() && bytes.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    }

    /// The part of `bytes`, which follow those before, that may pass.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.rest);
        let mut shown = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.show(chunk.valid(), &mut shown);
            let broken = chunk.invalid();
            if chunks.peek().is_none() && is_beginning(broken) {
                self.rest = broken.to_vec();
            } else if !broken.is_empty() {
                shown.push(HIDDEN);
            }
        }
        shown
    }

    fn show(&self, text: &str, shown: &mut String) {
        for c in text.chars() {
            match c {
                '\n' | '\t' => shown.push(c),
                c if !is_hidden(c) => shown.push(c),
                // All of them are in the first plane: one escape each.
                c if self.form == Form::Json => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
                _ => shown.push(HIDDEN),
            }
        }
    }

    /// Replacement of a character that never ended.
    pub(super) fn end(&mut self) -> Option<&'static str> {
        let broken = !std::mem::take(&mut self.rest).is_empty();
        broken.then_some("?")
    }
}

/// Whether bytes that are no character may become one when more follow.
fn is_beginning(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::{Filter, Form};

    fn passed(form: Form, parts: &[&[u8]]) -> String {
        let mut filter = Filter::of(form);
        let mut out: String = parts.iter().map(|part| filter.pass(part)).collect();
        out.extend(filter.end());
        out
    }

    #[test]
    fn only_newlines_and_tabs_move_the_cursor() {
        let hostile = "a\x1b[31m\r\n\tü\u{9b}2J\u{202e}\0\x7f";
        assert_eq!(passed(Form::Text, &[hostile.as_bytes()]), "a?[31m?\n\tü?2J???");
        let json = passed(Form::Json, &[hostile.as_bytes()]);
        assert_eq!(json, "a\\u001b[31m\\u000d\n\tü\\u009b2J\\u202e\\u0000\\u007f");
        assert_eq!(passed(Form::Data, &[b"a\xffb\x80"]), "a?b?");
    }

    #[test]
    fn it_does_not_matter_where_a_stream_is_cut() {
        let text = "x\u{1b}ü│👩\u{202e}\u{9b}é".as_bytes();
        let whole = passed(Form::Text, &[text]);
        for cut in 0..=text.len() {
            assert_eq!(passed(Form::Text, &[&text[..cut], &text[cut..]]), whole, "{cut}");
        }
        let each: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(passed(Form::Text, &each), whole);
        assert_eq!(passed(Form::Text, &[&"ü".as_bytes()[..1]]), "?");
        assert_eq!(passed(Form::Text, &[b"\xe2\x80", b"z"]), "?z");
    }
}
