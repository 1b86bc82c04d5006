//! CPU selection: `0,2-5`, `12-`, `all`, `ALL`.

/// The CPUs that somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The row of all CPUs together.
    pub all: bool,
    /// Ranges of numbers, both ends included; None for every CPU.
    ranges: Option<Vec<(u32, u32)>>,
    /// As it was typed.
    pub text: String,
}

impl Default for Chosen {
    fn default() -> Chosen {
        Chosen { all: true, ranges: None, text: "all".to_owned() }
    }
}

impl Chosen {
    /// Only the row of all CPUs.
    pub fn only_all() -> Chosen {
        Chosen { ranges: Some(Vec::new()), ..Chosen::default() }
    }

    /// Reads a list.
    ///
    /// # Errors
    /// The form that was expected.
    pub fn parse(text: &str) -> Result<Chosen, String> {
        if text == "ALL" {
            return Ok(Chosen::default());
        }
        let mut chosen = Chosen { all: false, ranges: Some(Vec::new()), text: text.to_owned() };
        for part in text.split(',') {
            if part == "all" {
                chosen.all = true;
                continue;
            }
            let number = |text: &str| text.parse::<u32>().map_err(|_| expected());
            let range = match part.split_once('-') {
                None => (number(part)?, number(part)?),
                Some((from, "")) => (number(from)?, u32::MAX),
                Some((from, to)) => (number(from)?, number(to)?),
            };
            if range.0 > range.1 {
                return Err(expected());
            }
            chosen.ranges.get_or_insert_default().push(range);
        }
        Ok(chosen)
    }

    /// Returns true if every CPU is wanted.
    pub fn every(&self) -> bool {
        self.ranges.is_none()
    }

    /// Returns true if single CPUs are wanted at all.
    pub fn any(&self) -> bool {
        self.ranges.as_ref().is_none_or(|ranges| !ranges.is_empty())
    }

    /// CPUs that were named one by one: they are shown also when they are offline.
    pub fn named(&self) -> impl Iterator<Item = u32> {
        self.ranges.iter().flatten().filter(|(from, to)| from == to).map(|(from, _)| *from)
    }

    /// The first range that begins beyond CPU `last`.
    pub fn beyond(&self, last: u32) -> Option<u32> {
        self.ranges.iter().flatten().map(|(from, _)| *from).find(|from| *from > last)
    }

    /// Returns true if CPU `n` is wanted.
    pub fn has(&self, n: u32) -> bool {
        self.ranges.as_ref().is_none_or(|ranges| ranges.iter().any(|(from, to)| (*from..=*to).contains(&n)))
    }
}

fn expected() -> String {
    "expected CPUs such as 0,2-5, 12-, all or ALL".to_owned()
}

#[cfg(test)]
mod tests {
    use super::Chosen;

    #[test]
    fn lists_and_ranges_are_read() {
        let chosen = Chosen::parse("0,2-5,12-").unwrap();
        let has: Vec<u32> = (0..20).filter(|n| chosen.has(*n)).collect();
        assert_eq!(has, [0, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17, 18, 19]);
        assert!(!chosen.all && !chosen.every() && chosen.any());
        assert_eq!(chosen.named().collect::<Vec<_>>(), [0]);
        assert_eq!((chosen.beyond(11), chosen.beyond(12)), (Some(12), None));
        assert!(Chosen::parse("all,3").unwrap().all);
        assert!(Chosen::parse("ALL").unwrap().every());
        assert!(Chosen::only_all().all && !Chosen::only_all().any());
        for text in ["", "5-2", "x", "1,,2", "-3", "all-2"] {
            assert!(Chosen::parse(text).is_err(), "{text}");
        }
    }
}
