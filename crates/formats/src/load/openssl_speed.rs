//! `openssl speed`: bytes per second of ciphers and digests by size of block, operations per second of signatures and key exchanges;
//! with `-mr` too.
//!
//! Results are named by the algorithm and the size of the block: `transfer_bytes_per_s[AES-128-GCM 1024 B]`, `sign_per_s[rsa 2048 bits]`.
//! The rates of the tables count what `openssl` counts: CPU time, or elapsed time with `-elapsed` and `-multi`.

use super::names::{self, Results, higher};
use crate::{Family, Format, Head, Input, Out, Sure, number, procps::moments::is_prompt};

/// What this file reads.
pub static FORMAT: Format = Format {
    name: "openssl-speed",
    summary: "openssl speed, also -evp, -multi, -bytes and -mr",
    family: Family::Load,
    tables: &[],
    example: "\
version: 3.0.19
The 'numbers' are in 1000s of bytes per second processed.
type             16 bytes     64 bytes    256 bytes   1024 bytes   8192 bytes  16384 bytes
AES-128-GCM      37635.52k   144271.68k   519506.18k  1493483.52k  3404480.51k  3809492.99k
",
    sniff,
    read,
};

/// Columns of the tables of asymmetric algorithms.
const COLUMNS: &[&str] = &[
    "sign",
    "verify",
    "sign/s",
    "verify/s",
    "op",
    "op/s",
    "encrypt",
    "decrypt",
    "encr/s",
    "decr/s",
    "keygen",
    "encaps",
    "decaps",
    "keygens/s",
    "encaps/s",
    "decaps/s",
    "keygen/s",
    "signs",
    "verify",
];

fn sniff(head: &Head<'_>) -> Sure {
    let doing = |line: &str| line.starts_with("Doing ") && line.contains("s: ") && line.contains(" in ");
    let own = |line: &str| sizes(line).is_some() && line.starts_with("type ");
    let raw = |line: &str| line.starts_with("+DT:") || line.starts_with("+DTP:");
    let built = || head.any(|line| line.starts_with("built on: ")) && head.any(|line| line.starts_with("options:"));
    let asymmetric = |line: &str| titles(line).is_some();
    let finished = |line: &str| line.starts_with("+F:") || line.starts_with("+F2:");
    Sure::Certain.when(
        head.any(own) || head.any(raw) && head.any(finished) || built() && (head.any(doing) || head.any(asymmetric)),
    )
}

/// Sizes of `type 16 bytes 64 bytes`.
fn sizes(line: &str) -> Option<Vec<u64>> {
    let rest = line.strip_prefix("type ")?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let pairs = words.chunks(2).map(|pair| match pair {
        [size, "bytes"] => size.parse().ok(),
        _ => None,
    });
    pairs.collect::<Option<Vec<u64>>>().filter(|sizes| !sizes.is_empty())
}

/// Titles of a table of asymmetric algorithms.
fn titles(line: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let own =
        words.len() >= 2 && words.iter().all(|word| COLUMNS.contains(word)) && words.iter().any(|w| w.ends_with("/s"));
    own.then(|| words.into_iter().map(str::to_owned).collect())
}

#[derive(Default)]
struct Reader {
    results: Results,
    reports: u32,
    sizes: Vec<u64>,
    titles: Vec<String>,
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut reader = Reader::default();
    // `-multi` has no sizes in its table but in what its processes print.
    input.each_line(|at, line| {
        let line = line.trim();
        if !(line.is_empty() || reader.line(line, out) || is_known(line) || is_prompt(line, "openssl")) {
            out.unknown(at, line, "no line of openssl speed");
        }
    });
}

/// Progress messages.
fn is_known(line: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "Doing ",
        "The 'numbers' are",
        "+DT:",
        "+DTP:",
        "+R",
        "Got: ",
        "Forked child ",
        "You have chosen to measure elapsed time",
        "instead of user CPU time",
        "+H:",
        "compiler: ",
        "built on: ",
        "available timing options:",
        "timing function used:",
    ];
    BEGINNINGS.iter().any(|begin| line.starts_with(begin))
}

impl Reader {
    fn line(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        for (begin, name) in
            [("version: ", "version"), ("options: ", "options"), ("options:", "options"), ("CPUINFO: ", "cpuinfo")]
        {
            if let Some(value) = line.strip_prefix(begin) {
                if name == "version" {
                    self.begin();
                }
                out.fact("openssl", name, value.trim());
                return true;
            }
        }
        let bare = line.strip_prefix("Got: ").unwrap_or(line);
        if let Some(rest) = bare.strip_prefix("+H:") {
            let sizes = rest.split(' ').next().unwrap_or(rest);
            self.sizes = sizes.split(':').filter_map(|size| size.parse().ok()).collect();
            return true;
        }
        if let Some(rest) = line.strip_prefix("+F:") {
            return self.raw(rest, out);
        }
        if let Some(sizes) = sizes(line) {
            self.sizes = sizes;
            return true;
        }
        if let Some(titles) = titles(line) {
            self.titles = titles;
            return true;
        }
        self.rates(line, out) || self.operations(line, out)
    }

    fn begin(&mut self) {
        self.reports = self.reports.saturating_add(1);
        self.results = Results::nth(self.reports);
    }

    /// `25:sha256:101779232.00:321671296.00`
    fn raw(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let mut parts = line.split(':');
        let (Some(_), Some(name)) = (parts.next(), parts.next()) else { return false };
        let values: Vec<Option<f64>> = parts.map(number).collect();
        if values.len() != self.sizes.len() {
            return false;
        }
        self.write(name, &values, out);
        true
    }

    /// `AES-128-GCM  37635.52k  144271.68k`: thousands of bytes per second.
    fn rates(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(names) = words.len().checked_sub(self.sizes.len()).filter(|names| *names > 0) else { return false };
        let cells = &words[names..];
        if cells.is_empty() || !cells.iter().all(|cell| cell.ends_with('k') || number(cell) == Some(0.0)) {
            return false;
        }
        let values: Vec<Option<f64>> =
            cells.iter().map(|cell| number(cell.trim_end_matches('k')).map(|k| k * 1000.0)).collect();
        self.write(&words[..names].join(" "), &values, out);
        true
    }

    fn write(&mut self, name: &str, values: &[Option<f64>], out: &mut Out<'_>) {
        for (size, value) in self.sizes.iter().zip(values) {
            // An algorithm that this library was built without has none.
            let value = value.filter(|value| *value > 0.0);
            self.results.of(out, names::TRANSFER_BYTES_PER_S, &format!("{name} {size} B"), value);
        }
    }

    /// `rsa 2048 bits 0.000681s 0.000019s 1469.0 52820.0`: seconds of each, and how many in a second.
    fn operations(&mut self, line: &str, out: &mut Out<'_>) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(names) = words.len().checked_sub(self.titles.len()).filter(|names| *names > 0) else { return false };
        let cells = &words[names..];
        if cells.is_empty() || !cells.iter().all(|cell| number(cell.trim_end_matches('s')).is_some()) {
            return false;
        }
        let name = words[..names].join(" ");
        for (title, cell) in self.titles.iter().zip(cells) {
            // The times follow from the rates, and are rounded more.
            let Some(what) = title.strip_suffix("/s") else { continue };
            let result = match what {
                "sign" => higher("sign_per_s", "/s"),
                "verify" => higher("verify_per_s", "/s"),
                "op" => names::THROUGHPUT,
                "encr" => higher("encrypt_per_s", "/s"),
                "decr" => higher("decrypt_per_s", "/s"),
                "keygens" | "keygen" => higher("keygen_per_s", "/s"),
                "encaps" => higher("encaps_per_s", "/s"),
                _ => higher("decaps_per_s", "/s"),
            };
            self.results.of(out, result, &name, number(cell));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{detect, fixtures::read, load::tests::result};

    #[test]
    fn rates_are_bytes_and_operations_per_second() {
        let text = "\
version: 3.0.19
built on: Fri Apr  3 12:29:32 2026 UTC
options: bn(64,64)
The 'numbers' are in 1000s of bytes per second processed.
type             16 bytes     64 bytes
AES-128-GCM      37635.52k   144271.68k
                  sign    verify    sign/s verify/s
rsa 2048 bits 0.000681s 0.000019s   1469.0  52820.0
                              op      op/s
 256 bits ecdh (nistp256)   0.0001s  19183.8
";
        assert_eq!(detect(&Head { text }).unwrap().name, "openssl-speed");
        let read = read(&FORMAT, text.as_bytes());
        assert_eq!(read.tally.notes, 0, "{}", read.text);
        for (name, value) in [
            ("transfer_bytes_per_s[AES-128-GCM 64 B]", 144_271_680.0),
            ("sign_per_s[rsa 2048 bits]", 1469.0),
            ("throughput[256 bits ecdh (nistp256)]", 19183.8),
        ] {
            assert_eq!(result(&read.text, name), Some(value), "{name}\n{}", read.text);
        }
    }

    #[test]
    fn tables_of_types_are_nobodys() {
        for text in ["type size\nint 4 bytes\n", "type 4 apples\nred 5k\n", "Doing dishes for 3s: 5 plates in 3s\n"] {
            assert!(detect(&Head { text }).is_none(), "{text}");
        }
    }
}
