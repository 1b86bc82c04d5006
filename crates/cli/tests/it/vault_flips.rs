//! One flipped bit in any file of a store: what the commands say is an error or what they said before.

use std::path::{Path, PathBuf};

use crate::{
    support::{Fenxi, text, walk},
    vault_kills::copy,
};

/// How many bits are flipped unless `FENXI_FLIPS` is set.
const FLIPS: usize = 24;
/// Copies of the store in which bits are flipped at the same time.
const AT_ONCE: usize = 4;

/// Commands run after each flip.
const ASKED: &[&[&str]] = &[
    &["runs", "--json"],
    &["show", "first", "--json"],
    &["show", "imported", "--json"],
    &["sql", "-o", "csv", "SELECT * FROM cpu ORDER BY ALL"],
    &["sql", "-o", "csv", "SELECT * FROM mem ORDER BY ALL"],
    &["sql", "-o", "csv", "SELECT * FROM text ORDER BY ALL"],
    &["sql", "-o", "csv", "SELECT * FROM stats ORDER BY ALL"],
    &["ask", "mine", "-o", "csv"],
    &["ask", "cpu-summary", "-o", "csv", "--run", "first"],
    &["ask"],
    &["findings", "first", "--json"],
    &["compare", "first", "imported", "--json"],
    &["study", "report", "tiny", "--json"],
    &["window", "first", "--json"],
];

/// A store with every kind of file.
fn full() -> (Fenxi, tempfile::TempDir) {
    let (fenxi, dir) = (Fenxi::new(), tempfile::TempDir::new().unwrap());
    fenxi.ok(&["record", "--name", "first", "--interval", "20ms", "--for", "200ms", "--source", "cpu,mem"]);
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/fixtures/vmstat/t-procps4.txt");
    fenxi.ok(&["import", "--name", "imported", &input.display().to_string()]);
    fenxi.ok(&["tag", "first", "good=yes", "--remark", "as it should be"]);
    fenxi.ok(&["window", "first", "steady", "0.05s..0.15s"]);
    let plan = dir.path().join("plan.toml");
    let quick = "[record]\ninterval = \"50ms\"\nsources = [\"cpu\"]\n";
    let cells = "name = \"tiny\"\nrepeats = 1\nseed = 3\ncommand = \"echo rate: 5\"\n[factors]\nn = [1, 2]\n\
                 [[response]]\nname = \"rate\"\npattern = 'rate: ([0-9.]+)'\n";
    fs_err::write(&plan, format!("{cells}{quick}")).unwrap();
    fenxi.ok(&["study", &plan.display().to_string()]);
    fenxi_query_keeps(&fenxi);
    (fenxi, dir)
}

/// A question, kept as the pages keep one.
fn fenxi_query_keeps(fenxi: &Fenxi) {
    let text = "-- title: Mine\nSELECT count(*) AS n, 'words' AS b FROM cpu\n";
    fenxi.store().keep_question("mine", text).unwrap();
}

/// Output of each command; None where it is an error.
fn answers(fenxi: &Fenxi) -> Vec<Option<String>> {
    let ask = |args: &&[&str]| {
        let output = fenxi.run(args);
        let crashed = output.status.code().is_none() || text(&output.stderr).contains("panicked");
        assert!(!crashed, "fenxi {args:?}: {output:?}");
        output.status.success().then(|| text(&output.stdout))
    };
    ASKED.iter().map(ask).collect()
}

/// A copy of the store, in which bits are flipped.
struct Flipped {
    fenxi: Fenxi,
    files: Vec<PathBuf>,
}

impl Flipped {
    fn copy_of(base: &Fenxi) -> Flipped {
        let fenxi = Fenxi::new();
        copy(&base.path(), &fenxi.path());
        let locks = [fenxi.path().join("locks"), fenxi.path().join("studies/tiny.lock")];
        let is_kept = |path: &PathBuf| !locks.iter().any(|lock| path.starts_with(lock));
        let mut files: Vec<PathBuf> = walk(&fenxi.path()).into_iter().filter(is_kept).collect();
        files.sort();
        Flipped { fenxi, files }
    }

    /// Flips a bit and asks; whether a command failed.
    fn flip(&self, flip: usize, flips: usize, right: &[Option<String>]) -> bool {
        let mut seed = (flip as u64 + 11).wrapping_mul(6_364_136_223_846_793_005);
        let mut next = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % n
        };
        // All kinds in turn when there are few, each file many times when there are many.
        let n = self.files.len();
        let path = &self.files[(flip * n / FLIPS.min(flips) + next(3)) % n];
        let Ok(before) = fs_err::read(path) else { return false };
        let bit = next(before.len() * 8);
        let mut bytes = before.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs_err::write(path, &bytes).unwrap();
        let noticed = !self.fenxi.run(&["verify", "--quiet"]).status.success();
        let now = answers(&self.fenxi);
        for ((args, now), right) in ASKED.iter().zip(&now).zip(right) {
            let same = now.is_none() || now == right;
            assert!(same, "bit {bit} of {}: fenxi {args:?} printed {now:?} and not {right:?}", path.display());
        }
        assert!(noticed, "`verify` did not see bit {bit} of {}", path.display());
        fs_err::write(path, &before).unwrap();
        now.iter().any(Option::is_none)
    }
}

#[test]
fn one_flipped_bit_in_any_file_of_a_store_never_gives_another_answer() {
    let (base, _dir) = full();
    let right = answers(&base);
    for (args, answer) in ASKED.iter().zip(&right) {
        assert!(answer.is_some(), "fenxi {args:?}: {}", text(&base.run(args).stderr));
    }
    let flips = std::env::var("FENXI_FLIPS").ok().and_then(|n| n.parse().ok()).unwrap_or(FLIPS);
    let errors: usize = std::thread::scope(|scope| {
        let (base, right) = (&base, &right);
        let part = move |first: usize| {
            let flipped = Flipped::copy_of(base);
            let errors = (first..flips).step_by(AT_ONCE).filter(|flip| flipped.flip(*flip, flips, right)).count();
            assert_eq!(&answers(&flipped.fenxi), right);
            errors
        };
        let parts: Vec<_> = (0..AT_ONCE).map(|first| scope.spawn(move || part(first))).collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    });
    eprintln!("{flips} bits flipped: {errors} gave errors, the others the same answers; `verify` saw all");
}
