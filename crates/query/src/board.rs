//! Boards: a page that somebody wrote for others, text in Markdown with questions in it.
//!
//! ````text
//! ---
//! title: Orders, every release
//! run: release=24.1
//! ---
//! # What we look at
//! Latency first, and below it what the disks did.
//!
//! ```question
//! load-latency-over-time
//! over: disk-latency
//! run: @1
//! ```
//!
//! ```sql
//! -- title: Free memory
//! -- chart: line
//! -- x: t
//! -- y: free_bytes
//! SELECT run, host, t, dt, free_bytes FROM mem
//! ```
//! ````
//! A block `question` begins with the name of a question; further lines are `run` (selectors with commas between them), `from` and `to`
//! (seconds since the begin of the run), `over`, `title`, and `p.NAME` for its parameters. A block `sql` is a question's file as in
//! `questions/`. The header between `---` at the begin holds for all of them.

use std::collections::BTreeMap;

use fenxi_model::near;
use fenxi_store::Store;

use crate::{QueryError, Question};

/// Questions of one board.
const MOST: usize = 100;

/// A page of text and questions.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// Its name: the file's without `.md`.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// Selectors of its runs, with commas between them; None for the latest run.
    pub run: Option<String>,
    /// In the order of the file.
    pub blocks: Vec<Block>,
}

/// A part of a board.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Markdown without questions.
    Text(String),
    /// A question to be answered.
    Asks(Asks),
}

/// A question on a board.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asks {
    /// The line on which it begins.
    pub line: usize,
    /// Question or statement of the block.
    pub what: What,
    /// Its heading, where it is not the question's own.
    pub title: Option<String>,
    /// Selectors of its runs, where they are not the board's.
    pub run: Option<String>,
    /// The time range, seconds since the begin of the run.
    pub from: Option<f64>,
    /// Its end.
    pub to: Option<f64>,
    /// A question that is drawn over it with its own axis.
    pub over: Option<String>,
    /// Values of its parameters, as typed.
    pub params: Vec<(String, String)>,
}

/// Question or statement of the block.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A question of the store by its name.
    Named(String),
    /// One that the board brings with it.
    Own(Box<Question>),
}

impl Default for What {
    fn default() -> What {
        What::Named(String::new())
    }
}

impl Board {
    /// Reads a board from the text of a file called `name`.md.
    ///
    /// # Errors
    /// [`QueryError::Question`] with the line: an unknown key, a block without an end, no question in a block.
    pub fn parse(name: &str, text: &str) -> Result<Board, QueryError> {
        let file = || format!("{name}.md");
        let bad = |line: usize, message: String| QueryError::Question { file: file(), line, message };
        let mut board = Board { name: name.to_owned(), title: String::new(), run: None, blocks: Vec::new() };
        let lines: Vec<&str> = text.lines().collect();
        let mut at = board.head(&lines).map_err(|(line, message)| bad(line, message))?;
        let mut prose = String::new();
        let mut n_asks = 0;
        while at < lines.len() {
            let Some((fence, kind)) = opening(lines[at]).filter(|(_, kind)| ["question", "sql"].contains(kind)) else {
                // Other fences are text as a whole: their content is no question.
                let end = match opening(lines[at]) {
                    Some((fence, _)) => closing(&lines, at, fence).unwrap_or(lines.len() - 1),
                    None => at,
                };
                lines[at..=end].iter().for_each(|line| prose.extend([line, "\n"]));
                at = end + 1;
                continue;
            };
            let end = closing(&lines, at, fence).ok_or_else(|| {
                bad(at + 1, format!("the block that begins with `{fence}{kind}` has no end `{fence}`"))
            })?;
            let inner = &lines[at + 1..end];
            let asks = match kind {
                "sql" => own(name, at + 1, inner).map_err(|(line, message)| bad(line, message))?,
                _ => named(at + 1, inner).map_err(|(line, message)| bad(line, message))?,
            };
            n_asks += 1;
            if n_asks > MOST {
                return Err(bad(at + 1, format!("a board has at most {MOST} questions")));
            }
            if !prose.trim().is_empty() {
                board.blocks.push(Block::Text(std::mem::take(&mut prose)));
            }
            prose.clear();
            board.blocks.push(Block::Asks(asks));
            at = end + 1;
        }
        if !prose.trim().is_empty() {
            board.blocks.push(Block::Text(prose));
        }
        if board.title.is_empty() {
            let heading = lines.iter().find_map(|line| line.strip_prefix("# "));
            heading.unwrap_or(name).trim().clone_into(&mut board.title);
        }
        Ok(board)
    }

    /// Reads the header between `---` at the begin; the first line after it.
    fn head(&mut self, lines: &[&str]) -> Result<usize, (usize, String)> {
        if lines.first().map(|line| line.trim_end()) != Some("---") {
            return Ok(0);
        }
        for (i, line) in lines.iter().enumerate().skip(1) {
            if line.trim_end() == "---" {
                return Ok(i + 1);
            }
            match pair(line) {
                Some(("title", value)) => value.clone_into(&mut self.title),
                Some(("run", value)) => self.run = Some(value.to_owned()),
                None if line.trim().is_empty() => {}
                _ => {
                    return Err((i + 1, format!("`{}`: the head of a board has `title: …` and `run: …`", line.trim())));
                }
            }
        }
        Err((1, "the head of the board that begins with `---` has no end `---`".to_owned()))
    }
}

/// The fence that a line opens, and its word.
fn opening(line: &str) -> Option<(&str, &str)> {
    let length = line.len() - line.trim_start_matches('`').len();
    (length >= 3).then(|| (&line[..length], line[length..].trim()))
}

/// The line that ends the fence which begins at `at`.
fn closing(lines: &[&str], at: usize, fence: &str) -> Option<usize> {
    (at + 1..lines.len()).find(|i| lines[*i].trim_end() == fence)
}

fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    Some((key.trim(), value.trim())).filter(|(key, value)| !key.is_empty() && !value.is_empty())
}

/// A block `sql`, which begins on the line `begin`.
fn own(board: &str, begin: usize, inner: &[&str]) -> Result<Asks, (usize, String)> {
    let text = inner.join("\n");
    // A title need not be there: the board's text describes it.
    let titled = inner.iter().any(|line| line.strip_prefix("--").and_then(pair).is_some_and(|(key, _)| key == "title"));
    let text = if titled { text } else { format!("-- title: {board}\n{text}") };
    let shift = begin - usize::from(!titled);
    let question = Question::parse(board, &text).map_err(|error| match error {
        QueryError::Question { line, message, .. } => (shift + line, message),
        other => (begin, other.to_string()),
    })?;
    let title = titled.then(|| question.title.clone());
    let over = question.over.clone();
    Ok(Asks {
        line: begin,
        what: What::Own(Box::new(Question { own: true, ..question })),
        title,
        over,
        ..Asks::default()
    })
}

/// A block `question`, which begins on the line `begin`.
fn named(begin: usize, inner: &[&str]) -> Result<Asks, (usize, String)> {
    let mut asks = Asks { line: begin, ..Asks::default() };
    let mut name = String::new();
    for (i, line) in inner.iter().enumerate() {
        let at = begin + 1 + i;
        let seconds = |value: &str| {
            let number = value.trim_end_matches('s').trim().parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0);
            number
                .map(Some)
                .ok_or_else(|| (at, format!("`{value}` is not a time in seconds since the begin of the run")))
        };
        match pair(line) {
            _ if line.trim().is_empty() => {}
            None if name.is_empty() => line.trim().clone_into(&mut name),
            None => return Err((at, format!("`{}`: expected `key: value`", line.trim()))),
            Some(("run", value)) => asks.run = Some(value.to_owned()),
            Some(("title", value)) => asks.title = Some(value.to_owned()),
            Some(("over", value)) => asks.over = Some(value.to_owned()),
            Some(("from", value)) => asks.from = seconds(value)?,
            Some(("to", value)) => asks.to = seconds(value)?,
            Some((key, value)) if key.starts_with("p.") => asks.params.push((key[2..].to_owned(), value.to_owned())),
            Some((key, _)) => {
                return Err((at, format!("unknown key `{key}`: one of run, title, over, from, to, p.NAME")));
            }
        }
    }
    if name.is_empty() {
        return Err((
            begin,
            "the block names no question: its first line is the name of one (`fenxi ask` lists them)".to_owned(),
        ));
    }
    asks.what = What::Named(name);
    Ok(asks)
}

/// The boards of the store by name: those in its folder `boards`.
///
/// # Errors
/// When the folder cannot be read. An invalid board is listed as its error.
pub fn boards(store: &Store) -> Result<BTreeMap<String, Result<Board, QueryError>>, QueryError> {
    let folder = store.path().join("boards");
    let mut all = BTreeMap::new();
    if folder.is_dir() {
        for entry in fs_err::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "md") {
                let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
                let read = store.read_text(&path).map_err(QueryError::from);
                all.insert(name.clone(), read.and_then(|text| Board::parse(&name, &text)));
            }
        }
    }
    Ok(all)
}

/// The board called `name`.
///
/// # Errors
/// [`QueryError::UnknownBoard`] with near names, or what is wrong with it.
pub fn board(store: &Store, name: &str) -> Result<Board, QueryError> {
    let mut all = boards(store)?;
    match all.remove(name) {
        Some(found) => found,
        None => {
            let near = near(name, all.keys().map(String::as_str));
            Err(QueryError::UnknownBoard { name: name.to_owned(), near })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Board, What};
    use crate::Chart;

    const TEXT: &str = "---\ntitle: Orders\nrun: release=24.1\n---\nText with `code`.\n\n```question\nload-throughput\n\
                        over: disk-latency\np.n: 5\nfrom: 60s\nto: 90\n```\nBetween.\n\n```sql\n-- title: Free\n-- chart: line\n-- x: t\n\
                        -- y: free_bytes\nSELECT 1\n```\n\n```sh\n```question\nfenxi\n```\n";

    #[test]
    fn text_and_questions_stand_in_their_order() {
        let board = Board::parse("orders", TEXT).unwrap();
        assert_eq!((board.title.as_str(), board.run.as_deref()), ("Orders", Some("release=24.1")));
        let [Block::Text(first), Block::Asks(named), Block::Text(between), Block::Asks(own), Block::Text(last)] =
            &board.blocks[..]
        else {
            panic!("{board:#?}")
        };
        assert!(first.starts_with("Text with") && between.trim() == "Between.", "{first} {between}");
        assert_eq!(named.what, What::Named("load-throughput".to_owned()));
        assert_eq!((named.over.as_deref(), named.from, named.to), (Some("disk-latency"), Some(60.0), Some(90.0)));
        assert_eq!(named.params, [("n".to_owned(), "5".to_owned())]);
        let What::Own(question) = &own.what else { panic!() };
        assert_eq!((question.chart, question.title.as_str()), (Chart::Line, "Free"));
        assert!(last.contains("fenxi"), "a block of another kind is text as a whole: {last}");
        assert_eq!(Board::parse("plain", "# Heading\ntext").unwrap().title, "Heading");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let error = |text: &str| Board::parse("b", text).unwrap_err().to_string();
        assert_eq!(
            error("a\n```question\nx\nbins: 3\n```"),
            "b.md: line 4: unknown key `bins`: one of run, title, over, from, to, p.NAME"
        );
        assert!(error("```question\n\n```").starts_with("b.md: line 1: the block names no question"));
        assert!(error("```question\nx").starts_with("b.md: line 1: the block that begins with"));
        assert!(error("```sql\n-- chart: pie\nSELECT 1\n```").starts_with("b.md: line 2: `pie` is not a chart"));
        assert!(error("---\nruns: x\n---").starts_with("b.md: line 2: `runs: x`"));
        assert!(error("```question\nx\nfrom: soon\n```").starts_with("b.md: line 3: `soon` is not a time"));
    }
}
