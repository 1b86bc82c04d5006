//! JSON schemas of answers: what the API's description and the types of the pages are made from.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value};

/// Where definitions are in the description that [`Schemas`] are for.
const DEFINITIONS: &str = "/components/schemas";

/// The schema of one answer.
pub type OfAnswer = fn(&mut SchemaGenerator) -> Schema;

/// The schema of `T`.
pub fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Schemas of several answers, with the definitions that they share.
pub struct Schemas(SchemaGenerator);

impl Default for Schemas {
    fn default() -> Schemas {
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.definitions_path = DEFINITIONS.into();
            settings.meta_schema = None;
        });
        Schemas(settings.with_transform(RecursiveTransform(tidied)).into_generator())
    }
}

impl Schemas {
    /// Schema of an answer, which refers to [`Schemas::definitions`].
    pub fn add(&mut self, answer: OfAnswer) -> Value {
        answer(&mut self.0).to_value()
    }

    /// The definitions of all that was added, by name.
    pub fn definitions(mut self) -> Map<String, Value> {
        self.0.take_definitions(true)
    }
}

/// Without what says nothing to a reader: null for a property that is left out instead, and how wide a number is here.
fn tidied(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("format");
    let required = object.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| required.as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let properties = object.get_mut("properties").and_then(Value::as_object_mut);
    for (_, property) in properties.into_iter().flatten().filter(|(name, _)| !is_required(name)) {
        if let Ok(property) = <&mut Schema>::try_from(property) {
            never_null(property);
        }
    }
}

fn never_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    let Some(Value::Array(any)) = object.get_mut("anyOf") else { return };
    any.retain(|one| one["type"] != "null");
    let mut any = std::mem::take(any);
    match (any.len(), any.pop()) {
        (1, Some(Value::Object(one))) => {
            object.remove("anyOf");
            object.extend(one);
        }
        (_, Some(last)) => {
            any.push(last);
            object.insert("anyOf".to_owned(), Value::Array(any));
        }
        _ => {}
    }
}
