//! An import, in its caller's thread: probe → plan → read → write.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use fenxi_model::RunId;

use crate::{
    dedup::{self, HashLimits},
    error::{ImportError, says},
    outcome::Outcome,
    plan::Plan,
    probe::Probing,
    progress::{Progress, SharedProgress, Watch},
    read::Reader,
    read_plan::ReadPlan,
    write::Writer,
};

/// Inputs that an error names.
const MOST_NAMED: usize = 5;

/// Imports all sources of `plan` as one run. `watch` gets the progress, often; it gives false
/// to end the import, of which nothing is kept then.
///
/// # Errors
/// See [`ImportError`]. A source that is not recognised among others is kept and noted.
pub fn import(plan: &Plan, watch: &mut dyn FnMut(Progress<'_>) -> bool) -> Result<Outcome, ImportError> {
    let shared = Arc::new(SharedProgress::new(plan.most_bytes));
    let duplicates = duplicates(plan, watch);
    let probing = Probing::new(plan, &duplicates, &shared);
    let mut writer = Writer::begin(plan, &shared)?;
    let mut reader = Reader::new(plan, &shared, &mut writer, watch);
    let read = std::thread::scope(|scope| {
        probing.begin(scope);
        let settled = reader.read_settled(&probing);
        // Threads that probe are waited for, whatever became of reading.
        let probed = probing.finish();
        settled.map(|()| ReadPlan::new(&plan.sources, plan.host.is_some(), probed))
    });
    let read = read.and_then(|read_plan| reader.read_rest(&read_plan, &duplicates));
    let rows = reader.rows();
    let checked = read.and_then(|()| Ok(writer.end_pack()?)).and_then(|()| check(plan, &shared, &writer));
    match checked.and_then(|()| already(plan, &writer)) {
        Ok(already) if already.is_empty() => {
            watch(Progress { sealing: true, ..shared.at("", rows) });
            let (run, inputs) = writer.seal()?;
            Ok(Outcome { run: Some(run), already, inputs })
        }
        already => {
            let inputs = writer.discard()?;
            Ok(Outcome { run: None, already: already?, inputs })
        }
    }
}

/// Inputs whose content another one begins with, by their places.
fn duplicates(plan: &Plan, watch: &mut Watch<'_>) -> BTreeMap<usize, usize> {
    let now = Progress { name: plan.sources.first().map_or("", |source| &source.name), ..Progress::default() };
    let limits = HashLimits { most: plan.most_bytes.unwrap_or(u64::MAX), go_on: &mut || watch(now) };
    dedup::duplicates(&plan.sources, limits)
}

/// Whether what was read is worth a run.
fn check(plan: &Plan, shared: &SharedProgress, writer: &Writer<'_>) -> Result<(), ImportError> {
    let inputs = writer.inputs();
    if let Some(most) = shared.exceeded() {
        return Err(ImportError::TooLong(most));
    }
    if shared.is_cancelled() {
        let interrupted = std::io::Error::new(std::io::ErrorKind::Interrupted, "interrupted; nothing was imported");
        return Err(ImportError::Store(interrupted.into()));
    }
    if let Some(format) = &plan.format
        && let Some((name, foreign)) = inputs.iter().find_map(|i| Some((i.name.clone(), i.foreign?)))
    {
        return Err(ImportError::Forced { name, foreign, format: format.name() });
    }
    if inputs.iter().all(|i| i.format.is_none()) {
        let no_text: Option<Vec<_>> = inputs.iter().map(|i| Some(says(&i.name, i.foreign.as_ref()?))).collect();
        if let Some(mut lines) = no_text {
            lines.truncate(MOST_NAMED);
            return Err(ImportError::NoText(lines.join("\n")));
        }
        let names: Vec<_> = inputs.iter().take(MOST_NAMED).map(|i| i.name.as_str()).collect();
        return Err(ImportError::Unknown { names: names.join(", ") });
    }
    // A header without figures, quoted or cut, is no measurement: a run of it would have nothing.
    if inputs.iter().all(|input| input.unread().is_some()) {
        let empty = inputs.iter().filter_map(|input| Some((&input.name, input.format?))).take(MOST_NAMED);
        let lines = empty.map(|(name, format)| format!("{name}: it looks like {format}, and has no values of it"));
        return Err(ImportError::Empty(lines.collect::<Vec<_>>().join("\n")));
    }
    let count = inputs.iter().map(|i| i.tally.notes + i.tally.assumptions).sum();
    if plan.strict && count > 0 {
        return Err(ImportError::Strict { count, first: writer.first_notes() });
    }
    Ok(())
}

/// The runs that already have every one of these inputs; none when that does not matter.
fn already(plan: &Plan, writer: &Writer<'_>) -> Result<Vec<RunId>, ImportError> {
    if plan.force {
        return Ok(Vec::new());
    }
    let digests: BTreeSet<&str> = writer.digests();
    let known = dedup::known_inputs(&plan.store, &digests)?;
    let runs: Option<BTreeSet<&RunId>> = digests.iter().map(|digest| known.get(*digest)).collect();
    Ok(runs.unwrap_or_default().into_iter().cloned().collect())
}
