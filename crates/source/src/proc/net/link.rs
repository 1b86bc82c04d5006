//! Kind, speed and utilisation of a network link.

use crate::Root;

/// Kind, speed and duplex of an interface.
#[derive(Debug, PartialEq)]
pub struct Link {
    /// A class of the `net` table's column `class`.
    pub class: &'static str,
    /// Megabits per second; None when the driver does not say.
    pub speed_mbps: Option<f64>,
    /// `full` or `half`; None when the driver does not say.
    pub duplex: Option<&'static str>,
    /// `up`, `down` or another of the kernel's words; None when it does not say.
    pub state: Option<Box<str>>,
}

impl Link {
    /// The state of the interface in sysfs.
    pub fn read(root: &Root, name: &str) -> Link {
        let mut link = Link { class: class_of(root, name), speed_mbps: None, duplex: None, state: None };
        link.refresh(root, name);
        link
    }

    /// Reads state, speed and duplex anew: a cable may have been plugged.
    pub fn refresh(&mut self, root: &Root, name: &str) {
        let text = |file: &str| root.read_text(&format!("/sys/class/net/{name}/{file}"));
        self.state = state(text("operstate").as_deref(), text("flags").as_deref());
        // tun reports 10 Mb/s and veth 10 Gb/s whatever they can do: constants of the driver, no speed.
        if matches!(self.class, "tun" | "veth" | "loopback") {
            return;
        }
        self.speed_mbps = text("speed").as_deref().and_then(speed);
        self.duplex = match text("duplex").as_deref() {
            Some("full") => Some("full"),
            Some("half") => Some("half"),
            _ => None,
        };
    }

    /// Utilisation in percent for so many bytes per second; None without a speed.
    ///
    /// Links of unknown duplex are taken for full duplex, as every link since gigabit is.
    pub fn util(&self, rx_bytes_per_s: f64, tx_bytes_per_s: f64) -> Option<f64> {
        let bytes_per_s = match self.duplex {
            Some("half") => rx_bytes_per_s + tx_bytes_per_s,
            _ => rx_bytes_per_s.max(tx_bytes_per_s),
        };
        Some((bytes_per_s * 800.0 / (self.speed_mbps? * 1e6)).min(100.0))
    }
}

/// The state in a word; drivers that do not report theirs (loopback, tun) are up when they were set up.
fn state(operstate: Option<&str>, flags: Option<&str>) -> Option<Box<str>> {
    match operstate {
        Some("unknown") | None => {
            let flags = u32::from_str_radix(flags?.trim_start_matches("0x"), 16).ok()?;
            // IFF_UP is the lowest bit.
            Some(if flags & 1 == 1 { "up".into() } else { "down".into() })
        }
        Some("lowerlayerdown" | "notpresent") => Some("down".into()),
        Some(word) => Some(word.into()),
    }
}

/// A speed in Mb/s as sysfs prints it; -1, and what older kernels print for it, is unknown.
fn speed(text: &str) -> Option<f64> {
    let mbps: i64 = text.parse().ok()?;
    let unknown = mbps <= 0 || mbps == 65_535 || mbps >= i64::from(i32::MAX);
    (!unknown).then_some(mbps as f64)
}

fn class_of(root: &Root, name: &str) -> &'static str {
    let folder = format!("/sys/class/net/{name}");
    let has = |file: &str| root.exists(&format!("{folder}/{file}"));
    if !root.is_dir(&folder) {
        return class_by_name(name);
    }
    let text = |file: &str| root.read_text(&format!("{folder}/{file}"));
    let uevent = text("uevent").unwrap_or_default();
    let devtype = uevent.lines().find_map(|l| l.strip_prefix("DEVTYPE="));
    // 772 is ARPHRD_LOOPBACK.
    if text("type").as_deref() == Some("772") {
        return "loopback";
    }
    if has("bonding") || matches!(devtype, Some("bond" | "team")) {
        return "bond";
    }
    if has("bridge") || devtype == Some("bridge") {
        return "bridge";
    }
    if devtype == Some("vlan") || root.exists(&format!("/proc/net/vlan/{name}")) {
        return "vlan";
    }
    if has("tun_flags") {
        return "tun";
    }
    // A link, broken in a saved copy, to the card or virtual card behind the interface.
    if root.read_link(&format!("{folder}/device")).is_some() || has("device") {
        return "physical";
    }
    // A veth's peer is its `iflink`; others of which that holds have a type or a lower interface.
    // Peers in two network namespaces may have the same index: then the driver's constant speed decides.
    let constant = text("speed").as_deref() == Some("10000");
    let peer = (constant || text("iflink") != text("ifindex")) && devtype.is_none() && !has_lower(root, &folder);
    if peer || name.starts_with("veth") { "veth" } else { "virtual" }
}

/// Whether the interface is stacked on another one (`lower_eth0`).
fn has_lower(root: &Root, folder: &str) -> bool {
    let Ok(found) = root.list(folder) else { return false };
    found.iter().any(|(name, _)| name.as_encoded_bytes().starts_with(b"lower_"))
}

/// A guess from the name, where sysfs was not saved.
fn class_by_name(name: &str) -> &'static str {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if name == "lo" {
        "loopback"
    } else if begins(&["veth"]) {
        "veth"
    } else if begins(&["bond", "team"]) {
        "bond"
    } else if begins(&["br", "virbr", "docker", "cni", "lxcbr"]) {
        "bridge"
    } else if begins(&["tun", "tap", "wg", "vnet"]) {
        "tun"
    } else if name.contains('.') || begins(&["vlan"]) {
        "vlan"
    } else if begins(&["eth", "en", "wl", "ww", "ib", "hsi", "em", "p1p", "p2p"]) {
        "physical"
    } else {
        "virtual"
    }
}

#[cfg(test)]
mod tests {
    use super::{Link, class_by_name, speed, state};
    use crate::testing::Machine;

    fn link(duplex: Option<&'static str>) -> Link {
        Link { class: "physical", speed_mbps: Some(100.0), duplex, state: None }
    }

    #[test]
    fn full_duplex_counts_the_busier_direction_and_half_duplex_both() {
        // 100 Mb/s are 12.5 million bytes a second.
        assert_eq!(link(Some("full")).util(5e6, 2.5e6), Some(40.0));
        assert_eq!(link(Some("half")).util(5e6, 2.5e6), Some(60.0));
        assert_eq!(link(None).util(5e6, 2.5e6), Some(40.0));
        assert_eq!(link(Some("full")).util(5e9, 0.0), Some(100.0));
        assert_eq!(Link { speed_mbps: None, ..link(None) }.util(1.0, 1.0), None);
    }

    #[test]
    fn a_state_that_the_driver_does_not_tell_is_that_of_its_flags() {
        let of = |operstate, flags| state(operstate, flags).unwrap_or_default();
        assert_eq!(&*of(Some("unknown"), Some("0x1043")), "up");
        assert_eq!(&*of(Some("unknown"), Some("0x1002")), "down");
        assert_eq!(&*of(Some("lowerlayerdown"), None), "down");
        assert_eq!(&*of(Some("dormant"), None), "dormant");
        assert_eq!(state(None, None), None);
    }

    #[test]
    fn a_speed_that_the_driver_does_not_know_is_none() {
        assert_eq!(speed("200000"), Some(200_000.0));
        for text in ["-1", "65535", "4294967295", "0", ""] {
            assert_eq!(speed(text), None, "{text}");
        }
    }

    #[test]
    fn the_kind_of_an_interface_is_what_sysfs_says() {
        let machine = Machine::new();
        let net = "/sys/class/net";
        for (name, file, content) in [
            ("lo", "type", "772"),
            ("uplink", "bonding/mode", "802.3ad 4"),
            ("lan", "bridge/stp_state", "0"),
            ("storage", "uevent", "DEVTYPE=vlan\nINTERFACE=storage"),
            ("vpn", "tun_flags", "0x1001"),
            ("eth0", "device/vendor", "0x8086"),
            ("dummy0", "type", "1"),
        ] {
            machine.put(&format!("{net}/{name}/iflink"), "3").put(&format!("{net}/{name}/ifindex"), "3");
            machine.put(&format!("{net}/{name}/{file}"), content);
        }
        machine.put(&format!("{net}/pod/iflink"), "9").put(&format!("{net}/pod/ifindex"), "3");
        machine.put(&format!("{net}/vpn/speed"), "10").put(&format!("{net}/eth0/speed"), "25000");
        machine.put(&format!("{net}/eth0/duplex"), "full");
        let class = |name: &str| Link::read(&machine.root(), name).class;
        assert_eq!(class("lo"), "loopback");
        assert_eq!(class("uplink"), "bond");
        assert_eq!(class("lan"), "bridge");
        assert_eq!(class("storage"), "vlan");
        assert_eq!(class("pod"), "veth");
        assert_eq!(class("dummy0"), "virtual");
        let eth0 = Link { class: "physical", speed_mbps: Some(25_000.0), duplex: Some("full"), state: None };
        assert_eq!(Link::read(&machine.root(), "eth0"), eth0);
        // The 10 Mb/s of a tun are its driver's constant.
        let vpn = Link { class: "tun", speed_mbps: None, duplex: None, state: None };
        assert_eq!(Link::read(&machine.root(), "vpn"), vpn);
    }

    #[test]
    fn without_sysfs_the_name_must_do() {
        let names = ["lo", "eth0", "enp3s0", "bond0", "br-1a2b", "eth0.100", "veth12", "tap0", "ifb0"];
        let classes: Vec<_> = names.into_iter().map(class_by_name).collect();
        let expected = ["loopback", "physical", "physical", "bond", "bridge", "vlan", "veth", "tun", "virtual"];
        assert_eq!(classes, expected);
    }
}
