//! GPUs that are not there: a stand-in for NVIDIA's library, and trees of files.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use fenxi_model::{Micros, Rows};

use super::{IF_THERE, SOURCE, nvidia::Nvidia};
use crate::{
    Source, Tick,
    testing::{Machine, Observed, Session, near},
};

/// The stand-in, compiled in `folder` by what links this test, too.
fn library(folder: &Path) -> PathBuf {
    let to = folder.join("libnvidia-ml.so.1");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&to).arg("fixtures/gpu/nvml.c").status();
    assert!(compiled.unwrap().success());
    to
}

/// Rows of three samples of the stand-in's GPUs, the last of an interval of `pause`.
fn seen(pause: Duration) -> [Observed; 2] {
    let folder = tempfile::tempdir().unwrap();
    let mut nvidia = Nvidia::at(&library(folder.path()));
    let mut sample = |dt: Option<f64>| {
        let mut rows = Rows::new("h");
        nvidia.sample(Tick::new(Micros(1), dt), &mut rows);
        rows
    };
    assert!(sample(None).is_empty(), "the first sample has no interval");
    std::thread::sleep(pause);
    let first = Observed::of(sample(Some(pause.as_secs_f64())));
    std::thread::sleep(pause);
    [first, Observed::of(sample(Some(pause.as_secs_f64())))]
}

#[test]
fn a_gpu_at_work_shows_what_holds_it_down_and_who_uses_it() {
    let [first, second] = seen(Duration::from_millis(200));
    let value = |column: &str| first.value("gpu", column, &["0", ""]);
    // 690 W by the energy, while the moment's power is 650 W; sleeping takes longer than asked for.
    let power = value("power_w").unwrap();
    assert!(power >= 690.0, "{power}");
    assert!((value("throttled_power").unwrap() - 60.0).abs() < 1.0, "{:?}", value("throttled_power"));
    near(value("throttled_heat"), 0.0);
    let whole = [("util", 97.0), ("clock_hz", 1.41e9), ("clock_limit_hz", 1.98e9), ("temperature_c", 71.0)];
    let more = [("memory_temperature_c", 83.0), ("slowdown_c", 89.0), ("power_limit_w", 700.0), ("ecc_corrected", 2.0)];
    let profiled = [("sm_active", 88.0), ("sm_occupancy", 35.0), ("tensor_active", 52.0), ("dram_active", 61.0)];
    for (column, expected) in whole.into_iter().chain(more).chain(profiled) {
        near(value(column), expected);
    }
    near(value("pcie_rx_bytes_per_s"), 57_000.0 * 1_048_576.0);
    // 32 GT/s on 16 lanes.
    near(value("pcie_limit_bytes_per_s"), 32e9 / 8.0 * 128.0 / 130.0 * 16.0);
    assert_eq!((value("nvlink_rx_bytes_per_s"), value("pcie_replays")), (None, None), "neither is there");

    let comm = fs_err::read_to_string("/proc/self/comm").unwrap();
    let key = ["0", "", &std::process::id().to_string(), comm.trim()];
    near(second.value("gpu_process", "memory_bytes", &key), 77.0 * 1_073_741_824.0);
    near(second.value("gpu_process", "util", &key), 92.0);
    near(second.value("gpu_process", "video_util", &key), 5.0);
    assert_eq!(second.count("gpu_process"), 1);
    let events = [first.events(), second.events()].concat();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].starts_with("gpu error gpu 0: Xid 94: contained memory error"), "{events:?}");
}

#[test]
fn a_zero_where_the_driver_knows_nothing_is_none() {
    let [first, _] = seen(Duration::from_millis(20));
    let value = |column: &str| first.value("gpu", column, &["1", ""]);
    assert_eq!(value("util"), None, "a GPU that draws 55 of 60 W is not idle");
    near(value("power_w"), 55.0);
    for column in ["temperature_c", "clock_hz", "memory_used_bytes", "memory_total_bytes", "pcie_rx_bytes_per_s"] {
        assert_eq!(value(column), None, "{column}");
    }
    for column in ["throttled_power", "sm_active", "ecc_corrected", "memory_temperature_c", "pcie_limit_bytes_per_s"] {
        assert_eq!(value(column), None, "{column}");
    }
    assert_eq!(first.text("gpu", "model", &["1", ""]).as_deref(), Some("Stand-in Small"));
}

/// A machine with a discrete GPU of AMD that a process uses.
fn amd() -> Machine {
    let machine = Machine::new();
    let device = "/sys/devices/pci0000:00/0000:03:00.0";
    for (file, content) in [
        ("vendor", "0x1002\n"),
        ("device", "0x73bf\n"),
        ("gpu_busy_percent", "83\n"),
        ("mem_busy_percent", "31\n"),
        ("mem_info_vram_total", "17163091968\n"),
        ("mem_info_vram_used", "16900000000\n"),
        ("pp_dpm_sclk", "0: 500Mhz \n1: 1200Mhz *\n2: 2475Mhz \n"),
        ("pp_dpm_mclk", "0: 96Mhz\n1: 1000Mhz *\n"),
        ("current_link_speed", "16.0 GT/s PCIe\n"),
        ("current_link_width", "8\n"),
        ("ras/umc_err_count", "ue: 0\nce: 3\n"),
        ("hwmon/hwmon4/power1_average", "203000000\n"),
        ("hwmon/hwmon4/power1_cap", "255000000\n"),
        ("hwmon/hwmon4/temp1_label", "edge\n"),
        ("hwmon/hwmon4/temp1_input", "64000\n"),
        ("hwmon/hwmon4/temp1_crit", "100000\n"),
        ("hwmon/hwmon4/temp3_label", "mem\n"),
        ("hwmon/hwmon4/temp3_input", "78000\n"),
    ] {
        machine.put(&format!("{device}/{file}"), content);
    }
    machine
        .put("/sys/class/drm/card1/dev", "226:1\n")
        .link("/sys/class/drm/card1/device", "../../../devices/pci0000:00/0000:03:00.0");
    machine.put("/sys/class/drm/card1-DP-1/status", "connected\n");
    machine.put("/proc/50/comm", "python3\n").put("/proc/50/fdinfo/3", "pos: 0\n");
    machine.link("/proc/50/fd/3", "/dev/null").link("/proc/50/fd/7", "/dev/dri/renderD128");
    machine.link("/proc/50/fd/8", "/dev/dri/renderD128");
    engines(&machine, 1_000_000_000, 5_000_000);
    machine
}

/// Sets the process's use of the engines, in nanoseconds: two descriptors of one client.
fn engines(machine: &Machine, compute: u64, copy: u64) {
    let text = format!(
        "drm-driver: amdgpu\ndrm-pdev: 0000:03:00.0\ndrm-client-id: 9\ndrm-memory-vram: 1048576 KiB\n\
         drm-engine-compute: {compute} ns\ndrm-engine-dma: {copy} ns\n"
    );
    machine.put("/proc/50/fdinfo/7", &text).put("/proc/50/fdinfo/8", &text);
}

fn begun(machine: Machine) -> Session {
    let mut session = machine.start(&SOURCE);
    session.tick(None);
    session
}

#[test]
fn a_card_of_amd_is_read_from_files() {
    let mut session = begun(amd());
    engines(&session.machine, 2_200_000_000, 105_000_000);
    session.machine.put("/sys/devices/pci0000:00/0000:03:00.0/ras/umc_err_count", "ue: 1\nce: 5\n");
    let seen = session.tick(2.0);
    let value = |column: &str| seen.value("gpu", column, &["card1", ""]);
    for (column, expected) in [
        ("util", 83.0),
        ("memory_util", 31.0),
        ("memory_total_bytes", 17_163_091_968.0),
        ("memory_used_bytes", 16.9e9),
        ("clock_hz", 1.2e9),
        ("clock_limit_hz", 2.475e9),
        ("memory_clock_hz", 1e9),
        ("power_w", 203.0),
        ("power_limit_w", 255.0),
        ("temperature_c", 64.0),
        ("memory_temperature_c", 78.0),
        ("slowdown_c", 100.0),
        ("ecc_corrected", 2.0),
        ("ecc_uncorrected", 1.0),
        ("pcie_limit_bytes_per_s", 16e9 / 8.0 * 128.0 / 130.0 * 8.0),
    ] {
        near(value(column), expected);
    }
    assert_eq!((value("throttled_power"), value("sm_active")), (None, None), "there is no file of these");
    // 1.2 of 2 s, and 0.1: each client once.
    let process = |column: &str| seen.value("gpu_process", column, &["card1", "", "50", "python3"]);
    near(process("util"), 60.0);
    near(process("copy_util"), 5.0);
    near(process("memory_bytes"), 1_073_741_824.0);
    assert_eq!((process("video_util"), seen.count("gpu"), seen.count("gpu_process")), (None, 1, 1));
}

#[test]
fn a_process_that_ends_and_files_that_go_leave_no_row_and_no_panic() {
    let mut session = begun(amd());
    session.machine.remove("/proc/50");
    for file in ["gpu_busy_percent", "mem_info_vram_total", "pp_dpm_sclk", "hwmon/hwmon4/power1_average"] {
        session.machine.remove(&format!("/sys/devices/pci0000:00/0000:03:00.0/{file}"));
    }
    session.machine.put("/sys/devices/pci0000:00/0000:03:00.0/mem_busy_percent", "what\n");
    let seen = session.tick(1.0);
    let value = |column: &str| seen.value("gpu", column, &["card1", ""]);
    assert_eq!((value("memory_util"), value("memory_used_bytes"), value("clock_hz")), (None, None, None));
    assert_eq!((value("power_w"), seen.count("gpu_process")), (None, 0));
}

#[test]
fn a_gpu_of_intel_has_its_use_from_its_users_and_its_reasons_from_files() {
    let machine = Machine::new();
    machine.put("/sys/devices/pci0000:00/0000:00:02.0/vendor", "0x8086\n");
    machine.put("/sys/devices/pci0000:00/0000:00:02.0/device", "0x9a49\n");
    for (file, content) in [
        ("rps_act_freq_mhz", "900\n"),
        ("rps_RP0_freq_mhz", "1300\n"),
        ("throttle_reason_pl1", "1\n"),
        ("throttle_reason_pl2", "0\n"),
        ("throttle_reason_thermal", "0\n"),
    ] {
        machine.put(&format!("/sys/class/drm/card0/gt/gt0/{file}"), content);
    }
    machine.link("/sys/class/drm/card0/device", "../../../devices/pci0000:00/0000:00:02.0");
    let use_of = |machine: &Machine, pid: u32, ns: u64| {
        let text =
            format!("drm-driver: i915\ndrm-pdev: 0000:00:02.0\ndrm-client-id: {pid}\ndrm-engine-render: {ns} ns\n");
        machine.put(&format!("/proc/{pid}/comm"), format!("game{pid}\n")).put(&format!("/proc/{pid}/fdinfo/5"), text);
        machine.link(&format!("/proc/{pid}/fd/5"), "/dev/dri/card0");
    };
    use_of(&machine, 70, 0);
    use_of(&machine, 80, 100);
    let mut session = begun(machine);
    use_of(&session.machine, 70, 300_000_000);
    use_of(&session.machine, 80, 450_000_100);
    let seen = session.tick(1.0);
    let value = |column: &str| seen.value("gpu", column, &["card0", ""]);
    near(value("util"), 75.0);
    near(value("throttled_power"), 100.0);
    near(value("throttled_heat"), 0.0);
    near(value("clock_hz"), 9e8);
    assert_eq!((value("memory_total_bytes"), seen.count("gpu_process")), (None, 2));
}

#[test]
fn without_a_gpu_it_is_silent_unless_it_was_asked_for() {
    // A console has a card that is no GPU to be recorded.
    let machine = || {
        let machine = Machine::new();
        machine.put("/sys/class/drm/card0/device/vendor", "0x1a03\n");
        machine
    };
    let mut session = machine().start(&IF_THERE);
    session.tick(None);
    let seen = session.tick(1.0);
    assert_eq!((seen.count("gpu"), seen.notes()), (0, Vec::new()));
    let refused = SOURCE.start(&machine().root()).err().unwrap().to_string();
    assert!(
        refused.starts_with("a GPU is not available: ") && refused.contains("no card of AMD or Intel"),
        "{refused}"
    );
    // With the driver and without its library there is a GPU that is not seen.
    let driver = machine();
    driver.put("/sys/module/nvidia/version", "550.54.15\n");
    assert!(IF_THERE.start(&driver.root()).is_err());
}
