//! Contents of the screen.

use fenxi_model::{
    Micros, Rows,
    catalog::{db, db_session, db_wait},
};

use super::*;
use crate::Frame;

const SERVER: &str = "db1:5432";

fn rows(second: i64) -> Rows {
    let t = Micros(second * 1_000_000);
    let mut rows = Rows::new("h");
    rows.row(&db::TABLE, t, 1.0)
        .str(db::server, SERVER)
        .f64(db::sessions, 12.0)
        .f64(db::samples, 10.0)
        .f64(db::active_sampled, second as f64)
        .f64(db::commits_per_s, 230.0);
    rows.row(&db_wait::TABLE, t, 1.0)
        .str(db_wait::server, SERVER)
        .str(db_wait::activity, "lock")
        .str(db_wait::kind, "client")
        .str(db_wait::measured, "sampled")
        .f64(db_wait::time, 2.0);
    for (session, blocker, user) in [(7, Some(9), "ann\u{1b}[2J"), (9, None, "bob")] {
        rows.row(&db_session::TABLE, Micros(t.0 - 50_000), 0.1)
            .str(db_session::server, SERVER)
            .i64(db_session::session, session)
            .i64(db_session::blocked_by, blocker)
            .str(db_session::user, user)
            .str(db_session::activity, "lock");
    }
    rows
}

fn top(seconds: i64, is_replay: bool) -> Top {
    let mut top = Top::new(None, is_replay);
    for second in 1..=seconds {
        let rows = rows(second);
        top.history.take(&Frame { t: Micros(second * 1_000_000), dt: 1.0, since_boot: false, rows: &rows });
    }
    top
}

fn screen(top: &Top) -> Vec<String> {
    let canvas = draw(top, 100, 30);
    (0..30).map(|y| canvas.line(y).trim_end().to_owned()).collect()
}

#[test]
fn figures_chart_and_sessions_are_on_the_screen() {
    let lines = screen(&top(5, false));
    assert!(lines[0].starts_with("db1:5432") && lines[0].ends_with("live"), "{lines:?}");
    assert!(lines[1].starts_with("sess     act      tps"), "{lines:?}");
    assert!(lines[2].starts_with("12       5.0      230"), "{lines:?}");
    assert!(lines[3].starts_with("█████    ▂▄▅▇█    █████"), "{lines:?}");
    assert!(lines[4..12].iter().all(|line| line.starts_with("XXXXX ")), "{lines:?}");
    assert!(lines.iter().any(|line| line.ends_with("X lock        2.0")), "{lines:?}");
    assert!(lines[13].starts_with("session") && lines[13].contains("activity"), "{lines:?}");
    // The blocker, and below it the one that waits; nothing in a name clears the screen.
    assert!(lines[14].contains('9') && lines[14].contains("bob"), "{lines:?}");
    assert!(lines[15].contains("└ 7") && lines[15].contains("ann?[2J"), "{lines:?}");
}

#[test]
fn keys_switch_sort_filter_and_pause() {
    let mut top = top(3, false);
    top.key(Key::Char('3'));
    assert!(screen(&top)[13].starts_with("  s/s*") || screen(&top)[13].starts_with(" s/s*"), "{:?}", screen(&top));
    top.key(Key::Char('s'));
    assert!(screen(&top)[13].contains("activity*"));
    top.key(Key::Char('1'));
    for key in [Key::Char('/'), Key::Char('b'), Key::Char('o'), Key::Char('q'), Key::Backspace, Key::Enter] {
        assert_eq!(top.key(key), Flow::On);
    }
    let lines = screen(&top);
    assert!(lines[14].contains("bob") && !lines.iter().any(|line| line.contains("ann")), "{lines:?}");
    assert!(lines[29].ends_with("1 row  [bo]"), "{lines:?}");
    top.key(Key::Char(' '));
    let later = rows(9);
    top.history.take(&Frame { t: Micros(9_000_000), dt: 1.0, since_boot: false, rows: &later });
    assert!(screen(&top)[0].ends_with("paused") && screen(&top)[2].starts_with("12       3.0"));
    top.key(Key::Char(' '));
    assert!(screen(&top)[2].starts_with("12       9.0"));
    assert_eq!(top.key(Key::Char('q')), Flow::Over);
}

#[test]
fn a_recording_is_stepped_through() {
    let mut top = top(5, true);
    assert!(screen(&top)[0].ends_with("recorded, 1 of 5"));
    for (key, number) in
        [(Key::Right, 2), (Key::PageDown, 5), (Key::Right, 5), (Key::Left, 4), (Key::Home, 1), (Key::End, 5)]
    {
        top.key(key);
        assert!(screen(&top)[0].ends_with(&format!("{number} of 5")), "{key:?} {:?}", screen(&top)[0]);
    }
}

#[test]
fn a_small_terminal_is_no_reason_to_fail() {
    for (width, height) in [(1, 1), (20, 5), (80, 24), (300, 100)] {
        for shown in [top(130, false), Top::new(None, false)] {
            let canvas = draw(&shown, width, height);
            assert_eq!((canvas.width(), canvas.height()), (width, height));
        }
    }
}
