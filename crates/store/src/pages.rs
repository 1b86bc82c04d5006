//! Parquet page checksums, which the format library reads but does not write.
//!
//! A row group is encoded into memory; each page begins with a header of Thrift's compact protocol, into which
//! the CRC-32 of the page is put as field 4. Headers grow by that, and offsets with them; pages stay as they are.

use std::io::Write;

use bytes::Bytes;
use parquet::{
    arrow::arrow_writer::ArrowColumnWriter, column::writer::ColumnCloseResult, errors::ParquetError,
    file::writer::SerializedFileWriter,
};

/// Ends a row group: writes its columns, each page with its checksum.
pub(crate) fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: Vec<ArrowColumnWriter>,
) -> Result<(), ParquetError> {
    let schema = writer.schema_descr().root_schema_ptr();
    let mut plain = SerializedFileWriter::new(Vec::new(), schema, writer.properties().clone())?;
    let mut group = plain.next_row_group()?;
    let mut closed = Vec::with_capacity(columns.len());
    for column in columns {
        let chunk = column.close()?;
        closed.push(chunk.close().clone());
        chunk.append_to_row_group(&mut group)?;
    }
    let layout = group.close()?;
    let plain = plain.into_inner()?;
    let mut group = writer.next_row_group()?;
    for (column, close) in layout.columns().iter().zip(closed) {
        let (start, length) = column.byte_range();
        let chunk = usize::try_from(start).ok().zip(usize::try_from(length).ok());
        let chunk = chunk.and_then(|(start, length)| plain.get(start..)?.get(..length));
        let Summed { bytes, starts } = chunk.and_then(with_sums).ok_or_else(unreadable)?;
        let grown = bytes.len() as i64 - length as i64;
        let place = |old: i64| {
            let within = starts.iter().find(|(before, _)| *before as i64 + start as i64 == old);
            within.map(|(_, now)| *now as i64).ok_or_else(unreadable)
        };
        let metadata = column
            .clone()
            .into_builder()
            .set_total_compressed_size(column.compressed_size() + grown)
            .set_total_uncompressed_size(column.uncompressed_size() + grown)
            .set_data_page_offset(place(column.data_page_offset())?)
            .set_dictionary_page_offset(column.dictionary_page_offset().map(place).transpose()?)
            .build()?;
        // Places of single pages are not written, and would no longer be right.
        let close = ColumnCloseResult { bytes_written: bytes.len() as u64, metadata, offset_index: None, ..close };
        group.append_column(&Bytes::from(bytes), close)?;
    }
    group.close().map(|_| ())
}

fn unreadable() -> ParquetError {
    ParquetError::General("a page was not encoded as expected".to_owned())
}

/// A column of a row group whose pages have checksums.
struct Summed {
    bytes: Vec<u8>,
    /// Where each page began and where it begins now.
    starts: Vec<(usize, usize)>,
}

/// Puts a checksum into the header of every page of a column; None when it is not what is expected.
fn with_sums(chunk: &[u8]) -> Option<Summed> {
    let mut summed = Summed { bytes: Vec::with_capacity(chunk.len() + 256), starts: Vec::new() };
    let mut at = 0;
    while at < chunk.len() {
        let header = Header::read(chunk.get(at..)?)?;
        let page = chunk.get(at + header.length..)?.get(..header.page)?;
        summed.starts.push((at, summed.bytes.len()));
        summed.bytes.extend_from_slice(chunk.get(at..at + header.before)?);
        put_sum(&mut summed.bytes, crc32fast::hash(page));
        // A field holds the difference of its number from that of the one before, which is 4 now, and was 3.
        summed.bytes.push(header.next - 0x10);
        summed.bytes.extend_from_slice(chunk.get(at + header.before + 1..at + header.length)?);
        summed.bytes.extend_from_slice(page);
        at += header.length + header.page;
    }
    Some(summed)
}

/// Field 4, an i32, after field 3.
fn put_sum(into: &mut Vec<u8>, sum: u32) {
    into.push(0x15);
    // Zigzag: the sign goes to the lowest bit.
    let signed = sum as i32;
    let mut rest = ((signed << 1) ^ (signed >> 31)) as u32;
    while rest >= 0x80 {
        into.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    into.push(rest as u8);
}

/// Sizes of a page's header and of its page.
struct Header {
    /// Its bytes.
    length: usize,
    /// Its bytes up to the end of field 3.
    before: usize,
    /// The byte that begins the field after that.
    next: u8,
    /// Bytes of the page behind it.
    page: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Header> {
        let mut reader = Reader { bytes, at: 0 };
        // Type, size, size within the file: three numbers, one after the other.
        let mut page = 0;
        for _ in 0..3 {
            if reader.byte()? != 0x15 {
                return None;
            }
            let zigzag = reader.number()?;
            page = usize::try_from(zigzag >> 1).ok().filter(|_| zigzag & 1 == 0)?;
        }
        let before = reader.at;
        let next = *bytes.get(before)?;
        // A structure, at least two fields later: there is no checksum yet.
        if next & 0x0f != STRUCT || next >> 4 < 2 {
            return None;
        }
        reader.skip_fields(0)?;
        Some(Header { length: reader.at, before, next, page })
    }
}

/// Structures in structures that a header has, by far.
const DEPTH: u32 = 8;
/// The type of a structure.
const STRUCT: u8 = 12;

/// Reads Thrift's compact protocol.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// To the end of a structure.
    fn skip_fields(&mut self, depth: u32) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        loop {
            let field = self.byte()?;
            if field == 0 {
                return Some(());
            }
            if field >> 4 == 0 {
                self.number()?;
            }
            match field & 0x0f {
                // A boolean is in its type.
                1 | 2 => {}
                3 => self.at += 1,
                4..=6 => drop(self.number()?),
                7 => self.at += 8,
                8 => {
                    let length = usize::try_from(self.number()?).ok()?;
                    self.at = self.at.checked_add(length)?;
                }
                STRUCT => self.skip_fields(depth + 1)?,
                // Lists, sets and maps are in no header of a page.
                _ => return None,
            }
        }
    }
}
