//! The devices of a file that lists them anew at each sample: which are new, which went.

/// Devices with the state that a collector keeps between two samples.
#[derive(Debug)]
pub struct Roster<T> {
    members: Vec<Member<T>>,
    round: u64,
    /// Where the next device is looked for first: files list their devices in a steady order.
    next: usize,
}

/// One device.
#[derive(Debug)]
pub struct Member<T> {
    raw: Box<[u8]>,
    /// Its name as text.
    pub name: Box<str>,
    seen: u64,
    /// State of the collector.
    pub value: T,
}

impl<T> Roster<T> {
    /// An empty roster.
    pub fn new() -> Roster<T> {
        Roster { members: Vec::new(), round: 0, next: 0 }
    }

    /// Begins a sample.
    pub fn begin(&mut self) {
        self.round += 1;
        self.next = 0;
    }

    /// The device called `name`, made by `make` when it is new; and whether it is new.
    pub fn member(&mut self, name: &[u8], make: impl FnOnce(&str) -> T) -> (&mut Member<T>, bool) {
        let here = self.members.get(self.next).is_some_and(|m| *m.raw == *name);
        let found = if here { Some(self.next) } else { self.members.iter().position(|m| *m.raw == *name) };
        let place = found.unwrap_or_else(|| {
            let text: Box<str> = String::from_utf8_lossy(name).into();
            let value = make(&text);
            self.members.push(Member { raw: name.into(), name: text, seen: 0, value });
            self.members.len() - 1
        });
        self.next = place + 1;
        let member = &mut self.members[place];
        member.seen = self.round;
        (member, found.is_none())
    }

    /// Ends a sample: calls `gone` with the devices that were not listed in it, and forgets them.
    pub fn end(&mut self, mut gone: impl FnMut(&Member<T>)) {
        let round = self.round;
        self.members.retain(|m| {
            let listed = m.seen == round;
            if !listed {
                gone(m);
            }
            listed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Roster;

    fn round(roster: &mut Roster<u32>, names: &[&str]) -> (Vec<String>, Vec<String>) {
        let (mut new, mut gone) = (Vec::new(), Vec::new());
        roster.begin();
        for name in names {
            if roster.member(name.as_bytes(), |_| 0).1 {
                new.push((*name).to_owned());
            }
        }
        roster.end(|m| gone.push(m.name.to_string()));
        (new, gone)
    }

    #[test]
    fn it_knows_who_came_and_who_went_whatever_the_order() {
        let mut roster = Roster::new();
        assert_eq!(round(&mut roster, &["a", "b"]).0, ["a", "b"]);
        assert_eq!(round(&mut roster, &["b", "a"]), (vec![], vec![]));
        assert_eq!(round(&mut roster, &["c", "a"]), (vec!["c".into()], vec!["b".into()]));
        assert_eq!(round(&mut roster, &["a", "b", "c"]), (vec!["b".into()], vec![]));
    }
}
