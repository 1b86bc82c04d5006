//! A block on its way through the engine, in either direction.

use crate::{Format, engine, input::Piece};

/// A block with the buffers that it needs. Buffers only grow, so that they are cleared once and then used again.
#[derive(Debug, Default)]
pub(crate) struct Job {
    /// Task, for decompression.
    pub task: Task,
    /// Offset in the input, for messages.
    pub at: u64,
    /// Offset in the contents, where that is known.
    pub position: Option<u64>,
    /// Read by the worker, not by the source.
    pub piece: Option<Piece>,
    /// Input: compressed, or to be compressed.
    pub input: Vec<u8>,
    /// Bytes of `input` that count; the buffer may be longer.
    pub input_len: usize,
    output: Vec<u8>,
    /// Bytes of the output that count.
    pub output_len: usize,
    /// Bytes that the output will have at most.
    pub room: usize,
    /// Check by the sink after this block.
    pub check: Check,
}

/// A worker's task with the input of a block.
#[derive(Clone, Debug, Default)]
pub(crate) enum Task {
    /// Nothing: the source has made the output already.
    #[default]
    Ready,
    /// A whole frame of zstd; the size of its contents if the header has it.
    Zstd { content: Option<u64> },
    /// A block of LZ4, stored or compressed, without its checksum, which is here.
    Lz4 { stored: bool, sum: Option<u32> },
    /// A whole member of gzip whose compressed data begins at `data`.
    Gzip { data: usize },
}

impl Task {
    /// The format of the input.
    pub fn format(&self) -> Option<Format> {
        match self {
            Task::Ready => None,
            Task::Zstd { .. } => Some(Format::Zst),
            Task::Lz4 { .. } => Some(Format::Lz4),
            Task::Gzip { .. } => Some(Format::Gz),
        }
    }
}

/// A check over several blocks, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Check {
    /// A frame begins with this block.
    pub opens: bool,
    /// This block belongs to a frame whose contents have a checksum (XXH32).
    pub summed: bool,
    /// The frame ends with this block, and declared this of its contents.
    pub closes: Option<Promise>,
}

/// Length and checksum that a frame declares of its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Promise {
    pub len: Option<u64>,
    pub sum: Option<u32>,
}

impl Job {
    /// Makes it new, keeping the buffers and what is in them.
    pub fn reset(&mut self, at: u64) {
        self.task = Task::Ready;
        self.at = at;
        self.position = None;
        self.piece = None;
        self.input_len = 0;
        self.output_len = 0;
        self.room = 0;
        self.check = Check::default();
    }

    /// The input's buffer with `n` bytes or more.
    pub fn input_of(&mut self, n: usize) -> &mut [u8] {
        grow(&mut self.input, n);
        &mut self.input
    }

    /// Input, and a buffer for `n` bytes of output.
    pub fn sides(&mut self, n: usize) -> (&[u8], &mut [u8]) {
        grow(&mut self.output, n);
        (&self.input[..self.input_len], &mut self.output[..n])
    }

    /// Room for `n` bytes that go out.
    pub fn room_of(&mut self, n: usize) -> &mut [u8] {
        self.sides(n).1
    }

    /// Output.
    pub fn output(&self) -> &[u8] {
        &self.output[..self.output_len]
    }
}

fn grow(buffer: &mut Vec<u8>, n: usize) {
    if buffer.len() < n {
        buffer.resize(n, 0);
    }
}

impl engine::Job for Job {
    fn bytes(&self) -> u64 {
        (self.input_len + self.room.max(self.output_len)) as u64
    }

    fn capacity(&self) -> u64 {
        (self.input.capacity() + self.output.capacity()) as u64
    }
}
