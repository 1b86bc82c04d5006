//! `fenxi db snap`, `db diff` and `db report`, with a separate server.

use crate::{
    server::{Server, skipped},
    support::Fenxi,
};

/// All words of a text, one blank between two.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn all_forms_of_a_report_say_the_same() {
    let more = ["-c", "shared_preload_libraries=pg_stat_statements", "-c", "track_io_timing=on"];
    let Some(server) = Server::postgres_with(&more) else { return skipped("PostgreSQL", "it is not installed") };
    let (fenxi, url) = (Fenxi::new(), server.url("postgres"));
    let mut client = server.client("postgres");
    client.run("CREATE EXTENSION pg_stat_statements").unwrap();
    client.run("CREATE TABLE a (n int PRIMARY KEY)").unwrap();
    // The counts of a session are published when it ends.
    drop(client);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    fenxi.ok(&["db", "snap", &url, "--name", "before", "-q"]);
    let work = |from: u32, to: u32| {
        let mut client = server.client("postgres");
        (from..to).for_each(|n| drop(client.run(&format!("INSERT INTO a VALUES ({n})")).unwrap()));
        drop(client);
        std::thread::sleep(std::time::Duration::from_millis(1100));
    };
    work(0, 300);
    fenxi.ok(&["db", "snap", &url, "--name", "middle", "-q"]);
    work(300, 400);
    fenxi.ok(&["db", "snap", &url, "--name", "after", "-q"]);
    assert!(fenxi.fails(1, &["db", "report", "before"]).contains("name two of one server"));
    assert!(fenxi.fails(1, &["db", "diff", "before", "before"]).contains("one snapshot"));
    fenxi.ok(&["db", "diff", "before", "middle", "--name", "first", "-q"]);
    fenxi.ok(&["db", "diff", "after", "middle", "--name", "second", "-q"]);
    let runs = fenxi.number("SELECT count(DISTINCT run) AS n FROM db WHERE dt > 0.5");
    for _ in 0..2 {
        fenxi.ok(&["db", "report", "before", "after", "-q"]);
    }
    let again = fenxi.number("SELECT count(DISTINCT run) AS n FROM db WHERE dt > 0.5");
    assert_eq!((runs, again), (2.0, 3.0), "an interval is made once");

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["r.html", "r.md", "r.txt"] {
        fenxi.ok(&["db", "report", "first", "second", "-q", "-o", &file(name)]);
    }
    assert!(fenxi.fails(1, &["db", "report", "first", "-o", &file("r.pdf")]).contains("no form"));
    let read = |name: &str| fs_err::read_to_string(file(name)).unwrap();
    let (html, markdown, text) = (read("r.html"), read("r.md"), read("r.txt"));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&fenxi.ok(&["db", "report", "first", "second", "--json"])).unwrap();
    let (text, mut figures) = (words(&text), 0);
    for section in json["sections"].as_array().unwrap() {
        for line in section["lines"].as_array().unwrap() {
            let cells = line["cells"].as_array().unwrap().iter().flat_map(|cells| cells.as_array().unwrap());
            for cell in cells.filter(|cell| cell.get("value").is_some()) {
                let shown = cell["shown"].as_str().unwrap();
                assert!(html.contains(&format!("<td>{shown}</td>")), "{shown} of {} is not in HTML", section["id"]);
                assert!(markdown.contains(&format!("| {shown} |")), "{shown} of {} is not in Markdown", section["id"]);
                assert!(text.contains(&words(shown)), "{shown} of {} is not in the text", section["id"]);
                figures += 1;
            }
        }
    }
    assert!(figures > 100, "{figures}");
    is_what_was_done(&fenxi, &json);
    a_page_and_a_section_are_the_same(&fenxi, &json, &file("page.html"));
}

/// A page that is saved carries the same structure, and a section alone is that of the whole.
fn a_page_and_a_section_are_the_same(fenxi: &Fenxi, json: &serde_json::Value, file: &str) {
    fenxi.ok(&["report", "/db-report?run=first&against=second", "-q", "-o", file]);
    let html = fs_err::read_to_string(file).unwrap();
    let (_, rest) = html.split_once("id=\"fenxi-data\">").unwrap();
    let page: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let answers = page["answers"].as_object().unwrap();
    let report = &answers["/api/v1/dbreport?run=first&against=second"];
    for part in ["server", "sections"] {
        assert_eq!(report[part], json[part]);
    }
    assert!(answers.keys().filter(|key| key.starts_with("/api/v1/panel?question=db-activity")).count() == 2);
    let alone = fenxi.ok(&["db", "report", "first", "second", "--section", "databases", "--json"]);
    let alone: serde_json::Value = serde_json::from_str(&alone).unwrap();
    let [only] = alone["sections"].as_array().unwrap().as_slice() else { panic!("{alone}") };
    assert!(json["sections"].as_array().unwrap().contains(only), "{only}");
    let refused = fenxi.fails(1, &["db", "report", "first", "--section", "everything"]);
    assert!(refused.contains("no section `everything`") && refused.contains("load-profile"), "{refused}");
}

/// The figures of both periods are those of the question, and what was done.
fn is_what_was_done(fenxi: &Fenxi, json: &serde_json::Value) {
    let profile = json["sections"].as_array().unwrap().iter().find(|s| s["id"] == "load-profile").unwrap();
    let inserted = profile["lines"].as_array().unwrap().iter().find(|line| line["keys"][0] == "rows inserted").unwrap();
    let asked = |run: &str| {
        let answer = fenxi.ok(&["ask", "db-load-profile", "-r", run, "--json"]);
        let rows = answer.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        rows.into_iter().find(|row| row["what"] == "rows inserted").unwrap()["per_second"].as_f64().unwrap()
    };
    for (place, (run, rows)) in [("first", 300.0), ("second", 100.0)].into_iter().enumerate() {
        let told = inserted["cells"][0][place]["value"].as_f64().unwrap();
        assert!((told - asked(run)).abs() < 1e-9, "{told}");
        let seconds = fenxi.number(&format!("SELECT max(dt) AS n FROM db WHERE run LIKE '%-{run}-%'"));
        assert!((told * seconds - rows).abs() <= rows / 100.0, "{} of {rows}", told * seconds);
    }
    assert_eq!(profile["columns"][1]["name"], "difference");
    let of = |column: usize, period: usize| inserted["cells"][column][period]["value"].as_f64().unwrap();
    assert!((of(1, 0) - (of(0, 1) - of(0, 0))).abs() < 1e-9);
    let statements = json["sections"].as_array().unwrap().iter().find(|s| s["id"] == "statements-calls").unwrap();
    assert!(statements["lines"][0]["text"].as_str().unwrap().starts_with("insert into a"), "{statements}");
}
