//! Names of wait events by the number that a process has in memory: a byte for the class, and the event's number in it.

use rustc_hash::FxHashMap;

static NAMES: &str = include_str!("events.txt");

/// Classes by their byte.
const CLASSES: &[(u32, &str)] = &[
    (1, "LWLock"),
    (3, "Lock"),
    (4, "BufferPin"),
    (5, "Activity"),
    (6, "Client"),
    (7, "Extension"),
    (8, "IPC"),
    (9, "Timeout"),
    (10, "IO"),
    (11, "InjectionPoint"),
];

/// Names of a version's events, and those that were learned besides.
#[derive(Debug, Default)]
pub struct Events {
    names: FxHashMap<u32, &'static str>,
    learned: FxHashMap<u32, String>,
}

impl Events {
    /// Those of a major version; none where it is not known.
    pub fn of(major: u32) -> Events {
        let mut names = FxHashMap::default();
        let mut class = None;
        let mut number = 0;
        for line in NAMES.lines().filter(|line| !line.starts_with('#')) {
            let Some(more) = line.strip_prefix("  ") else {
                let (version, name) = line.split_once(' ').unwrap_or_default();
                class =
                    CLASSES.iter().find(|(_, of)| *of == name && version.parse() == Ok(major)).map(|(byte, _)| byte);
                number = 0;
                continue;
            };
            let Some(class) = class else { continue };
            for name in more.split(' ') {
                if name != "-" {
                    names.insert(class << 24 | number, name);
                }
                number += 1;
            }
        }
        Events { names, learned: FxHashMap::default() }
    }

    /// Class and event of a number: empty for none, no event where its name is not known.
    pub fn name(&self, word: u32) -> (&'static str, Option<&str>) {
        if word == 0 {
            return ("", Some(""));
        }
        let class = CLASSES.iter().find(|(byte, _)| *byte == word >> 24).map_or("", |(_, class)| class);
        (class, self.names.get(&word).copied().or_else(|| self.learned.get(&word).map(String::as_str)))
    }

    /// The name of one that was not known: an extension's.
    pub fn learn(&mut self, word: u32, name: &str) {
        if self.learned.len() < 1000 {
            self.learned.insert(word, name.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_names_that_their_version_gives_them() {
        for (major, word, expected) in [
            (15, 0x0300_0005, ("Lock", Some("transactionid"))),
            (15, 0x0600_0000, ("Client", Some("ClientRead"))),
            (14, 0x0900_0001, ("Timeout", Some("PgSleep"))),
            (15, 0x0900_0002, ("Timeout", Some("PgSleep"))),
            (18, 0x0900_0002, ("Timeout", Some("PgSleep"))),
            (15, 0x0400_0000, ("BufferPin", Some("BufferPin"))),
            (15, 0x0100_0001, ("LWLock", Some("ShmemIndex"))),
            // A number that no event has, an extension's, a class that there is not, a version that is not known.
            (15, 0x0100_0000, ("LWLock", None)),
            (17, 0x0700_0001, ("Extension", None)),
            (15, 0x7700_0001, ("", None)),
            (13, 0x0600_0000, ("Client", None)),
            (15, 0, ("", Some(""))),
        ] {
            assert_eq!(Events::of(major).name(word), expected, "{major} {word:#x}");
        }
    }

    #[test]
    fn a_name_that_was_learned_is_known() {
        let mut events = Events::of(15);
        events.learn(0x0100_0050, "my_extension");
        assert_eq!(events.name(0x0100_0050), ("LWLock", Some("my_extension")));
    }
}
