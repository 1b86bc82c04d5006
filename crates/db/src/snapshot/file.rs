//! A snapshot as text: a line of JSON for the server, and one for each answer.

use super::{Answer, FORMAT, Head, Snapshot};

/// Why a text is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A line is not what it should be.
    #[error("line {line} is none of a snapshot: {source}")]
    Line {
        /// Its number.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// Another fenxi wrote it.
    #[error("it has format {0}, and this fenxi reads {FORMAT}: a newer one is needed")]
    Format(u32),
    /// There is no line.
    #[error("it is empty")]
    Empty,
}

impl Snapshot {
    /// As text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let mut add = |line: Result<String, serde_json::Error>| {
            text.push_str(&line.unwrap_or_default());
            text.push('\n');
        };
        add(serde_json::to_string(&self.head));
        self.answers.iter().for_each(|answer| add(serde_json::to_string(answer)));
        text
    }

    /// From text.
    ///
    /// # Errors
    /// When it is none of a snapshot.
    pub fn from_text(text: &str) -> Result<Snapshot, FileError> {
        let head = Head::from_text(text)?;
        let answer = |(line, text): (usize, &str)| -> Result<Answer, FileError> {
            serde_json::from_str(text).map_err(|source| FileError::Line { line: line + 1, source })
        };
        let lines = text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty());
        Ok(Snapshot { head, answers: lines.map(answer).collect::<Result<_, _>>()? })
    }
}

impl Head {
    /// From the text of a snapshot.
    ///
    /// # Errors
    /// When it is none of a snapshot.
    pub fn from_text(text: &str) -> Result<Head, FileError> {
        let line = text.lines().next().ok_or(FileError::Empty)?;
        let head: Head = serde_json::from_str(line).map_err(|source| FileError::Line { line: 1, source })?;
        if head.format == FORMAT { Ok(head) } else { Err(FileError::Format(head.format)) }
    }
}
