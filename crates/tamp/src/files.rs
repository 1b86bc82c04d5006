//! Files: their names, and replacing one by another without ever losing both.

mod attributes;
mod making;

use std::path::{Path, PathBuf};

use crate::Format;

pub use making::{Existing, Like, Making, OnDisk, sync_directory};

/// The name of `path` compressed: with the format's ending after it.
pub fn compressed_name(path: &Path, format: Format) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(format.suffix());
    PathBuf::from(name)
}

/// Endings of compressed files, and what is left of them.
const ENDINGS: [(&str, &str); 8] =
    [("zst", ""), ("zstd", ""), ("lz4", ""), ("gz", ""), ("bgz", ""), ("tzst", "tar"), ("tlz4", "tar"), ("tgz", "tar")];

/// Returns true if the name ends as those of compressed files do.
pub fn is_compressed_name(path: &Path) -> bool {
    decompressed_name(path).is_some()
}

/// The name of `path` decompressed; `None` if its ending is none of those known.
pub fn decompressed_name(path: &Path) -> Option<PathBuf> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let (_, instead) = ENDINGS.iter().find(|(known, _)| *known == ending)?;
    Some(path.with_extension(instead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_as_by_the_stock_tools() {
        assert_eq!(compressed_name(Path::new("a/b.tar"), Format::Zst), Path::new("a/b.tar.zst"));
        for (compressed, plain) in
            [("a.tar.zst", "a.tar"), ("x/a.tgz", "x/a.tar"), ("a.LZ4", "a"), ("a.b.gz", "a.b"), ("a.tzst", "a.tar")]
        {
            assert_eq!(decompressed_name(Path::new(compressed)), Some(PathBuf::from(plain)), "{compressed}");
        }
        for other in ["a", "zst", ".gz", "a.bz2", "a.zst/b"] {
            assert_eq!(decompressed_name(Path::new(other)), None, "{other}");
        }
    }
}
