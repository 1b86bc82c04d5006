//! Plans of statements: which are looked at, and when one has changed.

use fenxi_model::statement::Quotes;

use super::*;
use crate::{moment::Interval, statements::Text};

fn heavy(running: f64, mean_ms: f64) -> Heavy {
    let text = Text::of("SELECT a FROM t WHERE id = 7", Quotes::Standard, false);
    Heavy {
        digest: text.digest,
        form: text.form,
        database: "d".into(),
        running,
        mean_ms: Some(mean_ms),
        ..Heavy::default()
    }
}

fn about(seconds: i64, is_last: bool) -> About<'static> {
    About { server: "s", interval: Interval { t: Micros(seconds * 1_000_000), dt: Some(1.0) }, is_last }
}

fn plan(node: &str) -> Result<Explained, String> {
    let plan = Plan::of_postgres(&format!("{node}  (cost=0.00..5.04 rows=100 width=0)")).unwrap();
    Ok(Explained { source: GENERIC, plan })
}

#[test]
fn a_plan_is_looked_at_when_it_is_new_or_time_per_call_moved_or_long_ago() {
    let mut plans = Plans::default();
    let mut rows = Rows::new("h");
    let mut is_due = |heavy: Heavy, seconds, is_last| {
        let about = about(seconds, is_last);
        let key = (heavy.database.clone(), heavy.digest.clone());
        let due = plans.known.get(&key).is_none_or(|known| known.is_due(&heavy, &about));
        if due {
            plans.tell(&Wanted { heavy, example: None }, plan("Seq Scan on t"), &about, &mut rows);
        }
        due
    };
    assert!(is_due(heavy(0.5, 2.0), 0, false));
    assert!(!is_due(heavy(0.5, 2.8), 10, false));
    assert!(is_due(heavy(0.5, 3.2), 20, false));
    assert!(!is_due(heavy(0.5, 2.9), 30, false));
    assert!(is_due(heavy(0.5, 2.0), 40, false), "it became faster");
    assert!(is_due(heavy(0.5, 2.0), 340, false));
    assert!(is_due(heavy(0.5, 2.5), 350, true), "nothing is asked later");
    assert_eq!(rows.of(&db_plan::TABLE).unwrap().n_rows(), 1, "it is the same plan all the time");
}

#[test]
fn a_changed_plan_is_an_event_with_both_and_another_way_of_asking_is_none() {
    let (mut plans, mut rows) = (Plans::default(), Rows::new("h"));
    let wanted = Wanted { heavy: heavy(0.5, 2.0), example: None };
    plans.tell(&wanted, plan("Index Scan using t_id on t"), &about(0, false), &mut rows);
    let of_example = plan("Bitmap Heap Scan on t").map(|explained| Explained { source: EXAMPLE, ..explained });
    plans.tell(&wanted, of_example, &about(10, false), &mut rows);
    let again = plan("Seq Scan on t").map(|explained| Explained { source: EXAMPLE, ..explained });
    plans.tell(&wanted, again, &about(20, false), &mut rows);
    let told = rows.of(&db_plan::TABLE).unwrap();
    assert_eq!(told.n_rows(), 3);
    assert_eq!((told.str(0, db_plan::change), told.str(1, db_plan::change)), (None, None));
    assert_eq!(told.str(2, db_plan::change), Some("t: bitmap heap scan → sequential scan"));
    assert_eq!(told.str(2, db_plan::replaced), told.str(1, db_plan::plan));
    assert_eq!(rows.of(&fenxi_model::catalog::event::TABLE).unwrap().n_rows(), 1);
}
