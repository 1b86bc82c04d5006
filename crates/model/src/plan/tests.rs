//! Plans as servers print them: their shape, cost and what differs.

use super::*;

/// EXPLAIN of PostgreSQL 15.18.
const BITMAP: &str = " Limit  (cost=275.03..275.06 rows=10 width=22)
   ->  Sort  (cost=275.03..275.28 rows=100 width=22)
         Sort Key: id
         ->  Bitmap Heap Scan on orders  (cost=5.07..271.71 rows=100 width=22)
               Recheck Cond: (customer = 42)
               Filter: (status = 'secret'::text)
               ->  Bitmap Index Scan on orders_customer  (cost=0.00..5.04 rows=100 width=0)
                     Index Cond: (customer = 42)
";

fn shape(text: &str) -> String {
    Plan::of_postgres(text).unwrap().shape()
}

#[test]
fn a_shape_has_nodes_relations_and_indexes_and_no_figure() {
    assert_eq!(
        shape(BITMAP),
        "limit\n  sort\n    bitmap heap scan on orders\n      bitmap index scan on orders_customer"
    );
    let other = BITMAP.replace("275.03", "9999.1").replace("rows=100", "rows=7").replace("42", "43");
    assert_eq!(shape(BITMAP), shape(&other));
    let tree = Plan::of_postgres(BITMAP).unwrap().tree();
    assert!(tree.contains("sort  (cost 275, 100 rows)\n      Sort Key: id\n"), "{tree}");
    assert!(!tree.contains("secret") && !tree.contains("42"), "{tree}");
}

#[test]
fn a_change_is_named_by_the_relation_and_the_ways_to_it() {
    let scan = " Limit  (cost=1..2 rows=10 width=22)
   ->  Sort  (cost=1..2 rows=100 width=22)
         ->  Seq Scan on orders  (cost=0..1 rows=100 width=22)";
    assert_eq!(
        difference(&shape(BITMAP), &shape(scan)).unwrap(),
        "orders: bitmap heap scan using orders_customer → sequential scan"
    );
    assert_eq!(difference(&shape(scan), &shape(scan)), None);
    let join = |kind: &str, a: &str, b: &str| {
        shape(&format!(
            "{kind}  (cost=1..2 rows=1 width=1)\n  ->  Seq Scan on {a}  (cost=1..2 rows=1 width=1)\n  ->  Seq Scan on {b}  (cost=1..2 rows=1 width=1)"
        ))
    };
    assert_eq!(
        difference(&join("Nested Loop", "a", "b"), &join("Hash Join", "a", "b")).unwrap(),
        "nested loop → hash join"
    );
    assert_eq!(difference(&join("Hash Join", "a", "b"), &join("Hash Join", "b", "a")).unwrap(), "order a, b → b, a");
}

#[test]
fn partitions_are_their_table_and_may_be_renamed_and_added() {
    let plan = |names: &[&str]| {
        let mut text = "Append  (cost=0.00..41.07 rows=3 width=12)\n".to_owned();
        for (n, name) in names.iter().enumerate() {
            let n = n + 1;
            text.push_str(&format!(
                "  ->  Index Scan using {name}_idx on {name} orders_{n}  (cost=0.15..8.{n} rows=1 width=12)\n        Index Cond: (orders_{n}.id = $1)\n"
            ));
        }
        shape(&text)
    };
    let two = plan(&["orders_2024_01", "orders_2024_02"]);
    assert_eq!(two, plan(&["orders_old", "orders_2024_02", "orders_2024_03"]));
    assert_eq!(two, "append\n  index scan on partitions of orders by (orders.id = ?)");
    // Parts of UNION ALL are separate tables.
    let union = "Append  (cost=0..1 rows=3 width=12)\n  ->  Seq Scan on a  (cost=0..1 rows=1 width=4)\n  ->  Seq Scan on b  (cost=0..1 rows=1 width=4)";
    assert_eq!(shape(union), "append\n  sequential scan on a\n  sequential scan on b");
}

#[test]
fn a_measured_plan_marks_estimates_that_were_off() {
    let text = "Nested Loop  (cost=0.43..16.9 rows=1 width=8) (actual time=0.1..9.1 rows=5000 loops=1)
  ->  Seq Scan on a x  (cost=0.00..8.1 rows=1 width=4) (actual time=0.1..1.1 rows=5000 loops=1)
        Rows Removed by Filter: 12
  ->  Index Only Scan using b_pkey on public.b  (cost=0.43..8.4 rows=1 width=4) (never executed)";
    let plan = Plan::of_postgres(text).unwrap();
    assert_eq!(plan.error(), Some(5000.0));
    let tree = plan.tree();
    assert!(tree.contains("sequential scan on a x  (cost 8.1, 1 rows, were 5000, ESTIMATE OFF 5000×)"), "{tree}");
    assert!(tree.contains("index only scan using b_pkey on public.b  (cost 8.4, 1 rows)"), "{tree}");
}

#[test]
fn the_table_of_mysql_has_ways_keys_and_what_is_done_besides() {
    let text = "id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra
1\tSIMPLE\torders\tref\torders_customer\torders_customer\t5\tconst\t100\tUsing where; Using filesort";
    let by_key = Plan::of_table(text).unwrap();
    assert_eq!(by_key.shape(), "index lookup + filesort using orders_customer on orders");
    let text = "id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tExtra
1\tSIMPLE\torders\tALL\t\\N\t\\N\t\\N\t\\N\t99801\tUsing where; Using filesort";
    let scan = Plan::of_table(text).unwrap();
    assert_eq!(
        difference(&by_key.shape(), &scan.shape()).unwrap(),
        "orders: index lookup + filesort using orders_customer → full scan + filesort"
    );
    assert_eq!(Plan::of_table("id\ttable"), None);
}

#[test]
fn no_text_is_too_odd() {
    for text in
        ["", "x", "  (cost=", "->", "a on  (cost=..", "\"  on  (cost=1..2 rows=", "→ using ü on é  (cost=1..2 rows=3)"]
    {
        let _ = Plan::of_postgres(text).map(|plan| (plan.tree(), plan.hash()));
        let _ = Plan::of_table(text).map(|plan| plan.tree());
        let _ = difference(text, "y");
    }
}
