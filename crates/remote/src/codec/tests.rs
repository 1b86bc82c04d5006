//! Whatever is encoded is decoded again, and what is damaged is an error.

use fenxi_model::{
    Micros, Rows,
    catalog::{HOST, cpu, event, process, text},
};

use super::{Decoder, Encoder};

/// Everything in rows, in words.
fn message(rows: &Rows) -> Vec<String> {
    let mut all = Vec::new();
    for table in rows.tables() {
        for row in 0..table.n_rows() {
            let mut line = table.table().name.to_owned();
            for (place, column) in table.table().columns.iter().enumerate() {
                let (number, integer) = (table.f64(row, place).map(f64::to_bits), table.i64(row, place));
                let (moment, words) = (table.micros(row, place), table.str(row, place));
                line.push_str(&format!(" {}={number:?}{integer:?}{moment:?}{words:?}", column.name));
            }
            all.push(line);
        }
    }
    all
}

/// A tick of a host whose processes come and go.
fn tick(n: i64, processes: &[i64]) -> Rows {
    let mut rows = Rows::new("db1");
    let (t, dt) = (Micros(1_000_000 * n + n * 37 % 91), 1.0 + (n * 7919 % 1000) as f64 * 1e-7);
    for cpu in [None, Some("0"), Some("1")] {
        let mut row = rows.row(&cpu::TABLE, t, dt);
        row.str(cpu::cpu, cpu).f64(cpu::usr, (n * 31 % 97) as f64 / dt).f64(cpu::idle, 100.0 / 3.0 * n as f64);
        if n % 3 == 0 {
            row.f64(cpu::freq_hz, 2.4e9);
        }
    }
    for pid in processes {
        let mut row = rows.row(&process::TABLE, t, dt);
        row.i64(process::pid, *pid).str(process::comm, format!("name {}", pid % 5).as_str());
    }
    if n % 4 == 1 {
        rows.row(&text::TABLE, None, None).str(text::topic, "t").text(text::value, "a\nb").str(text::name, "");
        rows.event(t, "mark", "s", &format!("number {n}"));
        rows.row(&event::TABLE, t, None).str(event::kind, "mark");
    }
    rows
}

#[test]
fn every_value_comes_back_from_tick_to_tick() {
    let (mut encoder, mut decoder) = (Encoder::new().unwrap(), Decoder::new().unwrap());
    let of: [&[i64]; 6] = [&[1, 2, 3, 4], &[1, 2, 3, 4], &[2, 4, 9], &[9, 4, 2, 2, 7], &[], &[7, 1, 2]];
    for (n, processes) in of.iter().cycle().take(60).enumerate() {
        let rows = tick(n as i64, processes);
        let mut back = Rows::new("db1");
        decoder.decode(&encoder.encode(&rows).unwrap(), &mut back).unwrap();
        assert_eq!(message(&back), message(&rows), "tick {n}");
    }
}

#[test]
fn rows_get_the_host_that_the_recorder_knows() {
    let bytes = Encoder::new().unwrap().encode(&tick(1, &[1])).unwrap();
    let mut rows = Rows::new("store");
    Decoder::new().unwrap().decode(&bytes, &mut rows).unwrap();
    assert!(rows.tables().all(|table| (0..table.n_rows()).all(|row| table.str(row, HOST) == Some("store"))));
}

#[test]
fn damaged_bytes_are_an_error_and_nothing_worse() {
    let mut encoder = Encoder::new().unwrap();
    let first = encoder.encode(&tick(1, &[1, 2, 3])).unwrap();
    let second = encoder.encode(&tick(2, &[2, 3, 5])).unwrap();
    let mut refused = 0;
    for place in 0..second.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = second.clone();
            damaged[place] ^= change;
            let mut decoder = Decoder::new().unwrap();
            let mut rows = Rows::new("x");
            decoder.decode(&first, &mut rows).unwrap();
            refused += u32::from(decoder.decode(&damaged, &mut rows).is_err());
        }
    }
    assert!(refused > 0);
    // Not the next one of its stream.
    assert!(Decoder::new().unwrap().decode(&second, &mut Rows::new("x")).is_err());
}
