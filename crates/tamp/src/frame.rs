//! A frame or member of compressed data: what it may need, and what it turns out to be.

use crate::{Error, input::Reader, job::Job};

/// Bounds of one frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes of contents up to which a frame is gathered for a worker: a larger one may be all there is, and is begun
    /// to be written sooner when it is decoded in order.
    pub frame: u64,
    /// The same for frames of which more will follow.
    pub one_of_many: u64,
    /// Bytes of a window.
    pub window: u64,
}

/// A frame or member that was begun; `S` decodes one in order.
pub(crate) enum Begun<S> {
    /// The job holds it whole.
    Gathered,
    /// It must be decoded in order.
    Serial(Box<S>),
    /// It was passed over; so many bytes of contents.
    Passed(u64),
}

/// A frame or member that is decoded in order.
pub(crate) trait InOrder {
    /// The next part of its contents, into the job; `false` after the last.
    fn next(&mut self, reader: &mut Reader, job: &mut Job) -> Result<bool, Error>;
}
