//! Kernel symbols.

use std::sync::Arc;

use fs_err as fs;

use super::Frame;

/// Functions of the kernel and its modules, sorted by address; empty where the kernel does not show them.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// Where they begin, and their names in `names`.
    functions: Vec<(u64, u32)>,
    /// All names, each with a blank behind it: there are a hundred thousand, of which a few are asked for.
    names: String,
    file: Arc<str>,
}

impl Kernel {
    pub(super) fn read() -> Kernel {
        let text = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        Kernel::parse(&text)
    }

    fn parse(text: &str) -> Kernel {
        let (mut functions, mut names) = (Vec::new(), String::new());
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
            let is_code = matches!(kind, "t" | "T" | "w" | "W");
            // Without the right to see them, all addresses are 0.
            let address = u64::from_str_radix(address, 16).ok().filter(|address| is_code && *address > 0);
            if let (Some(address), Ok(place)) = (address, u32::try_from(names.len())) {
                functions.push((address, place));
                names.push_str(name);
                names.push(' ');
            }
        }
        functions.sort_unstable();
        functions.shrink_to_fit();
        names.shrink_to_fit();
        Kernel { functions, names, file: "kernel".into() }
    }

    pub(super) fn resolve(&self, address: u64) -> Frame {
        let place = self.functions.partition_point(|(begin, _)| *begin <= address).checked_sub(1);
        match place.and_then(|place| self.functions.get(place)) {
            Some((begin, name)) => {
                let name = self.names.get(*name as usize..).and_then(|rest| rest.split(' ').next());
                Frame { function: name.unwrap_or("?").into(), file: Arc::clone(&self.file), offset: address - begin }
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
