//! Sources to sample, by name.

use std::sync::Arc;

use fenxi_source::Source;

/// The sources that the list names: all named ones, or the default ones with `+more` and `-less`.
pub fn choose(list: &[String]) -> anyhow::Result<Vec<Arc<dyn Source>>> {
    fenxi_record::choose(list).map_err(anyhow::Error::msg)
}

/// The sources of these names, which exist.
pub fn named(names: &[&str]) -> Vec<Arc<dyn Source>> {
    let wanted = fenxi_record::sources().filter(|source| names.contains(&source.spec().name));
    wanted.map(|source| Arc::new(source) as Arc<dyn Source>).collect()
}
