//! Formats, and what the levels -1 to -9 mean in each.

use libdeflater::CompressionLvl;

/// A format that is read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Zstandard, RFC 8878: a frame for each block.
    #[default]
    Zst,
    /// The LZ4 frame format 1.6: a frame of independent blocks.
    Lz4,
    /// gzip, RFC 1952: a member for each block.
    Gz,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Zst, Format::Lz4, Format::Gz];

    /// File name suffix of the format: `zst`, `lz4`, `gz`.
    pub fn suffix(self) -> &'static str {
        match self {
            Format::Zst => "zst",
            Format::Lz4 => "lz4",
            Format::Gz => "gz",
        }
    }

    /// Bytes of a block when nothing else is asked for. Each begins without history: with half of this, text of mpstat and sar
    /// is 0.7 % larger than by `zstd -1`, and with a quarter database pages 1.7 % larger than by `lz4 -1`.
    pub fn block(self) -> usize {
        match self {
            Format::Zst => 2 << 20,
            Format::Lz4 | Format::Gz => 1 << 20,
        }
    }

    /// Sizes that a block may have, from and to.
    pub fn blocks(self) -> (usize, usize) {
        match self {
            // The sizes that the header can hold: 64 and 256 KiB, 1 and 4 MiB.
            Format::Lz4 => (64 << 10, 4 << 20),
            Format::Zst | Format::Gz => (1 << 10, 128 << 20),
        }
    }

    /// `block` as this format can have it: the next larger size that there is.
    pub(crate) fn fitting(self, block: usize) -> usize {
        let (smallest, most) = self.blocks();
        let block = block.clamp(smallest, most);
        match self {
            Format::Lz4 => {
                (smallest..=most).step_by(smallest).find(|size| sizes_of_lz4(*size) && *size >= block).unwrap_or(most)
            }
            Format::Zst | Format::Gz => block,
        }
    }
}

fn sizes_of_lz4(size: usize) -> bool {
    matches!(size >> 10, 64 | 256 | 1024 | 4096)
}

/// Compression level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Faster than level 1, at the cost of size.
    Fast,
    /// 1 (fast) to 9 (small); others count as the nearest.
    Of(u8),
}

impl Default for Level {
    fn default() -> Level {
        Level::Of(1)
    }
}

/// Levels of zstd for -1 to -9.
const ZSTD: [i32; 9] = [1, 2, 3, 5, 7, 9, 12, 15, 19];
/// That of `--fast`: `zstd --fast=3`.
const ZSTD_FAST: i32 = -3;
/// Levels of LZ4 for -1 to -9; 3 and more are those of LZ4HC.
const LZ4: [i32; 9] = [1, 2, 3, 4, 5, 6, 8, 9, 12];
/// The acceleration of LZ4 for `--fast`: `lz4 --fast=8`.
const LZ4_FAST: i32 = 8;
/// Levels of libdeflate for -1 to -9.
const DEFLATE: [i32; 9] = [1, 2, 3, 4, 5, 6, 8, 9, 12];

/// The compressor of LZ4 at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lz4Level {
    /// The fast compressor with this acceleration.
    Fast(i32),
    /// LZ4HC at this level.
    Hard(i32),
}

impl Level {
    fn index(self) -> usize {
        match self {
            Level::Fast => 0,
            Level::Of(level) => usize::from(level.clamp(1, 9)) - 1,
        }
    }

    pub(crate) fn zstd(self) -> i32 {
        if self == Level::Fast { ZSTD_FAST } else { ZSTD[self.index()] }
    }

    pub(crate) fn lz4(self) -> Lz4Level {
        match (self, LZ4[self.index()]) {
            (Level::Fast, _) => Lz4Level::Fast(LZ4_FAST),
            (_, level @ 3..) => Lz4Level::Hard(level),
            _ => Lz4Level::Fast(1),
        }
    }

    pub(crate) fn deflate(self) -> CompressionLvl {
        // All levels of the list exist.
        CompressionLvl::new(DEFLATE[self.index()]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_exists_in_every_library() {
        for level in (1..=9).map(Level::Of).chain([Level::Fast]) {
            assert!((zstd_safe::min_c_level()..=zstd_safe::max_c_level()).contains(&level.zstd()));
            assert!(CompressionLvl::new(DEFLATE[level.index()]).is_ok());
        }
        assert_eq!(Level::Of(2).lz4(), Lz4Level::Fast(1));
        assert_eq!(Level::Of(9).lz4(), Lz4Level::Hard(12));
        assert_eq!(Level::Of(200), Level::Of(200));
        assert_eq!(Level::Of(200).zstd(), 19);
    }

    #[test]
    fn a_block_of_lz4_becomes_one_that_its_header_can_say() {
        assert_eq!(Format::Lz4.fitting(1), 64 << 10);
        assert_eq!(Format::Lz4.fitting(65 << 10), 256 << 10);
        assert_eq!(Format::Lz4.fitting(1 << 30), 4 << 20);
        assert_eq!(Format::Zst.fitting(5000), 5000);
    }
}
