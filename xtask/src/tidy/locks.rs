//! Locked packages are pinned by checksum, and come from their declared source: otherwise a lock file is a wish.

use anyhow::Result;
use serde_json::Value;

use crate::repository::Repository;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
const NPM: &str = "https://registry.npmjs.org/";

/// Complains about crates and npm packages without a checksum or from another source, and about ranges in place of versions.
pub fn check(repository: &Repository) -> Result<Vec<String>> {
    let mut complaints = crates(&repository.read("Cargo.lock")?.parse()?);
    complaints.extend(npm(&serde_json::from_str(&repository.read("web/package-lock.json")?)?));
    complaints.extend(ranges(&serde_json::from_str(&repository.read("web/package.json")?)?));
    Ok(complaints)
}

fn crates(lock: &toml::Table) -> Vec<String> {
    let text = |package: &toml::Value, key: &str| package.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let mut complaints = Vec::new();
    for package in lock.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
        // Ours have no source.
        let Some(source) = text(package, "source") else { continue };
        let name = text(package, "name").unwrap_or_default();
        if source != CRATES_IO {
            complaints.push(format!("Cargo.lock: {name} comes from {source}"));
        } else if text(package, "checksum").is_none_or(|sum| sum.len() != 64) {
            complaints.push(format!("Cargo.lock: {name} has no checksum"));
        }
    }
    complaints
}

fn npm(lock: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, package) in lock["packages"].as_object().into_iter().flatten().filter(|(name, _)| !name.is_empty()) {
        if !package["integrity"].as_str().is_some_and(|sum| sum.starts_with("sha512-")) {
            complaints.push(format!("web/package-lock.json: {name} has no SHA-512"));
        }
        if let Some(from) = package["resolved"].as_str().filter(|from| !from.starts_with(NPM)) {
            complaints.push(format!("web/package-lock.json: {name} comes from {from}"));
        }
    }
    complaints
}

fn ranges(manifest: &Value) -> Vec<String> {
    let sections = ["dependencies", "devDependencies", "optionalDependencies"];
    let named = sections.iter().filter_map(|s| manifest[s].as_object()).flatten();
    let loose = named
        .filter(|(_, v)| !v.as_str().is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()) && !v.contains(' ')));
    loose.map(|(name, version)| format!("web/package.json: {name} is not one version: {version}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_has_no_checksum_or_comes_from_elsewhere_is_told() {
        let lock = format!(
            "[[package]]\nname = \"a\"\nsource = \"{CRATES_IO}\"\n[[package]]\nname = \"b\"\nsource = \"git+https://x\"\n[[package]]\nname = \"ours\"\n"
        );
        let told = crates(&lock.parse().unwrap());
        assert_eq!(told, ["Cargo.lock: a has no checksum", "Cargo.lock: b comes from git+https://x"]);
        let lock = json!({ "packages": { "": {}, "a": { "integrity": "sha1-x" }, "b": { "integrity": "sha512-x", "resolved": "https://x/" } } });
        assert_eq!(npm(&lock).len(), 2, "{:?}", npm(&lock));
    }

    #[test]
    fn a_range_is_no_version() {
        let told = ranges(
            &json!({ "devDependencies": { "a": "1.0.0", "b": "^1.0.0", "c": "git+https://x", "d": "1.0.0 - 2" } }),
        );
        assert_eq!(told.len(), 3, "{told:?}");
    }
}
