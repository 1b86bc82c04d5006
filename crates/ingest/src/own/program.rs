//! A format that is a program, in the thread that parses the input: it reads the text from standard input and prints rows as JSON lines.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fenxi_formats::{About, Head, Input, JsonRows, Out, OwnFormat, Sure, lasting};
use rustc_hash::FxHashMap;

use super::running::{Ended, Limits, run};

/// The request whether a text is in its format; the answer is [`CERTAIN`].
const SNIFF: &str = "--sniff";
const CERTAIN: &str = "certain";
/// How long it may think about that.
const SNIFF_TIME: Duration = Duration::from_secs(5);
/// Bytes that it may print then.
const SNIFF_BYTES: u64 = 4096;
/// Answers that are remembered.
const MOST_ASKED: usize = 1 << 16;
/// Lines that are no rows before it is ended.
const MOST_WRONG: u64 = 1000;
/// The longest line that it may print.
const MOST_LINE: usize = 1 << 20;
/// Where its summary is looked for.
const HEADING: usize = 4096;

/// A program of a store.
pub(super) struct Program {
    about: About,
    path: PathBuf,
    limits: Limits,
    stopped: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The beginnings of texts that it was asked about, and its answers: each is looked at more than once.
    asked: Mutex<FxHashMap<[u8; 32], Sure>>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program({})", self.about.file)
    }
}

impl Program {
    /// The program at `path`, whose content is `bytes`.
    pub(super) fn new(
        name: &str,
        shown: &str,
        path: &Path,
        bytes: &[u8],
        stopped: Arc<dyn Fn() -> bool + Send + Sync>,
        limits: Limits,
    ) -> Program {
        let about = About {
            name: lasting(name),
            file: shown.to_owned(),
            digest: blake3::hash(bytes).to_hex().to_string(),
            summary: summary(bytes).unwrap_or_else(|| format!("what the program {shown} reads")),
            tables: Vec::new(),
            example: String::new(),
            is_program: true,
            recognises: true,
            instead_of: None,
        };
        Program { about, path: path.to_owned(), limits, stopped, asked: Mutex::default() }
    }

    fn ask(&self, head: &Head<'_>) -> Sure {
        let limits = Limits {
            wall: SNIFF_TIME,
            silent: SNIFF_TIME,
            cpu: SNIFF_TIME,
            output_bytes: SNIFF_BYTES,
            output_per_input: 0,
            ..self.limits.clone()
        };
        let mut answer = Vec::new();
        let ended = run(&self.path, &[SNIFF], &limits, &*self.stopped, &mut head.text.as_bytes(), &mut |piece| {
            answer.extend_from_slice(piece);
            Ok(())
        });
        let well = ended.why.is_none() && ended.status.is_some_and(|status| status.success());
        Sure::Certain.when(well && answer.trim_ascii() == CERTAIN.as_bytes())
    }
}

/// A script's description in its first lines: `# summary: …`.
fn summary(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes.get(..HEADING).unwrap_or(bytes)).ok()?;
    let summary =
        text.lines().find_map(|line| line.trim_start_matches(['#', '/', '-', ' ']).strip_prefix("summary:"))?;
    Some(summary.trim().to_owned()).filter(|summary| !summary.is_empty())
}

impl OwnFormat for Program {
    fn about(&self) -> &About {
        &self.about
    }

    fn sniff(&self, head: &Head<'_>) -> Sure {
        let of = *blake3::hash(head.text.as_bytes()).as_bytes();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sure) = asked.get(&of) {
            return *sure;
        }
        if asked.len() >= MOST_ASKED {
            asked.clear();
        }
        let sure = self.ask(head);
        asked.insert(of, sure);
        sure
    }

    fn read(&self, input: &mut Input<'_>, out: &mut Out<'_>) {
        let out = RefCell::new(out);
        let mut lines = Lines { rows: JsonRows::new(&out.borrow()), rest: Vec::new() };
        let ended = {
            let mut bytes = input.bytes();
            run(&self.path, &[], &self.limits, &*self.stopped, &mut bytes, &mut |piece| {
                lines.add_output(piece, &mut out.borrow_mut())
            })
        };
        let out = &mut *out.borrow_mut();
        lines.end(out);
        for note in notes(&ended) {
            out.note(None, &format!("the program {} {note}", self.about.file));
        }
    }
}

/// The note on how it ended; none when all is well.
fn notes(ended: &Ended) -> Vec<String> {
    let stderr = if ended.stderr.is_empty() { String::new() } else { format!(": {}", ended.stderr) };
    match (&ended.why, ended.status) {
        (Some(why), _) => vec![format!("{why}; what it printed until then is kept{stderr}")],
        (None, Some(status)) if !status.success() => vec![format!("ended with {status}{stderr}")],
        (None, _) => {
            let left = (!ended.took_all).then(|| "did not read all of the input".to_owned());
            left.into_iter().chain((!stderr.is_empty()).then(|| format!("printed{stderr}"))).collect()
        }
    }
}

/// Cuts output into lines.
struct Lines {
    rows: JsonRows,
    rest: Vec<u8>,
}

impl Lines {
    fn add_output(&mut self, piece: &[u8], out: &mut Out<'_>) -> Result<(), String> {
        self.rest.extend_from_slice(piece);
        let mut begin = 0;
        while let Some(at) = self.rest[begin..].iter().position(|b| *b == b'\n') {
            self.rows.line(&String::from_utf8_lossy(&self.rest[begin..begin + at]), out);
            begin += at + 1;
            if self.rows.wrong() > MOST_WRONG {
                return Err(format!("printed more than {MOST_WRONG} lines that are no rows"));
            }
        }
        self.rest.drain(..begin);
        if self.rest.len() > MOST_LINE {
            self.rest.clear();
            return Err(format!("printed a line of more than {MOST_LINE} bytes"));
        }
        Ok(())
    }

    /// The last line may lack its end.
    fn end(&mut self, out: &mut Out<'_>) {
        if !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            self.rows.line(&String::from_utf8_lossy(&rest), out);
        }
    }
}
