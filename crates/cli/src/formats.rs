//! Formats by name.

use anyhow::bail;
use fenxi_formats::{Format, detect, formats};
use fenxi_model::near;

/// The format called `name`.
///
/// # Errors
/// When there is none, with names that are near.
pub fn named(name: &str) -> anyhow::Result<&'static Format> {
    match detect::format(name) {
        Some(format) => Ok(format),
        None => {
            let close = near(name, formats().map(|f| f.name));
            let hint = if close.is_empty() { String::new() } else { format!("; did you mean {}?", close.join(" or ")) };
            bail!("unknown format `{name}`{hint} (`fenxi formats` lists them)")
        }
    }
}
