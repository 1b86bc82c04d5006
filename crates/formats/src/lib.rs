//! Importers: what other tools printed becomes rows of the catalogue's tables.
//!
//! One file per format, named after the tool, declares a [`Format`]: what it is, how to recognise
//! it from its content, and how to read it. It takes lines from an [`Input`] and gives rows to an
//! [`Out`]; it opens no file, reads no clock and cannot fail: what it cannot read becomes a note.
//!
//! Most formats need no Rust: a file in `formats/` describes them, see `own/`. One that does is a file in a family's folder and a
//! line in the family's `formats!` list.

pub mod account;
mod any;
mod clock;
mod cpu_mean;
mod date;
pub mod described;
mod detect;
mod document;
#[cfg(test)]
mod dressed;
#[cfg(test)]
mod example;
mod fields;
#[cfg(test)]
mod fixtures;
mod follow;
mod foreign;
mod format;
mod hints;
mod input;
mod join;
mod json;
mod layout;
mod line_rule;
mod near;
mod number;
#[cfg(test)]
mod ordinary;
mod out;
mod overrun;
mod own;
#[cfg(test)]
mod posted;
#[cfg(test)]
mod printed;
mod stamp;
mod tally;
mod terminal;
mod utf16;
mod zone;

/// Declares the formats of a family: a module each, and the list.
macro_rules! formats {
    ($($(#[doc = $doc:literal])* $name:ident),* $(,)?) => {
        $($(#[doc = $doc])* pub mod $name;)*

        /// The formats of this family, the more specific ones first.
        pub static FORMATS: &[&crate::Format] = &[$(&$name::FORMAT),*];
    };
}

pub mod database;
pub mod generic;
pub mod hosts;
pub mod linux;
pub mod load;
pub mod procps;
pub mod sar;
pub mod sysstat;
pub mod trace;
pub mod unix;

use std::sync::LazyLock;

pub use any::{About, AnyFormat, Formats, OwnFormat, lasting, wrong_name};
pub use clock::{Clock, Relative, Ticker};
pub use cpu_mean::CpuMean;
pub use date::{Banner, Ctime, banner, civil_date, civil_time, ctime};
pub use detect::{detect, detect_all, format};
pub(crate) use fields::next_word;
pub use fields::{Fields, Splitter};
pub use foreign::{Foreign, foreign};
pub use format::{Family, Fills, Format, Head, Sure};
pub use hints::Hints;
pub use input::{HEAD_BYTES, Input, MAX_LINE};
pub use join::Join;
pub use layout::{Field, Layout, col};
pub use near::{Near, lacks, nearest};
pub use number::{grouped, number, scaled};
pub use out::{Gathered, Out};
pub use overrun::{overrun, overrun_in, survey};
pub use own::{JsonRows, TextFormat, Wrong, check, draft};
pub use stamp::{Stamp, When, stamp};
pub use tally::Tally;
pub use zone::zone_named;

/// Every format that is understood, family by family.
pub fn formats() -> impl Iterator<Item = &'static Format> {
    static ALL: LazyLock<Vec<&'static Format>> = LazyLock::new(|| {
        let each = |(folder, list): &(&str, &[&'static Format])| {
            list.iter().copied().chain(own::shipped::of(folder)).collect::<Vec<_>>()
        };
        FAMILIES.iter().flat_map(each).collect()
    });
    ALL.iter().copied()
}

/// The lists of all families, each with the folder of its descriptions. Earlier ones win where two formats are equally sure.
static FAMILIES: &[(&str, &[&Format])] = &[
    // Its texts hold outputs of the others, which may know their lines behind a host.
    ("hosts", hosts::FORMATS),
    ("sysstat", sysstat::FORMATS),
    ("sar", sar::FORMATS),
    ("procps", procps::FORMATS),
    ("linux", linux::FORMATS),
    ("unix", unix::FORMATS),
    ("trace", trace::FORMATS),
    ("load", load::FORMATS),
    ("database", database::FORMATS),
    ("generic", generic::FORMATS),
];
