//! Every shipped question on an empty store, on a full one, and on rows with answers calculated by hand.

use fenxi_model::{
    Rows,
    catalog::{cpu, disk, event, fs, irq, mem, net, process, result, text},
};
use fenxi_query::{
    Chart, Finding, Playbook, Question, SHIPPED, SHIPPED_FINDINGS, SHIPPED_PLAYBOOKS, Scope, Value, questions,
};

use crate::store::{TestStore, at, cells, fill_everything};

#[test]
fn every_shipped_question_is_listed_and_has_a_whole_header() {
    let folder = std::path::Path::new("../../questions");
    let files = fs_err::read_dir(folder).unwrap().count();
    assert_eq!(files, SHIPPED.len(), "a question is one file and one line in shipped.rs");
    assert!(SHIPPED.len() >= 20);
    for (name, sql) in SHIPPED {
        let q = Question::parse(name, sql).unwrap();
        assert!(q.title.ends_with('?'), "{name}: {}", q.title);
        assert!(q.about.len() > 30 && q.about.ends_with('.'), "{name}: {}", q.about);
        assert!(!q.sql.contains('"'), "{name}: other engines read double quotes as strings");
        assert!(q.order < 1000, "{name} has no order");
        if matches!(q.chart, Chart::Line | Chart::Stacked | Chart::Heatmap) {
            assert_eq!(q.x.as_deref(), Some("t"), "{name}");
        }
    }
}

/// Shipped texts are answered without the gate, which would plan each statement once more.
#[test]
fn every_shipped_text_would_pass_the_gate() {
    let s = TestStore::new();
    let engine = s.engine();
    for (name, sql) in SHIPPED {
        let question = Question::parse(name, sql).unwrap();
        let params = question.bind(&[]).unwrap();
        engine.query_with(&question.sql, &params, &Scope::of([])).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    for (name, sql) in SHIPPED_FINDINGS {
        let finding = Finding::parse(name, sql).unwrap();
        // The rows of a finding over two periods are there only in the statement that hands them over.
        let (sql, params) = match finding.periods {
            true => (finding.over_changes(), vec![("rows", Value::Text(String::new()))]),
            false => (finding.sql, Vec::new()),
        };
        engine.query_with(&sql, &params, &Scope::of([])).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn every_playbook_is_listed_and_leads_to_questions_and_steps_that_are_there() {
    let folder = std::path::Path::new("../../playbooks");
    assert_eq!(
        fs_err::read_dir(folder).unwrap().count(),
        SHIPPED_PLAYBOOKS.len(),
        "one file and one line in shipped.rs"
    );
    for (name, text) in SHIPPED_PLAYBOOKS {
        let playbook = Playbook::parse(name, text).unwrap();
        assert!(playbook.about.len() > 40 && playbook.about.ends_with('.'), "{name}: {}", playbook.about);
        for step in &playbook.steps {
            let at = format!("{name}, step {}", step.name);
            assert!(step.look.ends_with(['.', '?']), "{at}: {}", step.look);
            let sql = SHIPPED.iter().find(|(question, _)| *question == step.ask).unwrap_or_else(|| panic!("{at}")).1;
            let given: Vec<_> = step.param.clone().into_iter().collect();
            Question::parse(&step.ask, sql).unwrap().bind(&given).unwrap_or_else(|e| panic!("{at}: {e}"));
            for other in step.then.iter().filter_map(|next| next.playbook.as_ref()) {
                assert!(SHIPPED_PLAYBOOKS.iter().any(|(name, _)| name == other), "{at}: {other}");
            }
            // Each step but the first is reached by the file's order or by another step.
            let follows =
                playbook.steps.iter().flat_map(|s| &s.then).any(|next| next.step.as_ref() == Some(&step.name));
            assert!(follows || playbook.steps.len() > 1, "{at}");
        }
    }
}

#[test]
fn every_shipped_question_runs_on_an_empty_store_and_on_a_full_one() {
    let empty = TestStore::new();
    let mut full = TestStore::new();
    full.run("full", 2.0, fill_everything);
    let (on_empty, on_full) = (empty.engine(), full.engine());
    for q in questions(&full.store).unwrap() {
        let fails = |e| panic!("{}: {e}", q.name);
        let none = on_empty.answer(&q, &[], &Scope::all()).unwrap_or_else(fails);
        assert_eq!(none.n_rows(), 0, "{}", q.name);
        let answer = on_full.answer(&q, &[], &Scope::all()).unwrap_or_else(fails);
        let names: Vec<&str> = answer.columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names[..2], ["run", "host"], "{}", q.name);
        for column in q.y.iter().chain(&q.series).chain(&q.x) {
            assert!(names.contains(&column.as_str()), "{}: no column {column} in {names:?}", q.name);
        }
        if q.x.as_deref() == Some("t") {
            assert_eq!(names[2..4], ["t", "dt"], "{}", q.name);
            on_empty.answer_binned(&q, &[], &Scope::all(), 10).unwrap_or_else(|e| panic!("{}: {e}", q.name));
            on_full.answer_binned(&q, &[], &Scope::all(), 10).unwrap_or_else(|e| panic!("{}: {e}", q.name));
        }
        // These choose rows by words that no made-up row has.
        let chooses = [
            "compression-front",
            "cpu-cores",
            "cpu-summary",
            "cpu-time",
            "headline",
            "hosts-compared",
            "hosts-cpu",
            "hosts-facts",
            "hosts-map",
            "hosts-network",
            "interrupts-that-pin",
            "io-files",
            "kernel-locks",
            "log",
            "query-preempted",
            "query-statements",
            "query-time",
            "what-changed",
        ];
        // Those of databases have their own rows, in `databases.rs`.
        if !chooses.contains(&q.name.as_str()) && !q.sql.contains("class") && !q.name.starts_with("db-") {
            assert!(answer.n_rows() > 0, "{} has no rows", q.name);
        }
    }
}

/// Ten seconds of four CPUs: number 2 is saturated, the others are 4 % busy.
fn one_hot_cpu(rows: &mut Rows) {
    for second in 1..=10 {
        for n in 0..4 {
            let busy = if n == 2 { 99.0 } else { 4.0 };
            rows.row(&cpu::TABLE, at(f64::from(second)), 1.0)
                .str(cpu::cpu, n.to_string().as_str())
                .f64(cpu::usr, busy)
                .f64(cpu::sys, 0.5)
                .f64(cpu::softirq, 0.0)
                .f64(cpu::iowait, 0.25)
                .f64(cpu::idle, 99.75 - busy);
        }
    }
}

#[test]
fn a_single_saturated_cpu_on_an_idle_machine_stands_out() {
    let mut s = TestStore::new();
    s.run("hot", 10.0, one_hot_cpu);
    let got = s.ask("hottest-cpu");
    // 100 - idle - iowait: 99 for CPU 2, 4 for the others.
    assert_eq!(got[0], ["2", "99", "99", "10", "4", "99", "0.5", "0", "saturated while the others are mostly idle"]);
    assert_eq!(got[1][..6], ["0", "4", "4", "0", "35.666667", "4"]);
    assert_eq!(got.len(), 4);
    assert_eq!(got[1][8], "");
    let balance = s.ask("cpu-balance");
    assert_eq!(balance[0][2..], ["27.75", "99"]);
}

#[test]
fn means_are_weighted_by_the_length_of_the_interval() {
    let mut s = TestStore::new();
    s.run("uneven", 4.0, |rows| {
        rows.row(&cpu::TABLE, at(1.0), 1.0).f64(cpu::usr, 10.0).f64(cpu::idle, 90.0);
        rows.row(&cpu::TABLE, at(4.0), 3.0).f64(cpu::usr, 50.0).f64(cpu::idle, 50.0).f64(cpu::sys, 8.0);
    });
    let got = s.ask("cpu-summary");
    // (10 * 1 + 50 * 3) / 4 = 40; sys was known for 3 s only and takes no other time with it.
    assert_eq!(got, [["40", "50", "40", "-", "8", "-", "-", "-", "-", "-", "60"]]);
}

#[test]
fn disk_latency_is_weighted_by_requests() {
    let mut s = TestStore::new();
    s.run("disk", 2.0, |rows| {
        for (second, reads, wait, util) in [(1.0, 900.0, 1.0, 80.0), (2.0, 100.0, 21.0, 40.0)] {
            rows.row(&disk::TABLE, at(second), 1.0)
                .str(disk::device, "sda")
                .str(disk::class, "disk")
                .f64(disk::reads_per_s, reads)
                .f64(disk::writes_per_s, 0.0)
                .f64(disk::read_await_ms, wait)
                .f64(disk::await_ms, wait)
                .f64(disk::read_bytes_per_s, reads * 4096.0)
                .f64(disk::write_bytes_per_s, 0.0)
                .f64(disk::queue_depth, 2.0)
                .f64(disk::util, util);
            rows.row(&disk::TABLE, at(second), 1.0)
                .str(disk::device, "sda1")
                .str(disk::class, "partition")
                .f64(disk::util, 100.0);
        }
    });
    // (900 * 1 + 100 * 21) / 1000 = 3 ms, where the mean of the two moments would be 11.
    let hot = s.ask("hot-disks");
    assert_eq!(hot, [["sda", "disk", "60", "80", "500", "0", "2048000", "0", "3", "2"]]);
    let slow = s.ask("slow-disks");
    assert_eq!(slow, [["sda", "disk", "1", "3", "21", "-", "-", "1000", "0"]]);
}

#[test]
fn processes_are_ordered_by_cpu_seconds_and_idle_time_counts() {
    let mut s = TestStore::new();
    s.run("tasks", 10.0, |rows| {
        // Busy for 2 of 10 s with two threads; the other worked 1 s at 100 %.
        for second in [1.0, 2.0] {
            rows.row(&process::TABLE, at(second), 1.0)
                .i64(process::pid, 42)
                .str(process::comm, "postgres")
                .str(process::user, "pg")
                .f64(process::cpu, 150.0)
                .f64(process::usr, 100.0)
                .f64(process::sys, 50.0)
                .f64(process::rss_bytes, 1e6 * second)
                .f64(process::write_bytes_per_s, 500.0);
        }
        rows.row(&process::TABLE, at(3.0), 1.0)
            .i64(process::pid, 7)
            .str(process::comm, "sh")
            .f64(process::cpu, 100.0)
            .f64(process::read_bytes_per_s, 4000.0);
    });
    let got = s.ask("top-processes");
    assert_eq!(got[0], ["42", "postgres", "pg", "3", "2", "1", "30", "75", "-", "2000000", "-"]);
    assert_eq!(got[1], ["7", "sh", "-", "1", "-", "-", "10", "25", "-", "-", "-"]);
    let io = s.ask("process-io");
    assert_eq!(io[0][..4], ["7", "sh", "4000", "-"]);
    assert_eq!(io[1][..4], ["42", "postgres", "-", "1000"]);
    assert_eq!(s.ask("process-memory"), [["42", "postgres", "2000000", "1500000", "1000000", "-", "-"]]);
}

#[test]
fn parts_of_memory_add_up_to_the_total() {
    let mut s = TestStore::new();
    s.run("mem", 1.0, |rows| {
        rows.row(&mem::TABLE, at(1.0), 1.0)
            .f64(mem::total_bytes, 1000.0)
            .f64(mem::free_bytes, 100.0)
            .f64(mem::anon_bytes, 300.0)
            .f64(mem::cached_bytes, 350.0)
            .f64(mem::buffers_bytes, 20.0)
            .f64(mem::shmem_bytes, 50.0)
            .f64(mem::slab_reclaimable_bytes, 30.0)
            .f64(mem::slab_unreclaimable_bytes, 20.0)
            .f64(mem::kernel_stack_bytes, 5.0)
            .f64(mem::page_tables_bytes, 5.0);
    });
    // programs 300, cache 350 - 50 + 20, shared 50, kernel 60, huge none, other 1000 - 830, free 100.
    assert_eq!(s.ask("memory-breakdown")[0][2..], ["300", "320", "50", "60", "-", "170", "100"]);
}

#[test]
fn network_losses_are_counted_over_the_run() {
    let mut s = TestStore::new();
    s.run("net", 4.0, |rows| {
        for (second, dt, drops) in [(1.0, 1.0, 3.0), (4.0, 3.0, 2.0)] {
            rows.row(&net::TABLE, at(second), dt)
                .str(net::interface, "eth0")
                .f64(net::rx_bytes_per_s, 1000.0 * dt)
                .f64(net::rx_packets_per_s, 10.0)
                .f64(net::rx_drops_per_s, drops);
            rows.row(&net::TABLE, at(second), dt).str(net::interface, "lo").f64(net::rx_drops_per_s, 0.0);
        }
    });
    assert_eq!(s.ask("net-errors"), [["eth0", "-", "-", "9", "-", "-", "-", "-", "-", "-"]]);
    // (1000 * 1 + 3000 * 3) / 4 bytes/s over 10 packets/s.
    let busy = s.ask("busiest-interfaces");
    assert_eq!(busy[0][..7], ["eth0", "-", "2500", "-", "10", "-", "250"]);
}

#[test]
fn the_cpu_that_serves_most_of_an_interrupt_is_named() {
    let mut s = TestStore::new();
    s.run("irq", 2.0, |rows| {
        for second in [1.0, 2.0] {
            for (n, rate) in [("0", 100.0), ("1", 300.0)] {
                rows.row(&irq::TABLE, at(second), 1.0)
                    .str(irq::irq, "24")
                    .str(irq::cpu, n)
                    .str(irq::name, "nvme0q1")
                    .f64(irq::intr_per_s, rate);
            }
        }
    });
    assert_eq!(s.ask("interrupts-by-cpu"), [["24", "nvme0q1", "400", "1", "75", "2"]]);
    assert_eq!(s.ask("interrupts-heatmap").len(), 4);
}

#[test]
fn what_changed_shows_facts_that_differ_and_events() {
    let mut s = TestStore::new();
    s.run("facts", 10.0, |rows| {
        for (phase, second, governor) in [("start", 0.0, "powersave"), ("end", 10.0, "performance")] {
            for (name, value) in [("governor", governor), ("model", "Xeon")] {
                rows.row(&text::TABLE, at(second), None)
                    .str(text::topic, "cpu")
                    .str(text::name, name)
                    .str(text::phase, phase)
                    .text(text::value, value);
            }
        }
        rows.event(at(5.0), "missed tick", "recorder", "2 ticks were missed");
        rows.event(at(6.0), "mark", "me", "warm-up ends");
    });
    let got = s.ask("what-changed");
    let seen: Vec<&[String]> = got.iter().map(|r| &r[1..]).collect();
    assert_eq!(seen[0], ["missed tick", "recorder", "-", "2 ticks were missed"]);
    assert_eq!(seen[1], ["fact", "cpu governor", "powersave", "performance"]);
    assert_eq!(seen.len(), 2);
    assert_eq!(s.ask("events").len(), 2);
    assert_eq!(s.ask("facts"), [["cpu", "governor", "performance"], ["cpu", "model", "Xeon"]]);
    let _ = event::TABLE.name;
}

#[test]
fn the_summary_has_a_row_per_resource_with_a_small_line() {
    let mut s = TestStore::new();
    s.run("sum", 4.0, |rows| {
        for (second, idle) in [(1.0, 100.0), (2.0, 80.0), (3.0, 60.0), (4.0, 40.0)] {
            rows.row(&cpu::TABLE, at(second), 1.0).f64(cpu::idle, idle);
            rows.row(&mem::TABLE, at(second), 1.0).f64(mem::used_bytes, 25.0).f64(mem::total_bytes, 100.0);
        }
    });
    let e = s.engine();
    let answer = e.ask("resource-summary", &[("points".to_owned(), "2".to_owned())], &Scope::all()).unwrap();
    let got = cells(&answer);
    assert_eq!(got[0][..6], ["cpu", "busy", "%", "30", "60", "0"]);
    assert_eq!(got[1][..6], ["memory", "used", "%", "25", "25", "25"]);
    assert_eq!(got.len(), 2);
    assert_eq!(got[0][6], "[10.0, 50.0]");
}

#[test]
fn results_and_file_systems_are_shown_as_they_are() {
    let mut s = TestStore::new();
    s.run("r", 2.0, |rows| {
        rows.row(&result::TABLE, at(2.0), None)
            .str(result::name, "elapsed")
            .f64(result::value, 1.25)
            .str(result::unit, "s")
            .str(result::better, "lower");
        for (second, used) in [(1.0, 100.0), (2.0, 150.0)] {
            rows.row(&fs::TABLE, at(second), 1.0)
                .str(fs::mount, "/")
                .f64(fs::used_bytes, used)
                .f64(fs::used, used / 10.0);
        }
    });
    assert_eq!(s.ask("result-summary"), [["elapsed", "1.25", "s", "lower", "-"]]);
    assert_eq!(s.ask("fs-usage"), [["/", "-", "-", "15", "-", "150", "-", "50", "-"]]);
}

#[test]
fn the_headline_is_of_a_load_or_else_of_a_command() {
    let of = |results: &[(&str, f64, &str)]| {
        let mut s = TestStore::new();
        s.run("r", 2.0, |rows| {
            for (name, value, unit) in results {
                let mut row = rows.row(&result::TABLE, at(2.0), None);
                row.str(result::name, *name).f64(result::value, *value).str(result::unit, *unit);
            }
        });
        s.ask("headline").into_iter().map(|row| row[1..3].join(" ")).collect::<Vec<_>>()
    };
    let command = [("user_time", 3.0, "s"), ("system_time", 1.0, "s"), ("elapsed", 2.0, "s"), ("exit_status", 0.0, "")];
    assert_eq!(of(&command), ["elapsed 2", "CPU time 4"]);
    let load = [("latency_p99", 9.0, "ms"), ("elapsed", 2.0, "s"), ("reads", 7.0, ""), ("throughput", 50.0, "/s")];
    assert_eq!(of(&load), ["throughput 50", "latency p99 9"]);
}

#[test]
fn bins_keep_least_and_greatest_and_are_even() {
    let mut s = TestStore::new();
    s.run("bins", 10.0, |rows| {
        for second in 1..=10 {
            // A little late each time, as real samples are.
            rows.row(&cpu::TABLE, at(f64::from(second) + 0.002), 1.0)
                .str(cpu::cpu, "0")
                .f64(cpu::idle, 100.0 - 10.0 * f64::from(second));
        }
    });
    let b = s.engine().ask_binned("cpu-heatmap", &[], &Scope::all(), 5).unwrap();
    assert_eq!(b.t_rel_s, [2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(b.series.len(), 1);
    let line = &b.series[0];
    assert_eq!(line.name, "0");
    assert_eq!(line.min, [10.0, 30.0, 50.0, 70.0, 90.0].map(Some));
    assert_eq!(line.avg, [15.0, 35.0, 55.0, 75.0, 95.0].map(Some));
    assert_eq!(line.max, [20.0, 40.0, 60.0, 80.0, 100.0].map(Some));
    let fine = s.engine().ask_binned("cpu-heatmap", &[], &Scope::all(), 300).unwrap();
    assert_eq!(fine.t_rel_s.len(), 10);
    assert!(fine.series[0].avg.iter().all(Option::is_some));
}

#[test]
fn a_store_can_have_questions_of_its_own_and_replace_shipped_ones() {
    let mut s = TestStore::new();
    s.run("own", 10.0, one_hot_cpu);
    let folder = s.store.path().join("questions");
    fs_err::create_dir_all(&folder).unwrap();
    fs_err::write(folder.join("mine.sql"), "-- title: Mine?\n-- param: n = 2, how many\nSELECT cpu FROM cpu LIMIT $n")
        .unwrap();
    fs_err::write(folder.join("notes.sql"), "-- title: None?\nSELECT 1 AS one").unwrap();
    let e = s.engine();
    assert_eq!(e.ask("mine", &[], &Scope::all()).unwrap().n_rows(), 2);
    let three = [("n".to_owned(), "3".to_owned())];
    assert_eq!(e.ask("mine", &three, &Scope::all()).unwrap().n_rows(), 3);
    assert_eq!(cells(&e.ask("notes", &[], &Scope::all()).unwrap()), [["1"]]);
    let bad = e.ask("mine", &[("n".to_owned(), "x".to_owned())], &Scope::all()).unwrap_err().to_string();
    assert_eq!(bad, "question `mine`: n is a whole number, not `x`");
    let bad = e.ask("mine", &[("m".to_owned(), "1".to_owned())], &Scope::all()).unwrap_err().to_string();
    assert_eq!(bad, "question `mine`: there is no parameter `m`; it has n");
    fs_err::write(folder.join("bad.sql"), "-- title: Bad?\n-- chart: pie\nSELECT 1").unwrap();
    let bad = questions(&s.store).unwrap_err().to_string();
    assert!(bad.starts_with("bad.sql: line 2: `pie` is not a chart: one of table, line,"), "{bad}");
}

#[test]
fn marks_beside_a_run_are_rows_of_event() {
    let mut s = TestStore::new();
    let first = s.run("first", 10.0, |rows| rows.event(at(6.0), "mark", "me", "its own"));
    let second = s.run("second", 10.0, |_| {});
    let mark = |seconds, text: &str| fenxi_store::Mark { t: at(seconds), text: text.to_owned(), host: None };
    s.store.mark(&first, mark(5.0, "it's ready")).unwrap();
    s.store.mark(&second, mark(2.0, "began")).unwrap();
    s.store.mark(&second, mark(2.0, "began")).unwrap();
    let engine = s.engine();
    let of = |run: &fenxi_model::RunId| Scope { runs: Some(vec![run.clone()]), ..Scope::all() };
    let texts = |scope: &Scope| {
        let sql = "SELECT kind, message FROM event WHERE host = 'h1' ORDER BY run, t";
        // Fenxi's own statements share a worker, whose views exist: they see a mark that was set since all the same.
        let own = cells(&engine.ours(sql, &[], scope).unwrap());
        let texts = cells(&engine.query(sql, scope).unwrap());
        assert_eq!(own, texts);
        texts.into_iter().map(|row| row.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(texts(&of(&first)), ["mark it's ready", "mark its own"]);
    let mut all = texts(&Scope::all());
    all.sort();
    assert_eq!(all, ["mark began", "mark it's ready", "mark its own"], "one that is set twice is one");
    s.store
        .change_labels(&first, |entry| Ok::<_, fenxi_store::StoreError>(entry.labels.remove_marks("it's ready", None)))
        .unwrap();
    assert_eq!(texts(&of(&first)), ["mark its own"]);
}

#[test]
fn a_busy_thread_is_told_from_a_busy_core() {
    let mut s = TestStore::new();
    s.run("smt", 2.0, |rows| {
        let mut fact = |phase: &str| {
            rows.row(&text::TABLE, at(0.0), None)
                .str(text::topic, "cpu")
                .str(text::name, "threads of cores")
                .str(text::phase, phase)
                .text(text::value, "0,2 1,3");
        };
        fact("start");
        fact("end");
        for t in [1.0, 2.0] {
            // The first core: one thread at its limit. The second: both at work.
            for (cpu_name, idle) in [("0", 0.0), ("2", 100.0), ("1", 20.0), ("3", 40.0)] {
                rows.row(&cpu::TABLE, at(t), 1.0).str(cpu::cpu, cpu_name).f64(cpu::idle, idle);
            }
        }
    });
    let rows: Vec<String> = s.ask("cpu-cores").into_iter().map(|row| row.join(" ")).collect();
    assert_eq!(
        rows,
        [
            "0,2 50 100 100 0 100 0 one thread has the core: the idle one is no second core",
            "1,3 70 80 100 0 0 100 its threads share the core: each runs slower than alone",
        ]
    );
}
