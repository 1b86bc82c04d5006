//! Answers as text or bytes.
