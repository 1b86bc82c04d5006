//! Boards, and what is different in a time range of a run.

use crate::support::Fenxi;

/// A minute of vmstat in which user time rises from the 29th second to the 39th: the first row is since boot.
fn imported() -> Fenxi {
    let fenxi = Fenxi::new();
    let mut text = String::from(
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
         r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n",
    );
    for second in 0..60 {
        let busy = if (30..40).contains(&second) { 80 } else { 10 + second % 3 };
        let row = format!(
            " 1  0      0 800000  20000 900000    0    0     0    {} 300 500 {busy}  2 {} 0 0\n",
            second % 5,
            98 - busy
        );
        text += &row;
    }
    let file = fenxi.path().with_file_name("vmstat.txt");
    fs_err::write(&file, text).unwrap();
    fenxi.ok(&["import", file.to_str().unwrap(), "--name", "minute", "--interval", "1s"]);
    fenxi
}

#[test]
fn what_is_different_in_a_range_is_ranked() {
    let fenxi = imported();
    let out = fenxi.ok(&["explain", "minute", "--window", "29s..39s"]);
    let at = out.find("Different in 29 s .. 39 s").unwrap_or_else(|| panic!("{out}"));
    let changes = &out[at..];
    assert!(changes.contains("cpu.usr") && changes.contains("×"), "{changes}");
    assert!(!changes.contains("mem.free"), "what stays the same is none: {changes}");
    let json = fenxi.ok(&["explain", "minute", "--window", "29s..39s", "--json"]);
    let told: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let usr = told.iter().find(|line| line["kind"] == "different" && line["column"] == "usr").unwrap();
    assert_eq!((usr["inside"].as_f64(), usr["sure"].as_bool()), (Some(80.0), Some(true)), "{usr}");
    // A quiet part of it differs in nothing.
    let out = fenxi.ok(&["explain", "minute", "--window", "5s..15s"]);
    assert!(!out.contains("cpu.usr "), "{out}");
}

#[test]
fn a_board_is_text_and_answers() {
    let fenxi = imported();
    let folder = fenxi.store().path().join("boards");
    fs_err::create_dir_all(&folder).unwrap();
    let text = "---\ntitle: One minute\nrun: minute\n---\nWhat the CPU did.\n\n```question\ncpu-time\nover: run-queue\n```\n\n\
                ```sql\n-- title: Most\nSELECT run, max(usr) AS most FROM cpu GROUP BY run\n```\n";
    fs_err::write(folder.join("minute.md"), text).unwrap();
    fs_err::write(folder.join("wrong.md"), "```question\n```\n").unwrap();
    let listed = fenxi.ok(&["ask", "--boards"]);
    assert!(listed.contains("One minute") && listed.contains("wrong.md: line 1"), "{listed}");
    let out = fenxi.ok(&["ask", "--board", "minute"]);
    assert!(
        out.contains("What the CPU did.") && out.contains("usr") && out.contains("Most") && out.contains("80"),
        "{out}"
    );
    let message = fenxi.fails(1, &["ask", "--board", "minut"]);
    assert!(message.contains("there is no board `minut`") && message.contains("minute"), "{message}");
    // As a file it holds the answers of all its questions, also of the one that is laid over.
    let file = fenxi.path().with_file_name("board.html");
    fenxi.ok(&["report", "/board?name=minute", "-o", file.to_str().unwrap()]);
    let html = fs_err::read_to_string(&file).unwrap();
    for request in ["question=cpu-time", "question=run-queue", "sql=SELECT"] {
        assert!(html.contains(request), "{request}");
    }
}
