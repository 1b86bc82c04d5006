//! One frame of a file that may be damaged.

use crate::{
    Error, Format,
    engine::Worker,
    frame::{Begun, InOrder},
    gz,
    input::Reader,
    zst,
};

use super::{
    Recovery,
    window::{HEAD, begins, begun},
};

/// The content at an offset.
pub(super) enum Next {
    /// Something whole, or reported completely.
    Good {
        /// Where it ends.
        end: u64,
        /// In which format.
        found: Option<Format>,
    },
    /// Damage; bytes of contents that were to be here, if that can be read.
    Bad { format: Option<Format>, content: Option<u64> },
}

impl Recovery<'_> {
    /// Decodes what begins at `at`, and writes it.
    pub(super) fn next(&mut self, at: u64, format: Option<Format>) -> Result<Next, Error> {
        let head = self.window.at(at, HEAD)?.to_vec();
        if zst::is_skippable(&head) {
            let end = zst::skippable_len(&head).map(|len| at + len).filter(|end| *end <= self.len);
            return Ok(end.map_or(Next::Bad { format, content: None }, |end| Next::Good { end, found: None }));
        }
        match begun(&head, format) {
            Some(Format::Zst) => self.zstd(at, &head),
            Some(Format::Gz) => self.gzip(at),
            Some(Format::Lz4) => self.lz4(at),
            None => Ok(Next::Bad { format, content: None }),
        }
    }

    /// Decodes a gathered zstd frame into the job; its end and the length of its contents.
    pub(super) fn frame(&mut self, at: u64) -> Result<Option<(u64, u64)>, Error> {
        let (mut reader, bounds) = (self.reader(at)?, self.listed_bounds());
        match zst::Stream::default().begin(&mut reader, &mut self.job, bounds, 0) {
            Ok(Begun::Gathered) => {}
            Err(error) if !error.is_of_a_frame() => return Err(error),
            _ => return Ok(None),
        }
        if self.decoder.work(&mut self.job).is_err() {
            return Ok(None);
        }
        Ok(Some((at + reader.offset(), self.job.output_len as u64)))
    }

    fn zstd(&mut self, at: u64, head: &[u8]) -> Result<Next, Error> {
        let content = zst::header(head).and_then(|header| header.content);
        let mut reader = self.reader(at)?;
        let begun = zst::Stream::default().begin(&mut reader, &mut self.job, self.bounds, 0);
        self.begun(at, reader, begun, Format::Zst, content)
    }

    fn gzip(&mut self, at: u64) -> Result<Next, Error> {
        let mut reader = self.reader(at)?;
        let begun = gz::Stream::default().begin(&mut reader, &mut self.job, self.bounds, 0);
        let content = matches!(begun, Ok(Begun::Gathered)).then_some(self.job.room as u64);
        self.begun(at, reader, begun, Format::Gz, content)
    }

    /// Decodes a frame or member at `at`, where the reader began, that is to have so many bytes of contents.
    fn begun<S: InOrder>(
        &mut self,
        at: u64,
        mut reader: Reader,
        begun: Result<Begun<S>, Error>,
        format: Format,
        content: Option<u64>,
    ) -> Result<Next, Error> {
        let format = Some(format);
        let mut frame = match begun {
            Ok(Begun::Serial(frame)) => frame,
            Ok(_) => {
                let end = at + reader.offset();
                if self.decoder.work(&mut self.job).is_err() {
                    return self.damaged(at, end, format, content);
                }
                self.write()?;
                return Ok(Next::Good { end, found: format });
            }
            Err(error) if error.is_of_a_frame() => return Ok(Next::Bad { format, content }),
            Err(error) => return Err(error),
        };
        let mut written = 0;
        loop {
            match frame.next(&mut reader, &mut self.job) {
                Ok(true) => {
                    written += self.job.output_len as u64;
                    self.write()?;
                    self.step(at + reader.offset())?;
                }
                Ok(false) => return Ok(Next::Good { end: at + reader.offset(), found: format }),
                Err(_) => {
                    let left = content.map(|content| content.saturating_sub(written));
                    return self.broken(at, at + reader.offset(), format, left);
                }
            }
        }
    }

    /// A frame is damaged whose end is believed if something begins there.
    fn damaged(&mut self, at: u64, end: u64, format: Option<Format>, content: Option<u64>) -> Result<Next, Error> {
        let after = self.window.at(end, HEAD)?;
        if !after.is_empty() && !begins(after, format) && !zst::is_skippable(after) {
            return Ok(Next::Bad { format, content });
        }
        self.lose(at, end, content)?;
        Ok(Next::Good { end, found: format })
    }

    /// A frame broke in the middle, after its beginning was written.
    fn broken(&mut self, at: u64, from: u64, format: Option<Format>, content: Option<u64>) -> Result<Next, Error> {
        let to = self.find(at + 1, format)?;
        let to = if to < from { self.find(from, format)? } else { to };
        self.lose(from, to, content)?;
        Ok(Next::Good { end: to, found: format })
    }
}
