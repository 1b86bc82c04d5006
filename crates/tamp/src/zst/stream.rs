//! Frames that are too large to be gathered, such as everything that `zstd` makes of a large file: decoded in order,
//! while other threads write what came before.

use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, get_error_name};

use super::header::Header;
use crate::{
    Error,
    frame::{Bounds, InOrder},
    input::Reader,
    job::Job,
};

/// Bytes that are handed on at a time.
const CHUNK: usize = 1 << 20;

/// The largest window that the library can have.
const WINDOW_MOST: u64 = 1 << 31;

/// A frame on its way.
pub(crate) struct Serial {
    context: DCtx<'static>,
    at: u64,
    /// The frame's beginning, as far as it was taken from the reader already.
    begun: Vec<u8>,
    used: usize,
    over: bool,
}

impl Serial {
    /// Of a frame at this offset whose beginning was taken already.
    pub fn new(at: u64, begun: Vec<u8>, header: Header, bounds: Bounds) -> Result<Serial, Error> {
        if header.window > WINDOW_MOST {
            return Err(Error::damaged(at, "it asks for a larger window than there is"));
        }
        if header.window > bounds.window {
            return Err(Error::Window { at, needs: header.window });
        }
        let mut context = DCtx::try_create().ok_or_else(|| Error::Encoder("no memory".to_owned()))?;
        let wanted = header.window.max(1 << 10).next_power_of_two().ilog2();
        let set = context
            .reset(ResetDirective::SessionAndParameters)
            .and_then(|_| context.set_parameter(DParameter::WindowLogMax(wanted.clamp(10, 31))));
        set.map_err(|code| Error::damaged(at, get_error_name(code)))?;
        Ok(Serial { context, at, begun, used: 0, over: false })
    }
}

impl InOrder for Serial {
    fn next(&mut self, reader: &mut Reader, job: &mut Job) -> Result<bool, Error> {
        if self.over {
            return Ok(false);
        }
        job.reset(reader.offset());
        let mut filled = 0;
        while filled < CHUNK && !self.over {
            let early = self.used < self.begun.len();
            let input = if early { &self.begun[self.used..] } else { reader.peek(1)? };
            let ended = input.is_empty();
            let mut from = InBuffer::around(input);
            let mut to = OutBuffer::around_pos(job.room_of(CHUNK), filled);
            let hint = self
                .context
                .decompress_stream(&mut to, &mut from)
                .map_err(|code| Error::damaged(self.at, get_error_name(code)))?;
            // Without input there may still be contents that were decoded already.
            let stuck = ended && hint != 0 && to.pos() == filled;
            filled = to.pos();
            let used = from.pos();
            if early {
                self.used += used
            } else {
                reader.consume(used)
            }
            self.over = hint == 0;
            if stuck {
                return self.cut_off(reader, job, filled);
            }
        }
        job.output_len = filled;
        Ok(true)
    }
}

impl Serial {
    /// Hands on contents that were decoded before the input ended; then it is an error.
    fn cut_off(&mut self, reader: &Reader, job: &mut Job, filled: usize) -> Result<bool, Error> {
        if filled == 0 {
            return Err(Error::Truncated { at: reader.offset(), what: "a frame is not whole" });
        }
        job.output_len = filled;
        Ok(true)
    }
}
