//! Makes a statement that breaks something shorter, as long as it breaks the same thing.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::siege::{Asked, Broken, Setup, breaks};

/// The longest that is spent on one statement.
const PATIENCE: Duration = Duration::from_secs(120);

/// The shortest of `suspects` (the latest last) that breaks `what` alone; None when none does alone.
///
/// # Errors
/// When no server comes up to try it on.
pub fn shortest(setup: &Setup, suspects: &[Asked], what: &str) -> Result<Option<(Asked, Broken)>> {
    let begun = Instant::now();
    for suspect in suspects.iter().rev() {
        if let Some(seen) = breaks(setup, suspect, what)? {
            return Ok(Some(shorten(setup, suspect.clone(), seen, begun)?));
        }
        if begun.elapsed() > PATIENCE {
            break;
        }
    }
    Ok(None)
}

/// Takes parts out, halves first, then less and less.
fn shorten(setup: &Setup, mut asked: Asked, mut seen: Broken, begun: Instant) -> Result<(Asked, Broken)> {
    let mut part = asked.statement.chars().count() / 2;
    while part > 0 {
        let mut at = 0;
        while at < asked.statement.chars().count() && begun.elapsed() < PATIENCE {
            let letters = asked.statement.chars().enumerate();
            let shorter: String = letters.filter(|(i, _)| *i < at || *i >= at + part).map(|(_, c)| c).collect();
            let candidate = Asked { statement: shorter, ..asked.clone() };
            match breaks(setup, &candidate, seen.what)? {
                Some(broken) => (asked, seen) = (candidate, broken),
                None => at += part,
            }
        }
        part /= 2;
    }
    Ok((asked, seen))
}
