//! GPUs that are not there, recorded through a stand-in for the library of NVIDIA's driver.

use std::{path::Path, process::Command};

use crate::support::{Fenxi, skipped, text};

const LIBRARY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../source/fixtures/gpu/nvml.c");

/// Compiles the stand-in under the name by which it is looked for; false where nothing does that.
fn library_in(folder: &Path) -> bool {
    let to = folder.join("libnvidia-ml.so.1");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(to).arg(LIBRARY).status();
    compiled.is_ok_and(|status| status.success())
}

#[test]
fn a_recording_has_gpus_their_users_their_errors_and_what_follows() {
    let folder = tempfile::tempdir().unwrap();
    if !library_in(folder.path()) {
        return skipped("GPUs of a stand-in", "there is no C compiler");
    }
    let fenxi = Fenxi::new();
    let mut record = fenxi.command(&["record", "--name", "g", "--source", "gpu", "--for", "6s", "--interval", "500ms"]);
    let output = record.env("LD_LIBRARY_PATH", folder.path()).env("STAND_IN_MIG", "1").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));

    // Once a second, though the others would be sampled twice.
    let rows = fenxi.number("SELECT count(*) FROM gpu WHERE gpu = '0'");
    assert!((4.0..=7.0).contains(&rows), "{rows}");
    let held = fenxi.number("SELECT wmean(throttled_power, dt) FROM gpu WHERE gpu = '0'");
    assert!((held - 60.0).abs() < 2.0, "{held}");
    let power = fenxi.number("SELECT wmean(power_w, dt) FROM gpu WHERE gpu = '0'");
    assert!((power - 690.0).abs() < 60.0, "{power}");
    let zeros = "SELECT count(util) + count(temperature_c) + count(clock_hz) + count(memory_total_bytes) FROM gpu WHERE gpu = '1'";
    assert_eq!(fenxi.number(zeros), 0.0, "what the driver does not know is NULL");
    let instance =
        "SELECT max(memory_total_bytes) / 1073741824 FROM gpu WHERE gpu = '2' AND instance = '0' AND sm_active = 88";
    assert_eq!(fenxi.number(instance), 10.0, "the instance has a row, and its number from its process");
    assert_eq!(
        fenxi.number("SELECT count(DISTINCT gpu) FROM gpu_process WHERE comm = 'fenxi' AND kind = 'compute'"),
        2.0
    );
    let facts = fenxi
        .sql("SELECT value FROM text WHERE topic = 'gpu' AND name IN ('driver_version', 'gpu=0 name') ORDER BY name");
    let facts: Vec<String> = facts.iter().map(ToString::to_string).collect();
    assert!(facts[0].contains("550.54.15") && facts[1].contains("Stand-in Large"), "{facts:?}");

    let findings = fenxi.ok(&["findings", "g", "--json"]);
    for name in ["gpu-throttled", "gpu-errors", "gpu-pcie-bound", "gpu-memory-nearly-full"] {
        assert!(findings.contains(&format!("\"{name}\"")), "{name}: {findings}");
    }
    assert!(!findings.contains("\"gpu-host-bound\""), "{findings}");
    assert!(findings.contains("Xid 94: contained memory error"), "{findings}");
    let said = fenxi.ok(&["ask", "gpus", "g"]);
    assert!(said.contains("Stand-in Large") && said.contains("1410"), "{said}");
    assert!(fenxi.ok(&["ask", "gpu-processes", "g"]).contains("fenxi"));
}

#[test]
fn without_a_gpu_only_who_asks_is_told() {
    let fenxi = Fenxi::new();
    let asked = fenxi.run(&["record", "--name", "asked", "--source", "gpu", "--for", "300ms"]);
    if asked.status.success() {
        assert!(fenxi.number("SELECT count(*) FROM gpu") > 0.0, "there is a GPU here, then");
        return;
    }
    let why = text(&asked.stderr);
    assert!(why.contains("a GPU is not available") && why.contains("libnvidia-ml.so.1"), "{why}");
    fenxi.ok(&["record", "--name", "all", "--for", "300ms"]);
    assert_eq!(fenxi.number("SELECT count(*) FROM note WHERE source = 'gpu'"), 0.0);
}

#[test]
fn what_another_tool_saw_of_a_gpu_is_judged_alike() {
    let fenxi = Fenxi::new();
    let mut csv = String::from(
        "timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], \
         temperature.gpu, clocks.current.sm [MHz], clocks.max.sm [MHz], clocks_event_reasons.active\n",
    );
    for second in 0..9 {
        let time = format!("2026/06/01 11:27:0{second}.177");
        csv += &format!(
            "{time}, 0, NVIDIA A100, 99 %, 40800 MiB, 40960 MiB, 310.00 W, 89, 900 MHz, 1410 MHz, 0x0000000000000020\n"
        );
        csv += &format!(
            "{time}, 1, NVIDIA A100, 97 %, 4096 MiB, 40960 MiB, 251.50 W, 60, 1410 MHz, 1410 MHz, 0x0000000000000000\n"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gpus.csv");
    fs_err::write(&file, csv).unwrap();
    fenxi.ok(&["import", file.to_str().unwrap(), "--name", "smi"]);
    let findings = fenxi.ok(&["findings", "smi"]).split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "GPU 0 (NVIDIA A100) was held down by heat for 100% of the time: its clock was 900 MHz of 1.41 GHz, at 89 °C and 310 W";
    assert!(findings.contains(expected), "{findings}");
    assert!(findings.contains("GPU 0 (NVIDIA A100) had up to 99.6% of its memory in use"), "{findings}");
    assert!(!findings.contains("GPU 1"), "{findings}");
}
