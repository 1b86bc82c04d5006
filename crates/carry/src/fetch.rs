//! Data from a place is not trusted: it is bounded in bytes and in time before it takes memory or disk, and compared
//! with the place's list and a run's manifest.

use std::{
    io::{self, Read, Write},
    time::{Duration, Instant},
};

use crate::{CarryError, Place};

/// Bytes that are read at a time.
const AT_ONCE: usize = 64 << 10;

/// Timeouts of a place.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How long nothing may come, and nothing be taken.
    pub silence: Duration,
    /// How long an answer may take whatever its length.
    pub grace: Duration,
    /// Bytes that have to come in each second after that, on average.
    pub rate: u64,
}

impl Default for Patience {
    /// For a slow line: a store that takes longer than this is none that one can work with.
    fn default() -> Patience {
        Patience { silence: Duration::from_secs(120), grace: Duration::from_secs(60), rate: 8 << 10 }
    }
}

/// Measures how fast an answer comes.
#[derive(Debug)]
pub(crate) struct Pace {
    patience: Patience,
    begun: Instant,
    bytes: u64,
}

impl Pace {
    pub(crate) fn new(patience: Patience) -> Pace {
        Pace { patience, begun: Instant::now(), bytes: 0 }
    }

    /// Counts bytes that came; an error where they take too long.
    fn add(&mut self, bytes: usize) -> io::Result<()> {
        self.bytes += bytes as u64;
        let Patience { grace, rate, .. } = self.patience;
        let took = self.begun.elapsed();
        if took <= grace + Duration::from_secs(self.bytes / rate.max(1)) {
            return Ok(());
        }
        let (bytes, seconds) = (self.bytes, took.as_secs_f64());
        let why = format!("only {bytes} bytes came in {seconds:.0} s, and at least {rate} a second have to");
        Err(io::Error::new(io::ErrorKind::TimedOut, why))
    }
}

/// Body of a file that is fetched.
pub struct Body {
    /// Its bytes.
    pub reader: Box<dyn Read>,
    /// How many there are, where the place lists it.
    pub bytes: Option<u64>,
}

/// How long a file may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    /// So long exactly: list and manifest say so.
    Listed(u64),
    /// So long at most.
    AtMost(u64),
}

impl Size {
    fn most(self) -> u64 {
        let (Size::Listed(bytes) | Size::AtMost(bytes)) = self;
        bytes
    }

    /// Why a length is wrong; None where it is right.
    fn wrong(self, bytes: u64) -> Option<String> {
        match self {
            Size::Listed(listed) if listed != bytes => {
                Some(format!("it has {bytes} bytes, and {listed} by the place's listing"))
            }
            Size::AtMost(most) if bytes > most => Some(format!("it has {bytes} bytes, and {most} are the most")),
            _ => None,
        }
    }
}

/// Why the reading of an answer ended early.
pub(crate) enum Stopped {
    /// It is longer than it may be.
    Long,
    /// It could not be read, or came too slowly.
    Read(io::Error),
    /// It could not be kept.
    Write(io::Error),
}

/// Copies at most `most` bytes at a bearable pace; how many there were.
pub(crate) fn copy(from: &mut dyn Read, to: &mut dyn Write, most: u64, pace: &mut Pace) -> Result<u64, Stopped> {
    let mut buffer = vec![0; AT_ONCE];
    let mut copied = 0;
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Stopped::Read(e)),
        };
        pace.add(n).map_err(Stopped::Read)?;
        copied += n as u64;
        if copied > most {
            return Err(Stopped::Long);
        }
        to.write_all(&buffer[..n]).map_err(Stopped::Write)?;
    }
}

/// Gets a file of a known or bounded length; None when it is not there.
pub(crate) fn receive(
    place: &dyn Place,
    name: &str,
    size: Size,
    to: &mut dyn Write,
) -> Result<Option<u64>, CarryError> {
    let lie = |why: String| CarryError::Lie { place: place.name(), name: name.to_owned(), why };
    let Some(mut body) = place.open(name)? else { return Ok(None) };
    if let Some(why) = body.bytes.and_then(|bytes| size.wrong(bytes)) {
        return Err(lie(why));
    }
    let mut pace = Pace::new(place.patience());
    match copy(&mut body.reader, to, size.most(), &mut pace) {
        Ok(bytes) => size.wrong(bytes).map_or(Ok(Some(bytes)), |why| Err(lie(why))),
        Err(Stopped::Long) => Err(lie(format!("more than {} bytes come, which are the most", size.most()))),
        Err(Stopped::Read(e)) => Err(lie(format!("it does not come whole: {e}"))),
        Err(Stopped::Write(e)) => Err(e.into()),
    }
}

/// Gets a file of at most so many bytes into memory; None when it is not there.
pub(crate) fn small(place: &dyn Place, name: &str, most: u64) -> Result<Option<Vec<u8>>, CarryError> {
    let mut bytes = Vec::new();
    Ok(receive(place, name, Size::AtMost(most), &mut bytes)?.map(|_| bytes))
}
