//! Properties of a program as names and texts: for a table, for facts of a run, and to compare two programs.

use crate::{Depth, Looked};

/// One thing that is known of a program.
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// True if it is a fact of a recording: it is read from headers alone.
    pub is_fact: bool,
    /// Its text; None where it is unknown.
    pub of: fn(&Looked) -> Option<String>,
}

const fn field(name: &'static str, of: fn(&Looked) -> Option<String>) -> Field {
    Field { name, is_fact: false, of }
}

const fn fact(name: &'static str, of: fn(&Looked) -> Option<String>) -> Field {
    Field { name, is_fact: true, of }
}

/// All of them, in the order in which they are shown.
pub const FIELDS: &[Field] = &[
    fact("file", |looked| Some(looked.path.clone())),
    field("process", |looked| looked.pid.map(|pid| pid.to_string())),
    fact("kind", |looked| {
        let Some(binary) = &looked.binary else { return Some("no ELF file".to_owned()) };
        Some(format!("{}-bit {} {}", binary.class, binary.machine, binary.kind))
    }),
    fact("build id", |looked| looked.binary.as_ref()?.build_id.clone()),
    fact("content", |looked| looked.content.clone()),
    fact("package", |looked| match (&looked.package, &looked.binary) {
        (Some(owner), _) => {
            Some(format!("{} {}", owner.name, owner.version.as_deref().unwrap_or("")).trim_end().to_owned())
        }
        (None, binary) => binary.as_ref()?.package_note.clone(),
    }),
    fact("compiler", compiler),
    field("options", options),
    field("level", level),
    field("code", code),
    field("lto", |looked| Some(if looked.binary.as_ref()?.lto? { "yes" } else { "no" }.to_owned())),
    field("frame pointers", |looked| {
        let code = looked.binary.as_ref()?.code.as_ref()?;
        Some(format!("{:.0} % of {} functions", 100.0 * code.frame_pointers()?, code.with_stack))
    }),
    fact("hardening", |looked| some(looked.binary.as_ref()?.hardening.join(", "))),
    fact("linker", |looked| looked.binary.as_ref()?.linker.clone()),
    fact("debug", |looked| some(looked.binary.as_ref()?.debug.to_owned())),
    fact("loader", |looked| looked.binary.as_ref()?.interpreter.clone()),
    fact("rpath", |looked| looked.binary.as_ref()?.rpath.clone()),
    fact("runpath", |looked| looked.binary.as_ref()?.runpath.clone()),
    fact("allocator", |looked| {
        let allocator = looked.allocator.as_ref()?;
        Some(if allocator.file == looked.path {
            format!("{} (in the program)", allocator.name)
        } else {
            format!("{} ({})", allocator.name, allocator.file)
        })
    }),
    fact("preload", |looked| some(names(looked, true))),
    fact("preload not loaded", |looked| some(names(looked, false))),
    fact("libraries", |looked| {
        let line = |library: &crate::Library| {
            let id = library.build_id.as_deref().map_or("", |id| &id[..id.len().min(12)]);
            let path = library.path.as_deref().unwrap_or("not found");
            format!("{} => {path} {id} {}", library.name, library.found_by).trim_end().to_owned()
        };
        some(looked.libraries.iter().map(line).collect::<Vec<_>>().join("\n"))
    }),
];

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn names(looked: &Looked, is_loaded: bool) -> String {
    let names = looked.preload.iter().filter(|preload| preload.is_loaded == is_loaded);
    names.map(|preload| preload.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// Compilers by name, those of the most telling origin.
fn compiler(looked: &Looked) -> Option<String> {
    let compilers = &looked.binary.as_ref()?.compilers;
    let from = compilers.first()?.from;
    let mut names: Vec<(&str, u64)> = Vec::new();
    for compiler in compilers.iter().filter(|compiler| compiler.from == from) {
        match names.iter_mut().find(|(name, _)| *name == compiler.name) {
            Some((_, units)) => *units += compiler.units,
            None => names.push((&compiler.name, compiler.units)),
        }
    }
    let most = 4;
    let more = names.len().saturating_sub(most);
    let text = |(name, units): &(&str, u64)| match units {
        0 | 1 => (*name).to_owned(),
        n => format!("{name} ({n} units)"),
    };
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Some(format!("{}{more}", names.iter().take(most).map(text).collect::<Vec<_>>().join(", ")))
}

/// Options of the most units, and how many other sets there are.
fn options(looked: &Looked) -> Option<String> {
    let compilers = &looked.binary.as_ref()?.compilers;
    let mut sets = compilers.iter().filter(|compiler| !compiler.options.is_empty());
    let most = sets.next()?;
    let others = sets.filter(|other| other.from == most.from && other.options != most.options).count();
    let others = if others > 0 { format!(" (and {others} other sets of options)") } else { String::new() };
    Some(format!("{}{others}", most.options.join(" ")))
}

/// The level that the processor must have: as its notes say, as it was asked for, or as its code shows.
fn level(looked: &Looked) -> Option<String> {
    let binary = looked.binary.as_ref()?;
    if let Some(level) = binary.needs_level {
        return Some(format!("x86-64-v{level} (needed)"));
    }
    let asked = binary.compilers.iter().find_map(|compiler| compiler.option("-march="));
    let asked = asked.map(|option| format!("{} (asked for)", &option["-march=".len()..]));
    let used = binary.uses_level.map(|level| format!("x86-64-v{level} (used)"));
    let seen = || {
        let code = binary.code.as_ref().filter(|_| binary.machine == "x86-64")?;
        let level = code.level();
        Some(format!("x86-64-v{level} (the highest seen in code)"))
    };
    asked.or(used).or_else(seen)
}

fn code(looked: &Looked) -> Option<String> {
    let code = looked.binary.as_ref()?.code.as_ref()?;
    let levels = code.of_level.iter().zip(2..).filter(|(n, _)| **n > 0);
    let levels: Vec<String> = levels.map(|(n, level)| format!("{n} with x86-64-v{level}")).collect();
    let levels = if levels.is_empty() { "all of the first level".to_owned() } else { levels.join(", ") };
    Some(format!("{} functions, {levels}", code.functions))
}

/// Names and texts of the fields that are facts of a recording, those that are known.
pub fn facts(looked: &Looked) -> Vec<(&'static str, String)> {
    FIELDS.iter().filter(|field| field.is_fact).filter_map(|field| Some((field.name, (field.of)(looked)?))).collect()
}

/// Depth of reading that facts need.
pub const FACTS: Depth = Depth::Quick;
