//! Every source that can be recorded, and how people name them: `cpu`, `+procsystime`, `iopattern:pid=42`.

use std::sync::Arc;

use fenxi_model::near;
use fenxi_source::{Changes, Options, Source};

/// All that a list can name, in the order in which they are sampled: collectors of /proc and /sys, then observers in the
/// kernel. Databases are no part of it: they are named by URLs.
pub fn sources() -> impl Iterator<Item = &'static dyn Source> + Clone {
    fenxi_source::SOURCES.iter().copied().chain(fenxi_ebpf::OBSERVERS.iter().map(|observer| observer.source))
}

/// The source of this name, or of the name that it had before.
pub fn source(name: &str) -> Option<&'static dyn Source> {
    let collector = fenxi_source::SOURCES.iter().copied().find(|source| source.spec().name == name);
    collector.or_else(|| fenxi_ebpf::observer(name).map(|observer| observer.source))
}

/// Returns true if a source puts programs into the kernel.
pub fn is_observer(source: &dyn Source) -> bool {
    fenxi_ebpf::observer(source.spec().name).is_some()
}

/// One element of a list of sources.
#[derive(Debug, PartialEq)]
struct Named<'a> {
    /// Whether it is recorded alone, added or left out.
    sign: Sign,
    name: &'a str,
    /// Names of options, with their values.
    options: Vec<(&'a str, Option<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    /// It, and those that are named like it.
    Only,
    /// It, besides those that are recorded anyway.
    More,
    /// All but it.
    Less,
}

/// The sources that the elements of a list name: all named ones, or the default ones with `+more` and `-less`. A name can be
/// followed by a colon and options, which go on in the next elements: `iopattern:pid=42`, `profile:frequency=49`,
/// `off-cpu`.
///
/// # Errors
/// In words: there is no such source or option, or none is left.
pub fn choose(list: &[String]) -> Result<Vec<Arc<dyn Source>>, String> {
    let named = read(list);
    let only = named.iter().any(|named| named.sign == Sign::Only);
    let defaults = sources().filter(|source| !only && source.spec().default);
    let mut chosen: Vec<Arc<dyn Source>> =
        defaults.map(|source| Arc::new(unasked(source)) as Arc<dyn Source>).collect();
    for named in &named {
        let source = with_options(named)?;
        chosen.retain(|other| other.spec().name != source.spec().name);
        if named.sign != Sign::Less {
            chosen.push(source);
        }
    }
    // A thread is one row, whichever process is asked for.
    if chosen.iter().any(|source| source.spec().name == "thread")
        && let Some(waits) = chosen.iter_mut().find(|source| source.spec().name == "thread_wait")
    {
        *waits = Arc::new(&fenxi_source::proc::BESIDE_THREADS as &'static dyn Source);
    }
    no_rows_twice(chosen.iter().map(|source| source.spec().name))?;
    if chosen.is_empty() { Err("no source is left to record".to_owned()) } else { Ok(chosen) }
}

/// The variant of a source that is recorded where it is not asked for.
fn unasked(source: &'static dyn Source) -> &'static dyn Source {
    const OTHERWISE: [&dyn Source; 2] = [&fenxi_ebpf::profile::ALWAYS, &fenxi_source::proc::GPU_IF_THERE];
    OTHERWISE.into_iter().find(|other| other.spec().name == source.spec().name).unwrap_or(source)
}

/// A source that is started besides those that run, and whether it observes the process asked for only.
pub type Started = (Arc<dyn Source>, bool);

/// The sources that the elements of a list name, which are started besides those that run; for the process `pid` only, if one is
/// given, where a source can observe single processes: the second value is whether it does.
///
/// # Errors
/// In words: there is no such source or option.
pub fn started(list: &[String], pid: Option<u32>) -> Result<Vec<Started>, String> {
    let mut chosen = Vec::new();
    for mut named in read(list) {
        if named.sign == Sign::Less {
            return Err(format!("`-{}` cannot be started", named.name));
        }
        let declared = source(named.name).map_or(&[][..], |source| source.options());
        let has = |name: &str| declared.iter().any(|option| option.name == name && option.changes != Changes::View);
        let narrow = pid.filter(|_| has("pid") && !named.options.iter().any(|(name, _)| *name == "pid"));
        if let Some(pid) = narrow {
            // An option that excludes it would make it no observation of this process.
            named.options.retain(|(name, _)| *name != "server");
            named.options.push(("pid", Some(pid.to_string())));
            if has("slower") && !named.options.iter().any(|(name, _)| *name == "slower") {
                // Each statement of one session is worth its own event.
                named.options.push(("slower", Some("1us".to_owned())));
            }
        }
        chosen.push((with_options(&named)?, narrow.is_some()));
    }
    no_rows_twice(chosen.iter().map(|(source, _)| source.spec().name))?;
    if chosen.is_empty() { Err("no source is named".to_owned()) } else { Ok(chosen) }
}

/// Two sources with a row for each thread: what adds these up would count each thread twice.
const SAME_ROWS: [&str; 2] = ["thread", "microstates"];

fn no_rows_twice(names: impl Iterator<Item = &'static str>) -> Result<(), String> {
    if names.filter(|name| SAME_ROWS.contains(name)).count() < SAME_ROWS.len() {
        return Ok(());
    }
    Err(format!("the sources `{}` fill the same rows; leave one out", SAME_ROWS.join("` and `")))
}

/// The collector that fills a table and puts nothing into the kernel, the one of its name first; None when only an observer or a database does.
pub fn fills(table: &str) -> Option<&'static dyn Source> {
    if let Some(named) = fenxi_source::SOURCES.iter().copied().find(|source| source.spec().name == table) {
        return Some(named);
    }
    let fills = |source: &&'static dyn Source| source.spec().tables.iter().any(|filled| filled.name == table);
    let mut collectors = fenxi_source::SOURCES.iter().copied().filter(fills);
    let first = collectors.next()?;
    Some(if first.spec().default { first } else { collectors.find(|source| source.spec().default).unwrap_or(first) })
}

/// Elements of a list: commas separate sources and options of one as well.
fn read(list: &[String]) -> Vec<Named<'_>> {
    let mut all: Vec<Named<'_>> = Vec::new();
    for element in list {
        if let Some(last) = all.last_mut().filter(|last| goes_on(last, element)) {
            match (element.split_once('='), last.options.last_mut()) {
                (Some((name, value)), _) => last.options.push((name, Some(value.to_owned()))),
                // The next number of a list of them.
                (None, Some((_, Some(value)))) if is_number(element) => *value = format!("{value},{element}"),
                (None, _) => last.options.push((element, None)),
            }
            continue;
        }
        let (sign, bare) = match element.split_at_checked(1) {
            Some(("+", bare)) => (Sign::More, bare),
            Some(("-", bare)) => (Sign::Less, bare),
            _ => (Sign::Only, element.as_str()),
        };
        let (name, option) = bare.split_once(':').map_or((bare, None), |(name, option)| (name, Some(option)));
        let option = option.filter(|option| !option.is_empty()).map(|option| match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        });
        all.push(Named { sign, name, options: option.into_iter().collect() });
    }
    all
}

/// The elements of a list that hold for `host`: those behind `NAME:` are for that one of the `hosts` alone, the others for
/// all.
pub fn for_host(list: &[String], hosts: &[&str], host: &str) -> Vec<String> {
    let mut own = Vec::new();
    let mut whose = None;
    // The elements of one source: what follows may be a further option of it.
    let mut source: Vec<String> = Vec::new();
    for element in list {
        let named = element.split_once(':').filter(|(name, _)| hosts.contains(name));
        let goes_on = named.is_none() && read(&source).last().is_some_and(|last| goes_on(last, element));
        if !goes_on {
            whose = named.map(|(name, _)| name);
            source.clear();
        }
        let bare = named.map_or(element.as_str(), |(_, bare)| bare);
        source.push(bare.to_owned());
        if whose.is_none_or(|whose| whose == host) {
            own.push(bare.to_owned());
        }
    }
    own
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether an element of the list belongs to the source before it, which has options already.
fn goes_on(last: &Named<'_>, element: &str) -> bool {
    if last.options.is_empty() || element.starts_with(['+', '-']) {
        return false;
    }
    let name = element.split(['=', ':']).next().unwrap_or("");
    let is_option = || {
        let declared = source(last.name).map_or(&[][..], |source| source.options());
        declared.iter().any(|option| option.name == name) && source(name).is_none()
    };
    // No source has an equals sign before a colon in what names it.
    element.split(':').next().is_some_and(|head| head.contains('=')) || is_number(element) || is_option()
}

fn with_options(named: &Named<'_>) -> Result<Arc<dyn Source>, String> {
    let Some(found) = source(named.name) else {
        let names: Vec<_> = sources().map(|source| source.spec().name).collect();
        let meant = near(named.name, names.iter().copied());
        return Err(match meant.as_slice() {
            [] => format!("no source is called `{}`; there are {}", named.name, names.join(", ")),
            meant => format!("no source is called `{}`; did you mean {}?", named.name, meant.join(" or ")),
        });
    };
    if named.options.is_empty() {
        return Ok(Arc::new(found));
    }
    let of = found.spec().name;
    let mut options = Options::new(found.options());
    for (name, value) in &named.options {
        let of_view = found.options().iter().any(|option| option.name == *name && option.changes == Changes::View);
        if of_view {
            return Err(format!("`{of}`: `{name}` changes how it is shown, not what is recorded"));
        }
        options.give(name, value.as_deref()).map_err(|why| format!("`{of}`: {why}"))?;
    }
    found.with(&options).map_err(|error| format!("`{of}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    fn names(text: &str) -> Vec<&'static str> {
        choose(&list(text)).unwrap().iter().map(|source| source.spec().name).collect()
    }

    fn refused(text: &str) -> String {
        choose(&list(text)).err().unwrap()
    }

    #[test]
    fn a_list_names_sources_or_changes_the_default_ones() {
        assert_eq!(names("mem,cpu"), ["mem", "cpu"]);
        let defaults = choose(&[]).unwrap().len();
        assert_eq!(names("+procsystime").len(), defaults + 1);
        assert_eq!(names("-cpu").len(), defaults - 1);
        assert!(refused("zzz").starts_with("no source is called `zzz`; there are cpu, "), "{}", refused("zzz"));
        assert_eq!(refused("cpuu"), "no source is called `cpuu`; did you mean cpu?");
        assert_eq!(refused("cpu,-cpu"), "no source is left to record");
        assert!(refused("thread,microstates").contains("fill the same rows"));
        assert_eq!(names("pin"), ["irqsteal"], "as it was called before");
    }

    #[test]
    fn options_go_on_behind_commas() {
        let texts = list("+iopattern:pid=42,43,cpu,profile:frequency=49,off-cpu,mem");
        let read = read(&texts);
        let given = |name, value: &str| (name, Some(value.to_owned()));
        let expected = [
            Named { sign: Sign::More, name: "iopattern", options: vec![given("pid", "42,43")] },
            Named { sign: Sign::Only, name: "cpu", options: vec![] },
            Named { sign: Sign::Only, name: "profile", options: vec![given("frequency", "49"), ("off-cpu", None)] },
            Named { sign: Sign::Only, name: "mem", options: vec![] },
        ];
        assert_eq!(read, expected);
        assert_eq!(names("iopattern:pid=42,43,cpu"), ["iopattern", "cpu"]);
        assert_eq!(names("plockstat:holds,all-waits,mem"), ["plockstat", "mem"]);
    }

    #[test]
    fn a_host_has_the_elements_for_all_and_its_own() {
        let texts = list("-disk,db1:+querystat,db1:+iopattern:pid=42,43,store:mem,+profile:frequency=49,off-cpu");
        let of = |host: &str| for_host(&texts, &["db1", "store"], host).join(",");
        assert_eq!(of("db1"), "-disk,+querystat,+iopattern:pid=42,43,+profile:frequency=49,off-cpu");
        assert_eq!(of("store"), "-disk,mem,+profile:frequency=49,off-cpu");
        assert_eq!(of("driver"), "-disk,+profile:frequency=49,off-cpu");
    }

    #[test]
    fn options_that_cannot_be_are_told() {
        assert_eq!(refused("cpu:pid=1"), "`cpu`: there is no option `pid`, and no other");
        let why = "`procsystime`: `top` changes how it is shown, not what is recorded";
        assert_eq!(refused("procsystime:top=3"), why);
        assert_eq!(refused("profile:frequency=0"), "`profile`: `frequency` is `0`: less than 1");
        assert_eq!(refused("irqsteal:light,flow"), "`irqsteal`: `flow` makes no sense with `light`");
    }
}
