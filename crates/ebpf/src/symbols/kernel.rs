//! Kernel symbols.

use std::sync::Arc;

use fs_err as fs;

use super::Frame;

/// Functions of the kernel and its modules, sorted by address; empty where the kernel does not show them.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    functions: Vec<(u64, Arc<str>)>,
    file: Arc<str>,
}

impl Kernel {
    pub(super) fn read() -> Kernel {
        let text = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        Kernel::parse(&text)
    }

    fn parse(text: &str) -> Kernel {
        let mut functions: Vec<(u64, Arc<str>)> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split_ascii_whitespace();
                let address = u64::from_str_radix(words.next()?, 16).ok()?;
                let is_code = matches!(words.next()?, "t" | "T" | "w" | "W");
                // Without the right to see them, all addresses are 0.
                (is_code && address > 0).then(|| Some((address, words.next()?.into())))?
            })
            .collect();
        functions.sort_unstable_by_key(|(address, _)| *address);
        Kernel { functions, file: "kernel".into() }
    }

    pub(super) fn resolve(&self, address: u64) -> Frame {
        let place = self.functions.partition_point(|(begin, _)| *begin <= address).checked_sub(1);
        match place.and_then(|place| self.functions.get(place)) {
            Some((begin, name)) => {
                Frame { function: Arc::clone(name), file: Arc::clone(&self.file), offset: address - begin }
            }
            None => Frame { function: "[kernel]".into(), file: Arc::clone(&self.file), offset: address },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_and_data_is_not() {
        let kernel = Kernel::parse(
            "ffff0010 T second\nffff0000 t first\nffff0008 d data\n0 T hidden\nffff0020 T last\t[module]\n",
        );
        let names =
            [0xffff_0000, 0xffff_000f, 0xffff_0010, 0xffff_ffff].map(|a| kernel.resolve(a).function.to_string());
        assert_eq!(names, ["first", "first", "second", "last"]);
        assert_eq!((&*kernel.resolve(1).function, kernel.resolve(0xffff_0012).offset), ("[kernel]", 2));
    }
}
