//! SQL as it is written for servers.

use super::{literal, quoted};

#[test]
fn names_and_texts_are_quoted_as_every_server_reads_them() {
    assert_eq!(quoted("a`b"), "`a``b`");
    assert_eq!(literal("it's a \\ and\nmore"), r"'it\'s a \\ and\nmore'");
}
