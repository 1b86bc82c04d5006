//! A format around the blocks that encoders make.

use crate::{Output, job::Job};

/// A format as it is written: everything around and between the blocks that encoders made.
pub(crate) trait Container: Send + 'static {
    /// Writes the bytes before the first block.
    fn begin(&mut self, _out: &mut Output) -> std::io::Result<()> {
        Ok(())
    }
    /// A block that is encoded, and still has its input.
    fn block(&mut self, job: &Job, out: &mut Output) -> std::io::Result<()>;
    /// Writes the bytes after the last.
    fn end(&mut self, out: &mut Output) -> std::io::Result<()>;
}
