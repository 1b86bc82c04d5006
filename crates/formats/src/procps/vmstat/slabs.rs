//! `vmstat -m`: caches of kernel objects.

use fenxi_model::Micros;

use crate::Out;

/// Returns true if `line` is the header: `Cache   Num  Total   Size  Pages`.
pub fn is_header(line: &str) -> bool {
    line.split_ascii_whitespace().eq(["Cache", "Num", "Total", "Size", "Pages"])
}

/// One cache.
pub struct Slab<'a> {
    pub name: &'a str,
    /// Objects in use, all objects, bytes of one, objects in a slab.
    values: [f64; 4],
}

/// Reads a line of the list.
pub fn slab(line: &str) -> Option<Slab<'_>> {
    let mut values = [0.0; 4];
    let mut rest = line;
    for value in values.iter_mut().rev() {
        let (before, last) = rest.trim_end().rsplit_once(|c: char| c.is_ascii_whitespace())?;
        *value = last.parse::<u64>().ok()? as f64;
        rest = before;
    }
    let name = rest.trim();
    (!name.is_empty()).then_some(Slab { name, values })
}

impl Slab<'_> {
    /// Adds the four figures. The last column is headed `Pages` and holds objects in a slab.
    pub fn write(&self, t: Micros, out: &mut Out<'_>) {
        let labels = format!("cache={}", self.name.replace(',', "_"));
        let [active, all, size, in_slab] = self.values;
        out.metric(t, None, "vmstat.slab_active_objects", &labels, active, "");
        out.metric(t, None, "vmstat.slab_objects", &labels, all, "");
        out.metric(t, None, "vmstat.slab_object_bytes", &labels, size, "B");
        out.metric(t, None, "vmstat.slab_objects_per_slab", &labels, in_slab, "");
    }
}
