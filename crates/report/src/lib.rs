//! Answers to questions become one self-contained page.
