//! Values that JSON has as words: how they are written, and the schemas that list the words.

use std::{borrow::Cow, fmt::Display};

use fenxi_analyze::{Centre, Op, Verdict};
use fenxi_model::Better;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serializer;

/// Schema of a direction: `higher`, `lower` or `neither` is good.
#[derive(Clone, Copy, Debug)]
pub struct BetterWord;

impl JsonSchema for BetterWord {
    fn schema_name() -> Cow<'static, str> {
        "Better".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = [Better::Higher, Better::Lower, Better::Neither].map(|better| better.to_string());
        json_schema!({ "description": "Which direction is good", "type": "string", "enum": words })
    }
}

/// Schema of a verdict.
pub(crate) struct VerdictWord;

impl JsonSchema for VerdictWord {
    fn schema_name() -> Cow<'static, str> {
        "Verdict".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = Verdict::ALL.map(Verdict::words);
        json_schema!({ "description": "What a comparison comes to", "type": "string", "enum": words })
    }
}

/// Writes something by its words.
pub(crate) fn words_of<S: Serializer>(value: &impl Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

pub(crate) fn verdict<S: Serializer>(verdict: &Verdict, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(verdict.words())
}

const fn centre_word(centre: Centre) -> &'static str {
    match centre {
        Centre::Mean => "mean",
        Centre::Median => "median",
    }
}

pub(crate) fn centre<S: Serializer>(centre: &Centre, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(centre_word(*centre))
}

pub(crate) fn centre_schema(_: &mut SchemaGenerator) -> Schema {
    let words = [Centre::Mean, Centre::Median].map(centre_word);
    json_schema!({ "type": "string", "enum": words })
}

/// The character before a line of a difference.
pub const fn sign_of(op: Op) -> &'static str {
    match op {
        Op::Removed => "-",
        Op::Added => "+",
        Op::Equal => "=",
    }
}

pub(crate) fn sign<S: Serializer>(op: &Op, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(sign_of(*op))
}

pub(crate) fn sign_schema(_: &mut SchemaGenerator) -> Schema {
    let signs = [Op::Removed, Op::Added, Op::Equal].map(sign_of);
    json_schema!({ "type": "string", "enum": signs })
}
