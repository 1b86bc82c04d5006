//! Decompression, in whichever thread reads an input: formats are detected by magic bytes, never by file name.

use std::io::{self, BufReader, Read};

/// How an input is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// How many first bytes identify the packing.
const MAGIC: usize = 6;

impl Packing {
    /// Finds how `reader` is packed, and gives it back whole.
    pub(crate) fn recognise<R: Read + Send>(mut reader: R) -> io::Result<(Packing, impl Read + Send + use<R>)> {
        let mut magic = [0u8; MAGIC];
        let n = read_full(&mut reader, &mut magic)?;
        Ok((Packing::from_magic(&magic[..n]), io::Cursor::new(magic).take(n as u64).chain(reader)))
    }

    /// The packing of an input that begins with `magic`.
    pub(crate) fn from_magic(magic: &[u8]) -> Packing {
        match magic {
            [0x1f, 0x8b, 0x08, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Packing::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Packing::Xz,
            _ => Packing::Plain,
        }
    }

    /// Unpacks `reader`, of as many members or frames as there are.
    pub(crate) fn unpack<'a>(self, reader: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Packing::Plain => Box::new(reader),
            Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(1 << 16, reader))),
            Packing::Zstd => Box::new(zstd::Decoder::new(reader)?),
            Packing::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(BufReader::with_capacity(1 << 16, reader))),
            Packing::Xz => Box::new(liblzma::read::XzDecoder::new_multi_decoder(reader)),
        })
    }
}

/// Reads up to `into.len()` bytes; fewer only at the end.
pub(crate) fn read_full(reader: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    match read_until_error(reader, into) {
        (n, None) => Ok(n),
        (_, Some(error)) => Err(error),
    }
}

/// Reads up to `into.len()` bytes; fewer at the end, or before an error, which is given too.
pub(crate) fn read_until_error(reader: &mut impl Read, into: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut n = 0;
    while n < into.len() {
        match reader.read(&mut into[n..]) {
            Ok(0) => break,
            Ok(more) => n += more,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return (n, Some(e)),
        }
    }
    (n, None)
}

/// Unpacks `reader` whatever it is packed with.
pub(crate) fn unpacked<'a>(reader: impl Read + Send + 'a) -> io::Result<(Packing, Box<dyn Read + Send + 'a>)> {
    let (packing, reader) = Packing::recognise(reader)?;
    Ok((packing, packing.unpack(reader)?))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn every_packing_is_recognised_and_unpacked() {
        let text = b"some text, twice. some text, twice.".repeat(50);
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&text).unwrap();
        let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bz.write_all(&text).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&text).unwrap();
        let packed = [
            (Packing::Plain, text.clone()),
            (Packing::Gzip, gz.finish().unwrap()),
            (Packing::Bzip2, bz.finish().unwrap()),
            (Packing::Xz, xz.finish().unwrap()),
            (Packing::Zstd, zstd::encode_all(&text[..], 1).unwrap()),
        ];
        for (packing, bytes) in packed {
            // Two members, one after the other, are the text twice.
            let twice = bytes.repeat(2);
            let (found, mut reader) = unpacked(&twice[..]).unwrap();
            let mut out = Vec::new();
            reader.read_to_end(&mut out).unwrap();
            assert_eq!((found, out == text.repeat(2)), (packing, true));
            // A cut one is an error, after what could be read.
            if packing != Packing::Plain {
                let (_, mut reader) = unpacked(&bytes[..bytes.len() - 5]).unwrap();
                assert!(reader.read_to_end(&mut Vec::new()).is_err(), "{packing:?}");
            }
        }
    }
}
