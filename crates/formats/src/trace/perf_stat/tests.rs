//! Lines of every form, locale and version.

use super::*;

#[test]
fn rates_follow_from_counters_and_other_derived_values_do_not() {
    assert_eq!(derived("cycles", "GHz"), None);
    assert_eq!(derived("cs", "281.7 cs/sec  cs_per_second"), None);
    assert_eq!(derived("cs", "K/sec"), None);
    assert_eq!(derived("branch-misses", "% of all branches"), Some(("branch-misses_share".to_owned(), "%")));
    assert_eq!(derived("instructions", "insn per cycle"), Some(("insn_per_cycle".to_owned(), "")));
    assert_eq!(derived("slots", "%  tma_retiring"), Some(("tma_retiring".to_owned(), "%")));
}

#[test]
fn numbers_of_every_locale_are_read() {
    for (line, value) in [
        ("  77 375 671 cycles", 77_375_671.0),
        ("  77\u{202f}375\u{202f}671 cycles", 77_375_671.0),
        ("  1.021.411      cycles", 1_021_411.0),
        ("  1,021,411      cycles", 1_021_411.0),
        ("  26,554473 task-clock (msec)  #    0,965 CPUs utilized", 0.026_554_473),
        ("  1.234,56 msec task-clock", 1.234_56),
        ("  1,234.56 msec task-clock", 1.234_56),
        ("  1,234 cs", 1234.0),
        ("  12.5 Joules power/energy-pkg/", 12.5),
        ("  120,581,557      task-clock      #    0.925 CPUs utilized", 0.120_581_557),
        ("  521557      task-clock:u", 0.000_521_557),
        ("  521.557123 task-clock-msecs", 0.521_557_123),
    ] {
        let reading = text::reading(line).unwrap();
        assert!((reading.value.unwrap() - value).abs() < 1e-9 * value, "{line}: {reading:?}");
    }
}

#[test]
fn events_of_cores_of_two_kinds_are_told_apart_by_a_label() {
    let read = crate::fixtures::read(
        &FORMAT,
        b"1000,,cpu_core/cycles/,500,50.00,,\n70,,cpu_atom/cycles/,500,50.00,,\n5,,cpu_atom/cycles/u,500,50.00,,\n9.5,Joules,power/energy-pkg/,500,100.00,,\n",
    );
    for row in [
        "\tperf.cycles\tpmu=cpu_core\t1000",
        "\tperf.cycles\tpmu=cpu_atom\t70",
        "\tperf.cycles:u\tpmu=cpu_atom\t5",
        "\tperf.power/energy-pkg/\t\t9.5",
        "\tperf.running\tpmu=cpu_atom,event=cycles\t50",
    ] {
        assert!(read.text.contains(row), "{row}: {}", read.text);
    }
}

#[test]
fn every_kind_of_csv_line_is_read() {
    for (line, separator, place, event, value) in [
        ("120.58,msec,task-clock,120581557,100.00,0.925,CPUs utilized", ',', "", "task-clock", 0.12058),
        ("1255.538611,task-clock", ',', "", "task-clock", 1.255_538_611),
        ("251,,context-switches,33.33%,120581557,100.00,2.082,K/sec", ',', "", "context-switches", 251.0),
        ("CPU1;181;;cs;202940515;100.00;;", ';', "cpu=1", "cs", 181.0),
        ("     0.200307717,S0-D0-C0,1,150,,cs,101513532,100.00,1.478,K/sec", ',', "core=S0-D0-C0", "cs", 150.0),
        ("my prog-53,7,,cs,5,100.00,,", ',', "thread=my prog-53", "cs", 7.0),
        ("120581557,,task-clock,120581557,100.00,0.925,CPUs utilized", ',', "", "task-clock", 0.120_581_557),
        ("120581557,ns,cpu-clock:u,120581557,100.00,,", ',', "", "cpu-clock:u", 0.120_581_557),
        ("120.581557,,task-clock,120581557,100.00,,", ',', "", "task-clock", 0.120_581_557),
        ("1002290425,,duration_time,1002290425,100.00,,", ',', "", "duration_time", 1.002_290_425),
    ] {
        let Some(reading) = csv::reading(line, separator) else {
            assert!(event.is_empty(), "{line}");
            continue;
        };
        assert_eq!((reading.place.as_str(), reading.event.as_str()), (place, event), "{line}");
        assert!((reading.value.unwrap() - value).abs() < 1e-9, "{line}");
    }
}
