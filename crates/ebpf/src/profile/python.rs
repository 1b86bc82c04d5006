//! Frames of Python in a stack: their names, and their places among the native frames.

use std::{fmt::Write, sync::Arc};

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustc_hash::FxHashMap;

use crate::bytes::Bytes;

/// Bits of a word of a stack, as in `bpf/python.h`.
const PYTHON: u64 = 1 << 63;
const OUTERMOST: u64 = 1 << 60;
const NATIVE_WHOLE: u64 = 1 << 59;
const WHOLE: u64 = 1 << 58;
const KEY: u64 = (1 << 56) - 1;
/// Bytes of a text's characters (`NAME_BYTES`).
const TEXT: usize = 128;

/// Names that are kept.
const MOST_NAMES: usize = 1 << 16;
/// A function whose name could not be read.
const UNNAMED: &str = "[Python function]";
/// The native function that runs functions of Python.
const EVAL: &str = "_PyEval_EvalFrameDefault";

/// Names of functions, by their keys.
#[derive(Debug)]
pub(super) struct Functions {
    codes: MapHandle,
    names: FxHashMap<u64, Arc<str>>,
}

/// The functions that one call of the interpreter runs, the innermost first.
type Run = Vec<Arc<str>>;

/// The functions of Python of a stack.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The innermost first.
    runs: Vec<Run>,
    /// Whether they and the native frames were all followed to their ends.
    is_whole: bool,
}

impl Functions {
    pub(super) fn new(codes: MapHandle) -> Functions {
        Functions { codes, names: FxHashMap::default() }
    }

    /// Takes the words of Python from the end of a stack.
    pub(super) fn take(&mut self, stack: &mut Vec<u64>) -> Frames {
        let n_native = stack.iter().position(|word| word >> 61 == PYTHON >> 61).unwrap_or(stack.len());
        let words = stack.split_off(n_native);
        let has = |word: Option<&u64>, flag: u64| word.is_some_and(|word| word & flag != 0);
        let is_whole = has(words.first(), NATIVE_WHOLE) && has(words.last(), WHOLE);
        let runs = words.split_inclusive(|word| word & OUTERMOST != 0);
        Frames { runs: runs.map(|run| run.iter().map(|word| self.name(word & KEY)).collect()).collect(), is_whole }
    }

    fn name(&mut self, key: u64) -> Arc<str> {
        if let Some(name) = self.names.get(&key) {
            return Arc::clone(name);
        }
        let code = self.codes.lookup(&key.to_ne_bytes(), MapFlags::ANY).ok().flatten();
        let Some(name) = code.and_then(|code| shown(&code)) else { return UNNAMED.into() };
        if self.names.len() >= MOST_NAMES {
            self.names.clear();
        }
        self.names.insert(key, Arc::clone(&name));
        name
    }
}

/// `function (file.py)` of a `struct python_code`; None: it has no name.
fn shown(code: &[u8]) -> Option<Arc<str>> {
    let (name, file) = code.split_at_checked(8 + TEXT)?;
    let (mut name, is_whole) = text(name)?;
    if !is_whole {
        name.push('…');
    }
    if let Some((path, _)) = text(file) {
        let file = path.rsplit('/').next().filter(|file| !file.is_empty()).unwrap_or(&path);
        let _ = write!(name, " ({file})");
    }
    Some(name.into())
}

/// The characters of a `struct python_text`, without those that could be taken for something else, and whether these are all.
fn text(of: &[u8]) -> Option<(String, bool)> {
    let mut of = Bytes(of);
    let (length, size) = (of.u32() as usize, of.u32());
    let (bytes, width) = ((size & 0xffff) as usize, (size >> 16) as usize);
    let characters = of.0.get(..bytes).filter(|_| bytes > 0 && [1, 2, 4].contains(&width))?;
    let decoded = characters.chunks_exact(width).map(|unit| {
        let code = unit.iter().rev().fold(0, |code, byte| code << 8 | u32::from(*byte));
        match char::from_u32(code) {
            Some(';') => ':',
            Some(character) if !character.is_control() => character,
            _ => char::REPLACEMENT_CHARACTER,
        }
    });
    Some((decoded.collect(), bytes >= length * width))
}

impl Frames {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The native frames, the innermost first, with each run of functions in the place of the call of the interpreter that runs
    /// it. Runs without one stand where they are certain to be: within the innermost call of all, else outside all native frames.
    pub(super) fn among(self, native: Vec<String>) -> Vec<String> {
        let calls = native.iter().filter(|function| is_eval(function)).count();
        let n = self.runs.len();
        // Ends that are both known are the same; else the begins are. A call that has just begun has no functions yet.
        let (empty, first) = match self.is_whole {
            true => (calls.saturating_sub(n), n.saturating_sub(calls) + 1),
            false => (0, 1),
        };
        let mut runs = self.runs.into_iter();
        let mut frames = Vec::with_capacity(native.len() + n);
        let mut call = 0;
        for function in native {
            if !is_eval(&function) {
                frames.push(function);
                continue;
            }
            call += 1;
            let before = frames.len();
            if call > empty {
                let wanted = if call == empty + 1 { first } else { 1 };
                frames.extend(runs.by_ref().take(wanted).flatten().map(|name| name.to_string()));
            }
            if frames.len() == before {
                frames.push(function);
            }
        }
        frames.extend(runs.flatten().map(|name| name.to_string()));
        frames
    }
}

fn is_eval(function: &str) -> bool {
    function.strip_prefix(EVAL).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of runs that are separated by blanks, and of native frames, both the innermost first.
    fn among(runs: &str, is_whole: bool, native: &str) -> String {
        let runs = runs.split_ascii_whitespace().map(|run| run.split(',').map(Arc::from).collect()).collect();
        let native = native.replace("eval", EVAL);
        let frames = Frames { runs, is_whole }.among(native.split_ascii_whitespace().map(str::to_owned).collect());
        frames.join(" ").replace(EVAL, "eval")
    }

    #[test]
    fn runs_stand_where_the_interpreter_runs_them() {
        assert_eq!(among("key f,g,<module>", true, "add eval sort eval main"), "add key sort f g <module> main");
        assert_eq!(
            among("f,<module>", true, "eval vector eval main"),
            "eval vector f <module> main",
            "one just begins"
        );
        assert_eq!(among("f", true, "memcpy eval.cold main"), "memcpy f main");
        assert_eq!(among("f", true, "memcpy evaluate main"), "memcpy evaluate main f");
    }

    #[test]
    fn what_does_not_match_is_not_lost() {
        assert_eq!(among("a b c", true, "x eval y eval main"), "x a b y c main", "a call that is not seen as one");
        assert_eq!(among("a b", false, "x eval y"), "x a y b", "native frames end");
        assert_eq!(among("a", false, "x eval y eval main"), "x a y eval main", "frames of Python end");
        assert_eq!(among("a,b c", false, "x y"), "x y a b c");
        assert_eq!((among("a", true, ""), among("", true, "x eval main")), ("a".to_owned(), "x eval main".to_owned()));
    }

    /// A `struct python_text`.
    fn text_of(length: u32, width: u16, characters: &[u8]) -> Vec<u8> {
        let size = u16::try_from(characters.len()).unwrap();
        let mut text = [&length.to_ne_bytes()[..], &size.to_ne_bytes(), &width.to_ne_bytes(), characters].concat();
        text.resize(8 + TEXT, b'#');
        text
    }

    #[test]
    fn names_of_any_width_are_read_and_hostile_ones_do_no_harm() {
        let of = |name: Vec<u8>, file: Vec<u8>| shown(&[name, file].concat()).map(|name| name.to_string());
        let file = || text_of(9, 1, b"/srv/a.py");
        assert_eq!(of(text_of(3, 1, b"C.f"), file()).as_deref(), Some("C.f (a.py)"));
        assert_eq!(of(text_of(1, 1, b"\xe9"), text_of(2, 1, b"a/")).as_deref(), Some("é (a/)"));
        assert_eq!(
            of(text_of(2, 2, &[0x3b1u16, 0xd800].map(u16::to_le_bytes).concat()), file()).as_deref(),
            Some("α\u{fffd} (a.py)")
        );
        assert_eq!(of(text_of(900, 4, &0x1f40du32.to_le_bytes()), file()).as_deref(), Some("🐍… (a.py)"));
        assert_eq!(of(text_of(5, 1, b"a;b\n\x1b"), text_of(0, 0, b"")).as_deref(), Some("a:b\u{fffd}\u{fffd}"));
        assert_eq!((of(text_of(1, 3, b"abc"), file()), of(text_of(0, 0, b""), file())), (None, None));
        assert_eq!((shown(b"short"), text(&text_of(u32::MAX, 1, &[]))), (None, None));
    }
}
