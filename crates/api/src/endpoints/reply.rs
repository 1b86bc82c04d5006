//! Serialised responses.

use std::io;

use serde::Serialize;

use super::ApiError;

/// Bytes of an answer that is written here. What is larger no page can draw.
const MOST: usize = 64 << 20;

/// Answer of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Content type, as in the header of HTTP.
    pub content_type: &'static str,
    /// The answer.
    pub bytes: Vec<u8>,
}

impl Reply {
    /// The type of most answers.
    pub(super) const JSON: &'static str = "application/json";

    /// `value` as JSON.
    ///
    /// # Errors
    /// When it cannot be written as such, or is larger than an answer may be.
    pub(super) fn json(value: &impl Serialize) -> Result<Reply, ApiError> {
        Reply::json_within(value, MOST)
    }

    fn json_within(value: &impl Serialize, most: usize) -> Result<Reply, ApiError> {
        let mut written = Bounded { bytes: Vec::new(), most };
        match serde_json::to_writer(&mut written, value) {
            Err(error) if error.is_io() => Err(ApiError::Wrong(format!(
                "the answer is larger than {} MiB; ask for less, as fewer runs",
                most >> 20
            ))),
            outcome => {
                outcome?;
                Ok(Reply { content_type: Reply::JSON, bytes: written.bytes })
            }
        }
    }
}

/// Bytes that are written up to a limit.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_where_it_would_be_larger_than_it_may() {
        let texts = vec!["x".repeat(1 << 20); 4];
        assert_eq!(Reply::json_within(&texts, 5 << 20).unwrap().bytes.len(), (4 << 20) + 4 * 2 + 3 + 2);
        let error = Reply::json_within(&texts, 3 << 20).unwrap_err().to_string();
        assert!(error.contains("larger than 3 MiB"), "{error}");
    }
}
