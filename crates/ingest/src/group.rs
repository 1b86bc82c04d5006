//! Short inputs that are neighbours, read together into the same rows; by the threads that probe them, or read them ahead.

use std::{io::Read, sync::Arc};

use fenxi_formats::{Gathered, HEAD_BYTES, Hints, Input, Out, Tally};
use fenxi_model::Rows;
use fs_err as fs;

use crate::{
    keep::SHORT,
    parse::Recognised,
    source::{Content, Source},
    unpack::Packing,
};

// Short inputs are probed as a whole.
const _: () = assert!(SHORT <= HEAD_BYTES);

/// Neighbours that are read into the same rows.
pub(crate) const NEIGHBOURS: usize = 32;

/// A short input that was read.
pub(crate) struct SmallFile {
    pub(crate) content: Arc<[u8]>,
    pub(crate) blake3: String,
    pub(crate) recognised: Recognised,
    pub(crate) tally: Tally,
}

/// Neighbours that were read: what became of each, None where the import is to read it itself, and the rows of all.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) inputs: Vec<Option<SmallFile>>,
    pub(crate) rows: Vec<(Rows, bool)>,
    /// Whether it was read without a host for rows whose input names none.
    pub(crate) lacks_host: bool,
}

impl Group {
    /// Takes the rows that were not handed on yet.
    pub(crate) fn end(&mut self, Gathered { rows, boot }: Gathered) {
        self.rows.extend([(rows, false), (boot, true)].into_iter().filter(|(rows, _)| !rows.is_empty()));
    }

    /// Whether all of it can be written before other inputs were probed: each input was read, is of a shipped format, and
    /// names its host or has one, unless there are `several` hosts.
    pub(crate) fn is_settled(&self, several: bool) -> bool {
        let is_shipped =
            |small: &SmallFile| small.recognised.format.as_ref().is_none_or(|format| format.owns().next().is_none());
        (several || !self.lacks_host) && self.inputs.iter().all(|input| input.as_ref().is_some_and(is_shipped))
    }

    /// Buffer of the next group, with capacity for as many rows as this one has.
    pub(crate) fn next_gathered(&self) -> Gathered {
        let mut next = Gathered::default();
        for (rows, since_boot) in &self.rows {
            *(if *since_boot { &mut next.boot } else { &mut next.rows }) = rows.like();
        }
        next
    }

    /// Bytes of the inputs that were read.
    pub(crate) fn bytes(&self) -> usize {
        self.inputs.iter().flatten().map(|small| small.content.len()).sum()
    }
}

/// How an input is to be read.
pub(crate) struct ReadAs {
    pub(crate) recognised: Recognised,
    pub(crate) hints: Hints,
    /// The note on the host, where the content names none.
    pub(crate) assumed_host: Option<String>,
}

/// The bytes of a short input, and their BLAKE3 where that is known.
pub(crate) struct SmallContent {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) digest: Option<blake3::Hash>,
}

/// Reads a short input, its rows behind those `gathered` before.
pub(crate) fn read_small(
    ReadAs { recognised, hints, assumed_host }: ReadAs,
    (input, content): (&mut Input<'_>, SmallContent),
    gathered: Gathered,
    handed_on: &mut Vec<(Rows, bool)>,
) -> (SmallFile, Gathered) {
    let mut out = Out::onto(gathered, recognised.source(), hints, |rows: &mut Rows, since_boot| {
        handed_on.push((rows.take(), since_boot));
    });
    recognised.read_into(input, &mut out, assumed_host, |_, _| {});
    let (tally, gathered) = out.leave_open();
    let SmallContent { bytes: content, digest } = content;
    let blake3 = digest.unwrap_or_else(|| blake3::hash(&content)).to_hex().to_string();
    (SmallFile { content, blake3, recognised, tally }, gathered)
}

/// All of a plain input that is shorter than [`SHORT`], and so of its [`HEAD_BYTES`].
pub(crate) fn content_of(source: &Source) -> Option<Arc<[u8]>> {
    let content: Arc<[u8]> = match &source.content {
        Content::Held(bytes) => Arc::clone(bytes),
        Content::File(path) | Content::Member { path, .. } => {
            let mut bytes = Vec::new();
            let file = fs::File::open(path).ok()?;
            let is_short = file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() < SHORT as u64);
            (if is_short { file.take(SHORT as u64).read_to_end(&mut bytes) } else { return None }).ok()?;
            bytes.into()
        }
        Content::Part { .. } => {
            let mut bytes = Vec::new();
            source.content.open().ok()?.take(SHORT as u64).read_to_end(&mut bytes).ok()?;
            bytes.into()
        }
        Content::Stdin(_) => return None,
    };
    (content.len() < SHORT && Packing::from_magic(&content) == Packing::Plain).then_some(content)
}
