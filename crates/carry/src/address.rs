//! Which place an address names.

use std::path::PathBuf;

use crate::{CarryError, Place, directory::Directory, s3::S3};

/// The place at an address: `s3://BUCKET/PREFIX`, `file:///DIRECTORY`, or a directory.
///
/// # Errors
/// When the address names none, or the environment has no credentials.
pub fn open(address: &str, now: fn() -> fenxi_model::Micros) -> Result<Box<dyn Place>, CarryError> {
    if let Some(rest) = address.strip_prefix("s3://") {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(CarryError::Address(address.to_owned()));
        }
        return Ok(Box::new(S3::from_environment(bucket, prefix, now)?));
    }
    let path = match address.split_once("://") {
        None => address,
        Some(("file", path)) if path.starts_with('/') => path,
        Some(_) => return Err(CarryError::Address(address.to_owned())),
    };
    if path.is_empty() {
        return Err(CarryError::Address(address.to_owned()));
    }
    Ok(Box::new(Directory::new(PathBuf::from(path), now)))
}

#[cfg(test)]
mod tests {
    use fenxi_model::Micros;

    use super::open;

    #[test]
    fn addresses_name_directories_or_say_what_they_should() {
        let named = |address: &str| open(address, || Micros(0)).map(|place| place.name()).map_err(|e| e.to_string());
        assert_eq!(named("/srv/fenxi").unwrap(), "/srv/fenxi");
        assert_eq!(named("file:///srv/fenxi").unwrap(), "/srv/fenxi");
        for wrong in ["", "file://host/x", "gs://bucket", "s3:///x"] {
            assert!(named(wrong).unwrap_err().contains("names no place"), "{wrong}");
        }
    }
}
