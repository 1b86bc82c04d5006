//! Binary files that only the tool which wrote them reads for sure, as their form changes with its version: the daily files of sysstat
//! (`/var/log/sysstat/sa27`) and recordings of perf (`perf.data`). The tool is asked where it is installed.

use std::{
    io::{ErrorKind, Read},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, bail};
use fenxi_ingest::{Content, Source};
use fs_err::File;

/// A kind of file, and the tool that reads it.
struct Kind {
    /// How such files begin, on machines of either byte order.
    magic: &'static [&'static [u8]],
    what: &'static str,
    tool: &'static str,
    /// The arguments before the file's name, and behind it.
    arguments: (&'static [&'static str], &'static [&'static str]),
    /// Whether it is an error that the tool is not here; else the file is kept as it is, and a note says what prints it.
    is_needed: bool,
}

const KINDS: &[Kind] = &[
    Kind {
        magic: &[b"\x96\xd5", b"\xd5\x96"],
        what: "a binary file of sysstat",
        tool: "sadf",
        arguments: (&["-j"], &["--", "-A"]),
        is_needed: true,
    },
    Kind {
        magic: &[b"PERFILE2", b"2ELIFREP"],
        what: "a recording of perf",
        tool: "perf",
        // Whose file it is does not matter; symbols of other machines are not looked for.
        arguments: (&["script", "--force", "-i"], &[]),
        is_needed: false,
    },
];

/// Bytes that are read of what a tool prints: it is held in memory.
const MOST_BYTES: u64 = 1 << 30;

/// Output of the tool that reads the file at `path`, as an input; None where it is of no such kind.
///
/// # Errors
/// When the tool is not here, or cannot read it, or prints more than is held.
pub fn read(path: &Path) -> anyhow::Result<Option<Vec<Source>>> {
    let Some(kind) = kind_of(path) else { return Ok(None) };
    let (what, tool) = (kind.what, kind.tool);
    let (before, behind) = kind.arguments;
    let line = [&[tool], before, &["FILE"], behind].concat().join(" ");
    let mut command = Command::new(tool);
    command.args(before).arg(path).args(behind).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound && kind.is_needed => bail!(
            "it is {what}, which only its `{tool}` reads, and that is not installed here; \
             import what `{line}` prints where it is"
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        child => child.context(tool)?,
    };
    // Complaints are read beside it: a tool whose pipe is full waits.
    let complaints = child.stderr.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.read_to_end(&mut text);
            text
        })
    });
    let mut printed = Vec::new();
    if let Some(pipe) = child.stdout.take() {
        pipe.take(MOST_BYTES + 1).read_to_end(&mut printed).context(tool)?;
    }
    let status = child.wait().context(tool)?;
    let complaints = complaints.and_then(|thread| thread.join().ok()).unwrap_or_default();
    if printed.len() as u64 > MOST_BYTES {
        bail!("it is {what}, of which `{line}` prints more than 1 GiB; import a part of what it prints");
    }
    if !status.success() {
        bail!("it is {what}, and {tool} cannot read it: {}", String::from_utf8_lossy(&complaints).trim());
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Some(vec![Source { name, content: Content::Held(printed.into()), host: None, modified: None }]))
}

fn kind_of(path: &Path) -> Option<&'static Kind> {
    if !path.is_file() {
        return None;
    }
    let mut begin = Vec::new();
    File::open(path).ok()?.take(8).read_to_end(&mut begin).ok()?;
    KINDS.iter().find(|kind| kind.magic.iter().any(|magic| begin.starts_with(magic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_tool_are_read_by_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sa27");
        fs_err::write(&path, "12:00:00 CPU %user").unwrap();
        assert!(read(&path).unwrap().is_none() && read(dir.path()).unwrap().is_none());
        // Nothing but its first bytes: sadf refuses it, or is not here; in no case is it imported.
        fs_err::write(&path, [0x96, 0xd5, 0, 0]).unwrap();
        let refused = read(&path).unwrap_err().to_string();
        assert!(refused.starts_with("it is a binary file of sysstat"), "{refused}");
        // Where perf is not here the file is kept, and a note says what prints it.
        fs_err::write(&path, b"PERFILE2\0\0\0\0").unwrap();
        match read(&path) {
            Err(refused) => assert!(refused.to_string().starts_with("it is a recording of perf"), "{refused}"),
            Ok(read) => assert!(read.is_none()),
        }
    }
}
