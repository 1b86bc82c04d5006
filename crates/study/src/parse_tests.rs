//! Tests of invalid plans and their error messages.

use std::path::Path;

use super::parse;

fn error(text: &str) -> String {
    parse(Path::new("plan.toml"), text).unwrap_err().to_string()
}

/// A plan that is right but for `more`.
fn with(more: &str) -> String {
    error(&format!("name = \"n\"\ncommand = \"true {{threads}}\"\n{more}\n[factors]\nthreads = [1, 2]\n"))
}

#[test]
fn every_mistake_names_its_line_and_the_way_out() {
    let cases = [
        (with("repeat = 3"), "plan.toml:3: unknown key `repeat` in the plan; did you mean `repeats`?"),
        (with("repeats = 0"), "plan.toml:3: `repeats` is a number; expected is a whole number from 1 to 10000"),
        (
            with("timeout = \"soon\""),
            "plan.toml:3: `timeout` is `soon`; expected is a length of time as \"30s\", \"500ms\" or \"2m\"",
        ),
        (with("on_failure = \"retry\""), "plan.toml:3: `on_failure` is `retry`; expected is `stop`, `continue`"),
        (
            with("[run]\nsetup = \"echo {thread}\""),
            "plan.toml:4: `setup` has a place for `thread`, which is no factor; did you mean `threads`? \
             (write `{{thread}}` for the text `{thread}`)",
        ),
        (
            with("setup = \"echo {threads}\""),
            "plan.toml:3: `setup` has a place for `threads`, which is no factor; factors cannot be placed here \
             (write `{{threads}}` for the text `{threads}`)",
        ),
        (
            with("exclude = [{ threads = 3 }]"),
            "plan.toml:3: `exclude` names `threads = 3`, which is no level of it; there are `1`, `2`",
        ),
        (
            with("cells = [{ thread = 1 }]"),
            "plan.toml:3: `cells` names `thread`, which is no factor; did you mean `threads`?",
        ),
        (with("cells = [{}]"), "plan.toml:3: an element of `cells` has to name a level of every factor"),
        (
            with("record = { sources = [\"procces\"] }"),
            "plan.toml:3: no source is called `procces`; did you mean `process`?",
        ),
        (with("record = { interval = \"1ms\" }"), "plan.toml:3: `interval` has to be at least 10ms"),
        (
            with("import = \"sysbensh\""),
            "plan.toml:3: `import` is `sysbensh`, which is not a format; did you mean `sysbench`? (`fenxi list formats` lists them; or `off`)",
        ),
        (
            with("[run]\nready = { tcp = \"localhost\" }"),
            "plan.toml:4: `tcp` is `localhost`; expected is an address and port as \"127.0.0.1:5432\"",
        ),
        (with("[run]\nready = {}"), "plan.toml:4: `ready` has one of `command` and `tcp`"),
        (
            with("[[response]]\nname = \"x\""),
            "plan.toml:3: a response has one of `result`, `pattern`, `work`, `question` and `sql`",
        ),
        (
            with("[[response]]\nname = \"x\"\npattern = 'rate'"),
            "plan.toml:5: `pattern` has no group: put the number in parentheses, as `rate: ([0-9.]+)`",
        ),
        (
            with("[[response]]\nresult = \"x\"\ncolumn = \"y\""),
            "plan.toml:3: `params` and `column` belong to a `question` or `sql`",
        ),
        (
            with("[[response]]\nsql = \"select 1\"\nparams = { n = 1 }"),
            "plan.toml:5: `params` are those of a `question`, not of `sql`",
        ),
        (with("[[response]]\nsql = \"select 1\""), "plan.toml:3: `name`, the name of the response, is missing"),
        (with("[[response]]\npattern = '(1)'"), "plan.toml:3: `name`, the name of the response, is missing"),
    ];
    for (message, expected) in cases {
        assert_eq!(message, expected);
    }
}

#[test]
fn what_a_plan_lacks_and_a_factor_cannot_be_is_told() {
    let cases = [
        (error("command = \"true\""), "plan.toml: `name`, the name of the study, is missing"),
        (error("name = \"n\""), "plan.toml: `command`, the command to measure, is missing"),
        (
            error("name = \"a/b\"\ncommand = \"true\""),
            "plan.toml:1: `name` is `a/b`; expected are up to 60 letters, digits, `-`, `_` and `.`",
        ),
        (
            error("name = \"n\"\ncommand = []"),
            "plan.toml:2: `command` is no command; expected is a line for the shell, or an array of words",
        ),
        (
            error("scaling = \"x\"\nname = \"n\"\ncommand = \"true\"\n[factors]\nx = [1]"),
            "plan.toml:1: `scaling` is `x`; expected is `none`, or a factor with two numbers or more as levels",
        ),
        (error("[factors]\nx = 1"), "plan.toml:2: the factor `x` is a number; expected is an array of levels"),
        (error("[factors]\nx = [1, 1.0]"), "plan.toml:2: the factor `x` has the level `1` twice"),
        (error("[factors]\nx = []"), "plan.toml:2: the factor `x` has no levels"),
        (error("[factors]\nx = [{ nam = 1 }]"), "plan.toml:2: a level of `x` has no `name`"),
        (
            error("[factors]\nx = [{ name = 1, evn = {} }]"),
            "plan.toml:2: unknown key `evn` in a level of `x`; did you mean `env`?",
        ),
        (
            error("[factors]\nblock = [1]"),
            "plan.toml:2: a factor cannot be called `block`: a name is of letters, digits, `_` and `-`, a letter first, \
             and not `study`, `study_id`, `block`, `cell`, `attempt`",
        ),
    ];
    for (message, expected) in cases {
        assert_eq!(message, expected);
    }
    assert!(error("name = \"n\nx").starts_with("plan.toml:2: this is not TOML: "), "{}", error("name = \"n\nx"));
}

#[test]
fn a_whole_plan_is_read() {
    let text = r#"
name = "all"
about = "everything that a plan can say"
repeats = 3
seed = 7
order = "random"
command = ["prog", "-t", "{threads}", "{malloc}"]
directory = "work"
env = { LANG = "C", N = 1 }
setup = "start {study}"
teardown = "stop"
cooldown = "500ms"
timeout = 60
duration = "1m"
step_timeout = "10s"
on_failure = "continue"
retries = 2
import = "sysbench"
exclude = [{ threads = 2, malloc = "je" }]

[factors]
threads = [1, 2, 4.5]
malloc = ["libc", { name = "je", env = { LD_PRELOAD = "/x.so" }, setup = "a {threads}", teardown = ["b"] }]

[run]
setup = "x {block}"
warmup = "5s"
ready = { tcp = "127.0.0.1:80", timeout = "3s" }

[record]
interval = "100ms"
sources = ["cpu", "+thread"]

[[response]]
result = "tps"
[[response]]
name = "work"
work = "{threads}"
"#;
    let plan = parse(Path::new("dir/plan.toml"), text).unwrap();
    assert_eq!((plan.name.as_str(), plan.repeats, plan.seed, plan.retries), ("all", 3, Some(7), 2));
    assert_eq!(plan.directory, Path::new("dir/work"));
    let names: Vec<_> = plan.factors.iter().map(|f| (f.name.as_str(), f.is_numeric())).collect();
    assert_eq!(names, [("threads", true), ("malloc", false)]);
    assert_eq!(plan.factors[0].levels[2].name, "4.5");
    assert_eq!(plan.factors[1].levels[1].env, [("LD_PRELOAD".to_owned(), "/x.so".to_owned())]);
    assert_eq!(plan.responses[1].unit, "/s");
    assert_eq!((plan.cooldown_s, plan.timeout_s, plan.duration_s), (0.5, Some(60.0), Some(60.0)));
    // Without factors and responses: one cell, and the time it takes.
    let least = parse(Path::new("p"), "name = \"n\"\ncommand = \"true\"").unwrap();
    assert_eq!((least.responses[0].name.as_str(), least.directory.as_path()), ("elapsed", Path::new(".")));
}

#[test]
fn a_series_and_a_reference_name_what_the_plan_has() {
    let cases = [
        (
            with("series = \"thread\""),
            "plan.toml:3: `series` names `thread`, which is no factor; did you mean `threads`?",
        ),
        (
            with("reference = { threads = 3 }"),
            "plan.toml:3: `reference` names `threads = 3`, which is no level of it; there are `1`, `2`",
        ),
        (
            with("reference = {}"),
            "plan.toml:3: `reference` names one factor and a level of it, as { malloc = \"libc\" }",
        ),
    ];
    for (message, expected) in cases {
        assert_eq!(message, expected);
    }
}

#[test]
fn what_sets_a_series_up_has_no_place_for_another_factor() {
    let plan = |setup: &str| {
        let text = format!(
            "name = \"n\"\ncommand = \"true\"\nseries = \"m\"\n[factors]\nn = [1]\nm = [{{ name = \"a\", setup = \"{setup}\", check = \"test {{n}}\" }}]\n"
        );
        parse(Path::new("plan.toml"), &text)
    };
    assert_eq!(plan("start {m} {block}").unwrap().series.as_deref(), Some("m"));
    let wrong = plan("start {n}").unwrap_err().to_string();
    assert!(wrong.contains("plan.toml:3: `series` is `m`") && wrong.contains("cannot have a place for `n`"), "{wrong}");
}

#[test]
fn only_a_degree_of_parallelism_has_a_speed_up() {
    let scaling = |first: &str, factors: &str| {
        let text = format!("{first}name = \"n\"\ncommand = \"true\"\n[factors]\n{factors}\n");
        parse(Path::new("plan.toml"), &text).unwrap().scaling
    };
    assert_eq!(scaling("", "level = [1, 6, 9]"), None);
    assert_eq!(scaling("", "level = [1, 6, 9]\nserver-threads = [1, 2]").as_deref(), Some("server-threads"));
    assert_eq!(scaling("", "threads = [1, 2]\nclients = [1, 2, 4]").as_deref(), Some("clients"));
    assert_eq!(scaling("scaling = \"n\"\n", "n = [1, 2]").as_deref(), Some("n"));
    assert_eq!(scaling("scaling = \"none\"\n", "threads = [1, 2]"), None);
}
