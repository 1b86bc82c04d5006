//! `media`: errors that storage counted and repaired or not: of each device of a btrfs file system, and of md arrays.
//!
//! They are few files and change seldom, so they are read at the start and at the end. Counts are those since the file system
//! or the array was made or they were reset; what rises in between happened in the recording.

use fenxi_model::{Rows, catalog::metric};

use super::facts::names;
use crate::{Collector, Root, Source, SourceError, Spec, Take, Tick};

/// The `media` source.
pub static SOURCE: Media = Media;

static SPEC: Spec = Spec {
    name: "media",
    summary: "errors that btrfs and md counted on each device, at start and end",
    tables: &[&metric::TABLE],
    take: Take::StartAndEnd,
    default: true,
    live: false,
};

/// Folder of a btrfs file system each.
const BTRFS: &str = "/sys/fs/btrfs";
/// Lines of a device's `error_stats`, and their metrics.
const COUNTS: &[(&str, &str)] = &[
    ("write_errs", "btrfs.write_errors"),
    ("read_errs", "btrfs.read_errors"),
    ("flush_errs", "btrfs.flush_errors"),
    ("corruption_errs", "btrfs.corruption_errors"),
    ("generation_errs", "btrfs.generation_errors"),
];

/// Collects rows of `metric`.
pub struct Media;

impl Source for Media {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn start(&self, root: &Root) -> Result<Box<dyn Collector>, SourceError> {
        Ok(Box::new(Reader { root: root.clone() }))
    }
}

struct Reader {
    root: Root,
}

impl Collector for Reader {
    fn sample(&mut self, tick: Tick, rows: &mut Rows) -> Result<(), SourceError> {
        let mut add = |name: &str, device: &str, value: f64| {
            let mut row = rows.row(&metric::TABLE, tick.t, None);
            row.str(metric::name, name).str(metric::labels, &*format!("device={device}")).f64(metric::value, value);
        };
        for uuid in names(&self.root, BTRFS) {
            self.btrfs(&uuid, &mut add);
        }
        for array in names(&self.root, "/sys/block").iter().filter(|name| name.starts_with("md")) {
            self.md(array, &mut add);
        }
        Ok(())
    }
}

impl Reader {
    fn number(&self, path: &str) -> Option<f64> {
        self.root.read_text(path)?.trim().parse().ok()
    }

    fn btrfs(&self, uuid: &str, add: &mut dyn FnMut(&str, &str, f64)) {
        let folder = format!("{BTRFS}/{uuid}");
        let ids = names(&self.root, &format!("{folder}/devinfo"));
        let devices = names(&self.root, &format!("{folder}/devices"));
        let label = self.root.read_text(&format!("{folder}/label"));
        let label = label.as_deref().map(str::trim).filter(|label| !label.is_empty());
        // A label is what people call it; a comma would end the label of the metric.
        let label = label.map_or_else(|| uuid.chars().take(8).collect(), |label| label.replace([',', '='], " "));
        for id in &ids {
            // The kernel does not show which device has which number, where there are several.
            let device = match (devices.as_slice(), ids.len()) {
                ([device], 1) => device.clone(),
                _ => format!("btrfs {label} {id}"),
            };
            let Some(text) = self.root.read_text(&format!("{folder}/devinfo/{id}/error_stats")) else { continue };
            for line in text.lines() {
                let Some((word, value)) = line.split_once(' ') else { continue };
                let known = COUNTS.iter().find(|(of, _)| *of == word);
                if let (Some((_, metric)), Ok(value)) = (known, value.trim().parse()) {
                    add(metric, &device, value);
                }
            }
        }
    }

    fn md(&self, array: &str, add: &mut dyn FnMut(&str, &str, f64)) {
        let folder = format!("/sys/block/{array}/md");
        if let Some(mismatches) = self.number(&format!("{folder}/mismatch_cnt")) {
            add("md.mismatches", array, mismatches);
        }
        for member in names(&self.root, &folder).iter().filter_map(|name| name.strip_prefix("dev-")) {
            if let Some(errors) = self.number(&format!("{folder}/dev-{member}/errors")) {
                add("md.corrected_read_errors", &format!("{array} {member}"), errors);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use crate::testing::Machine;

    #[test]
    fn devices_of_btrfs_and_md_have_the_errors_that_they_counted() {
        let machine = Machine::new();
        let stats = "write_errs 0\nread_errs 3\nflush_errs 0\ncorruption_errs 1788\ngeneration_errs 0\nodd\n";
        machine.put("/sys/fs/btrfs/aaaaaaaa-1/devinfo/1/error_stats", stats);
        machine.put("/sys/fs/btrfs/aaaaaaaa-1/devices/sdb/dev", "8:16\n");
        machine.put("/sys/fs/btrfs/bbbbbbbb-2/devinfo/1/error_stats", "corruption_errs 7\n");
        machine.put("/sys/fs/btrfs/bbbbbbbb-2/devinfo/2/error_stats", "corruption_errs x\n");
        machine.put("/sys/fs/btrfs/features/raid1c34", "0\n");
        machine.put("/sys/block/md0/md/mismatch_cnt", "128\n");
        machine.put("/sys/block/md0/md/dev-sdc/errors", "2\n");
        machine.put("/sys/block/sda/size", "1\n");
        let seen = machine.start(&SOURCE).tick(None);
        for (name, device, count) in [
            ("btrfs.corruption_errors", "sdb", 1788.0),
            ("btrfs.read_errors", "sdb", 3.0),
            ("btrfs.corruption_errors", "btrfs bbbbbbbb 1", 7.0),
            ("md.mismatches", "md0", 128.0),
            ("md.corrected_read_errors", "md0 sdc", 2.0),
        ] {
            assert_eq!(
                seen.value("metric", "value", &[name, &format!("device={device}")]),
                Some(count),
                "{name} {device}"
            );
        }
        assert_eq!(seen.keys("metric").len(), 8);
    }
}
