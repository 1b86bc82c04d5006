//! Values in JSON documents of load generators, by their paths.

use serde_json::{Map, Value};

/// The value at `path`, whose keys are separated by `/`.
pub fn at<'a>(object: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut keys = path.split('/');
    let mut value = object.get(keys.next()?)?;
    for key in keys {
        value = value.get(key)?;
    }
    Some(value)
}

/// The number at `path`.
pub fn figure(object: &Map<String, Value>, path: &str) -> Option<f64> {
    at(object, path)?.as_f64().filter(|v| v.is_finite())
}

/// The text at `path`; empty without one.
pub fn text<'a>(object: &'a Map<String, Value>, path: &str) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or("")
}

/// The objects in the list at `path`.
pub fn objects<'a>(
    object: &'a Map<String, Value>,
    path: &str,
) -> impl Iterator<Item = &'a Map<String, Value>> + use<'a> {
    at(object, path).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

/// The entries of the object at `path`.
pub fn entries<'a>(
    object: &'a Map<String, Value>,
    path: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    at(object, path).and_then(Value::as_object).into_iter().flatten()
}
