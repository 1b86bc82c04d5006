//! A process's use of a GPU, as the `fdinfo` of its descriptor has it: time or cycles of engines, and memory.

/// Purpose of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Work {
    /// Computing and graphics.
    Compute,
    Copy,
    Video,
}

/// Use of an engine since the process opened the GPU.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Engine {
    pub(super) name: String,
    pub(super) work: Work,
    /// Nanoseconds, or cycles.
    pub(super) used: u64,
    /// All cycles meanwhile; None: nanoseconds count.
    pub(super) of: Option<u64>,
    /// How many engines of this kind there are.
    pub(super) capacity: f64,
}

/// The content of one `fdinfo`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Client {
    /// Address of the GPU.
    pub(super) pci: String,
    /// Number of the client: several descriptors can be of one.
    pub(super) id: u64,
    pub(super) engines: Vec<Engine>,
    pub(super) memory_bytes: Option<f64>,
}

impl Client {
    /// Reads the file; None of one that is no descriptor of a GPU.
    pub(super) fn parse(text: &str) -> Option<Client> {
        let lines = || text.lines().filter_map(|line| line.strip_prefix("drm-")?.split_once(':'));
        let value = |name: &str| lines().find(|(key, _)| *key == name).map(|(_, value)| value.trim());
        let number = |name: &str| value(name).and_then(first_number);
        let engine = |(key, text): (&str, &str)| -> Option<Engine> {
            let used = first_number(text)?;
            let (name, of) = match (key.strip_prefix("engine-"), key.strip_prefix("cycles-")) {
                (Some(name), _) if !name.starts_with("capacity-") => (name, None),
                (_, Some(name)) => (name, Some(number(&format!("total-cycles-{name}"))?)),
                _ => return None,
            };
            let capacity = number(&format!("engine-capacity-{name}")).unwrap_or(1).max(1) as f64;
            Some(Engine { name: name.to_owned(), work: work(name)?, used, of, capacity })
        };
        Some(Client {
            pci: value("pdev")?.to_owned(),
            id: number("client-id")?,
            engines: lines().filter_map(engine).collect(),
            memory_bytes: memory(lines),
        })
    }
}

/// Purpose by name: amdgpu has `gfx`, `compute`, `dma`, `enc`; i915 `render`, `copy`, `video`; xe `rcs`, `bcs`, `vcs`.
fn work(name: &str) -> Option<Work> {
    Some(match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_') {
        "gfx" | "render" | "rcs" | "compute" | "ccs" => Work::Compute,
        "dma" | "copy" | "bcs" => Work::Copy,
        "enc" | "dec" | "jpeg" | "uvd" | "vce" | "vcn" | "vpe" | "video" | "video-enhance" | "vcs" | "vecs" => {
            Work::Video
        }
        _ => return None,
    })
}

/// Memory of the GPU in bytes; of one that has none, the host's.
fn memory<'t, L: Iterator<Item = (&'t str, &'t str)>>(lines: impl Fn() -> L) -> Option<f64> {
    // Drivers write the older name too; what is resident counts, as several processes may share the rest.
    for kind in ["resident-", "memory-"] {
        for own in [true, false] {
            let is_own = |region: &str| ["vram", "local"].iter().any(|name| region.starts_with(name));
            let parts = lines().filter_map(|(key, value)| Some((key.strip_prefix(kind)?, value)));
            let parts = parts.filter(|(region, _)| is_own(region) == own && (own || !region.starts_with("stolen")));
            let sum = parts.filter_map(|(_, value)| bytes(value)).reduce(|a, b| a + b);
            if let Some(sum) = sum.filter(|sum| *sum > 0.0 || !own) {
                return Some(sum);
            }
        }
    }
    None
}

/// `12 KiB`, `3 MiB`, `4096`
fn bytes(text: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let number: f64 = words.next()?.parse().ok()?;
    let factor = match words.next() {
        None | Some("B") => 1.0,
        Some("KiB") => 1024.0,
        Some("MiB") => 1_048_576.0,
        Some("GiB") => 1_073_741_824.0,
        Some(_) => return None,
    };
    Some(number * factor)
}

fn first_number(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_driver_has_its_own_words() {
        let amd = "pos:\t0\ndrm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t42\ndrm-memory-vram:\t2048 KiB\n\
                   drm-memory-gtt:\t9 KiB\ndrm-engine-gfx:\t5000 ns\ndrm-engine-enc_1:\t7 ns\n";
        let client = Client::parse(amd).unwrap();
        assert_eq!((client.pci.as_str(), client.id, client.memory_bytes), ("0000:03:00.0", 42, Some(2_097_152.0)));
        let seen: Vec<_> = client.engines.iter().map(|engine| (engine.work, engine.used)).collect();
        assert_eq!(seen, [(Work::Compute, 5000), (Work::Video, 7)]);

        let i915 = "drm-driver: i915\ndrm-pdev: 0000:00:02.0\ndrm-client-id: 7\ndrm-engine-video: 80 ns\ndrm-engine-capacity-video: 2\n\
                    drm-resident-system0: 12 MiB\ndrm-resident-stolen-system0: 5 MiB\n";
        let client = Client::parse(i915).unwrap();
        assert_eq!((client.engines.len(), client.engines[0].capacity), (1, 2.0));
        assert_eq!(client.memory_bytes, Some(12.0 * 1_048_576.0), "an integrated GPU has the host's memory");

        let xe = "drm-driver: xe\ndrm-pdev: 0000:00:02.0\ndrm-client-id: 7\ndrm-cycles-rcs: 30\ndrm-total-cycles-rcs: 100\ndrm-cycles-bcs: 1\n";
        let client = Client::parse(xe).unwrap();
        assert_eq!((client.engines.len(), client.engines[0].of), (1, Some(100)), "cycles need those of all");
    }

    #[test]
    fn what_is_no_client_is_none() {
        for text in [
            "",
            "pos: 0\nflags: 02\n",
            "drm-driver: x\ndrm-pdev: a\n",
            "drm-client-id: 1\n",
            "drm-pdev: a\ndrm-client-id: -1\n",
        ] {
            assert_eq!(Client::parse(text), None, "{text}");
        }
        let odd =
            Client::parse("drm-pdev: a\ndrm-client-id: 1\ndrm-engine-gfx: x ns\ndrm-memory-vram: 1 parsec\n").unwrap();
        assert_eq!((odd.engines.len(), odd.memory_bytes), (0, None));
    }
}
