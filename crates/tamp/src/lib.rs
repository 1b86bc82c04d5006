//! Compression in standard formats with every core: zstd, LZ4 and gzip, block by block.
