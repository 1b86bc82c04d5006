//! `packaging/ci/fenxi-ci` as CI platforms run it, with a stand-in of their interfaces on this machine.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Cursor, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, Mutex},
    thread,
};

use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    ci::{junit, openmetrics},
    support::{skipped, text},
};

/// Reply of a stand-in: status, headers, body.
type Reply = (u16, String, Vec<u8>);

/// A server of HTTP/1.1; it ends with the test's process. The path of a request that is no GET has the method before it, and
/// its body is among the headers.
fn serve(answer: impl Fn(&str, &BTreeMap<String, String>) -> Reply + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            one(stream.unwrap(), &answer);
        }
    });
    port
}

fn one(mut stream: TcpStream, answer: &impl Fn(&str, &BTreeMap<String, String>) -> Reply) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut lines = reader.by_ref().lines();
    let Some(Ok(first)) = lines.next() else { return };
    let path = first.rsplit_once(' ').unwrap().0.trim_start_matches("GET ").to_owned();
    let header =
        |line: String| Some((line.split_once(": ")?.0.to_ascii_lowercase(), line.split_once(": ")?.1.to_owned()));
    let mut headers: BTreeMap<String, String> =
        lines.map_while(Result::ok).take_while(|line| !line.is_empty()).filter_map(header).collect();
    if let Some(length) = headers.get("content-length").map(|n| n.parse().unwrap()) {
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        headers.insert("body".to_owned(), String::from_utf8(body).unwrap());
    }
    let (status, more, body) = answer(&path, &headers);
    let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n{more}\r\n", body.len());
    stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
}

/// A repository with a benchmark, and what its platform keeps between jobs.
struct Pipeline {
    dir: tempfile::TempDir,
    platform: Vec<(String, String)>,
}

impl Pipeline {
    /// None, reported loudly, where the tools that the pack uses on a platform are missing.
    fn new(test: &str) -> Option<Pipeline> {
        let has = |tool: &&str| {
            Command::new(tool).arg("--version").output().is_ok()
                || *tool == "unzip" && Path::new("/usr/bin/unzip").exists()
        };
        if let Some(missing) = ["curl", "jq", "unzip"].iter().find(|tool| !has(tool)) {
            skipped(test, &format!("there is no {missing}"));
            return None;
        }
        let dir = tempfile::TempDir::new().unwrap();
        // The build prints a made-up rate: its factor, and noise that a file counts on.
        let bench = "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) >n\n\
                     awk -v n=$n -v f=$1 'BEGIN { srand(n); print \"rate:\", 1000 * f * (1 + 0.004 * (rand() - 0.5)) }'\n";
        fs_err::write(dir.path().join("bench.sh"), bench).unwrap();
        let plan = "[record]\ninterval = \"100ms\"\nsources = [\"cpu\"]\n[[response]]\nname = \"rate\"\n\
                    pattern = 'rate: ([0-9.]+)'\nbetter = \"higher\"\n";
        fs_err::write(dir.path().join("more.toml"), plan).unwrap();
        Some(Pipeline { dir, platform: Vec::new() })
    }

    /// Sets the variables of a platform.
    fn on(&mut self, platform: &[(&str, &str)]) {
        self.platform = platform.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    }

    fn job(&self, args: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/ci/fenxi-ci");
        let mut command = Command::new("bash");
        command.arg(script).args(["--repeats", "4", "--result", "rate=1%", "--plan", "more.toml"]).args(args);
        for name in std::env::vars().map(|(name, _)| name).filter(|n| n.starts_with("GITHUB_") || n.starts_with("CI_"))
        {
            command.env_remove(name);
        }
        command.env("FENXI", env!("CARGO_BIN_EXE_fenxi")).env_remove("http_proxy").current_dir(self.dir.path());
        command.envs(self.platform.iter().map(|(name, value)| (name, value))).output().unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("fenxi-ci").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.file(name)).unwrap()
    }
}

fn code(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

/// An archive of one file.
fn zipped(name: &str, content: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file(name, SimpleFileOptions::default()).unwrap();
    zip.write_all(content).unwrap();
    zip.finish().unwrap().into_inner()
}

#[test]
fn two_builds_are_measured_in_turn_and_a_slower_one_fails() {
    let Some(pipeline) = Pipeline::new("two_builds") else { return };
    let (status, said) = code(&pipeline.job(&["--base", "bash bench.sh 1", "--head", "bash bench.sh 0.9"]));
    assert!(status == Some(1) && said.contains("### Performance: a result is worse"), "{said}");
    let (cases, suite) = junit(&pipeline.read("junit.xml"));
    assert!(cases["rate"].starts_with("failure: B has 0.90 × the rate of A"), "{cases:#?}");
    assert_eq!(suite["failures"], "1");
    let samples = openmetrics(&pipeline.read("openmetrics.txt"));
    assert!(samples.keys().any(|key| key.starts_with("fenxi_compare_change_ratio") && key.contains("\"rate\"")));
    let (status, said) = code(&pipeline.job(&["--base", "bash bench.sh 1", "--head", "bash bench.sh 1"]));
    assert!(status == Some(0), "{said}");
    assert_eq!(junit(&pipeline.read("junit.xml")).1["failures"], "0");
    let (status, said) = code(&pipeline.job(&["--base", "bash bench.sh 1", "--head", "false"]));
    assert!(status == Some(2) && pipeline.read("junit.xml").contains("<error"), "{said}");
    assert_eq!(code(&pipeline.job(&["--head", "true"])).0, Some(2));
}

/// A stand-in of GitHub, and of the storage to which it redirects, with artifacts of three kinds that are not to be taken.
fn github(artifact: Arc<Mutex<Option<Vec<u8>>>>) -> u16 {
    let content = Arc::clone(&artifact);
    let storage = serve(move |path, headers| {
        assert!(
            path == "/blob" && !headers.contains_key("authorization"),
            "the token stays with the platform: {headers:?}"
        );
        (200, String::new(), zipped("runs.fenxi", content.lock().unwrap().as_ref().unwrap()))
    });
    serve(move |path, headers| {
        assert_eq!(headers["authorization"], "Bearer secret");
        let own = |id: u32, branch: &str, created: &str, expired: bool, from: u32| {
            serde_json::json!({ "id": id, "expired": expired, "created_at": created,
                "archive_download_url": format!("http://{}/zip/{id}", headers["host"]),
                "workflow_run": { "head_branch": branch, "head_repository_id": from, "repository_id": 1 } })
        };
        match path {
            "/repos/o/r/actions/artifacts?per_page=100&name=fenxi-ci-history" => {
                let mut all = vec![
                    own(1, "main", "2026-01-04T00:00:00Z", false, 2),
                    own(2, "other", "2026-01-03T00:00:00Z", false, 1),
                    own(3, "main", "2026-01-02T00:00:00Z", true, 1),
                ];
                if artifact.lock().unwrap().is_some() {
                    all.push(own(4, "main", "2026-01-01T00:00:00Z", false, 1));
                }
                (200, String::new(), serde_json::json!({ "artifacts": all }).to_string().into_bytes())
            }
            "/zip/4" => (302, format!("Location: http://127.0.0.1:{storage}/blob\r\n"), Vec::new()),
            path => panic!("{path} is asked for"),
        }
    })
}

/// A stand-in of GitLab.
fn gitlab(content: Vec<u8>) -> u16 {
    serve(move |path, headers| {
        assert_eq!(headers["job-token"], "secret");
        let wanted = "/projects/7/jobs/artifacts/main/raw/fenxi-ci/history/runs.fenxi?job=perf%20test";
        assert_eq!(path, wanted);
        (200, String::new(), content.clone())
    })
}

#[test]
fn a_change_is_compared_with_the_base_branchs_last_jobs_without_building_it() {
    let Some(mut pipeline) = Pipeline::new("a_history_on_github") else { return };
    let artifact = Arc::new(Mutex::new(None));
    let port = github(Arc::clone(&artifact));
    let url = format!("http://127.0.0.1:{port}");
    pipeline.on(&[("GITHUB_API_URL", &url), ("GITHUB_REPOSITORY", "o/r"), ("GITHUB_TOKEN", "secret")]);
    let main = |n: usize, command: &str| {
        let name = format!("main-{n}");
        code(&pipeline.job(&["--history", "github", "--on", "main", "--job", &name, "--head", command, "--keep", "5"]))
    };
    for n in 0..6 {
        let (status, said) = main(n, "bash bench.sh 1");
        assert!(status == Some(0), "{said}");
        assert!(
            n > 0 || said.contains("there is no history of main yet") && said.contains("nothing to compare with yet"),
            "{said}"
        );
        *artifact.lock().unwrap() = Some(fs_err::read(pipeline.file("history/runs.fenxi")).unwrap());
    }
    let change = |command: &str, job: &str| {
        code(&pipeline.job(&["--history", "github", "--on", "topic", "--job", job, "--head", command]))
    };
    let (status, said) = change("bash bench.sh 1", "pr-1");
    assert!(status == Some(0) && said.contains("no result is worse") && said.contains("### Trend of main"), "{said}");
    // Five jobs are kept, and a change is none of them.
    assert!(said.contains("20 runs of branch=main"), "{said}");
    let (status, said) = change("bash bench.sh 0.9", "pr-2");
    assert!(status == Some(1), "{said}");
    assert!(junit(&pipeline.read("junit.xml")).0["rate"].starts_with("failure: "), "{said}");
    // A job of a change gives the history back as it was.
    assert!(said.contains("20 runs of branch=main"), "{said}");

    // GitLab gives the same file by another road.
    let port = gitlab(artifact.lock().unwrap().clone().unwrap());
    pipeline.on(&[
        ("CI_API_V4_URL", &format!("http://127.0.0.1:{port}")),
        ("CI_PROJECT_ID", "7"),
        ("CI_JOB_TOKEN", "secret"),
        ("CI_JOB_NAME", "perf test"),
    ]);
    let args = ["--history", "gitlab", "--on", "topic", "--job", "mr-1", "--head", "bash bench.sh 0.9"];
    let (status, said) = code(&pipeline.job(&args));
    assert!(status == Some(1) && said.contains("20 runs of branch=main"), "{said}");
    // Both builds in turn, with the history for the trend: none of its runs is compared.
    let words = "--history gitlab --on topic --job mr-3 --base";
    let args = [&words.split(' ').collect::<Vec<_>>()[..], &["bash bench.sh 1", "--head", "bash bench.sh 1"]].concat();
    let (status, said) = code(&pipeline.job(&args));
    assert!(
        status == Some(0) && said.contains("B: 4 runs of build=head") && said.contains("### Trend of main"),
        "{said}"
    );
    // So does a store that others pull from.
    let store = pipeline.dir.path().join("shared");
    fs_err::rename(pipeline.file("store"), &store).unwrap();
    let place = store.display().to_string();
    let args = ["--history", &place, "--branch", "main", "--on", "topic", "--job", "mr-2", "--head", "bash bench.sh 1"];
    let (status, said) = code(&pipeline.job(&args));
    assert!(status == Some(0) && said.contains("20 runs of branch=main"), "{said}");
}

/// A stand-in of a platform's comments: strangers may have written ours.
fn comments(written: Arc<Mutex<Vec<String>>>, key: &'static str, (list, one): (&'static str, &'static str)) -> u16 {
    serve(move |path, headers| {
        assert_eq!(headers[key].trim_start_matches("Bearer "), "secret");
        let mut written = written.lock().unwrap();
        let body = || {
            serde_json::from_str::<serde_json::Value>(&headers["body"]).unwrap()["body"].as_str().unwrap().to_owned()
        };
        let by = |id: usize, who: &str, author: u32, body: &str| serde_json::json!({ "id": id, "body": body, "user": { "type": who }, "author": { "id": author } });
        let reply = match path
            .strip_prefix(list)
            .or_else(|| path.strip_prefix("POST ").filter(|rest| *rest == list).map(|_| "+"))
        {
            Some("+") => {
                written.push(body());
                serde_json::json!({})
            }
            Some("?per_page=100&page=1") => {
                let others = [
                    by(7, "User", 5, "<!-- fenxi-ci bench/quick --> of a stranger"),
                    by(9, "Bot", 3, "<!-- fenxi-ci bench/slow --> of another job"),
                ];
                let own = written.iter().map(|body| by(8, "Bot", 3, body));
                others.into_iter().chain(own).collect()
            }
            _ if path == "/user" => serde_json::json!({ "id": 3 }),
            _ if path == format!("{one}/8") => {
                *written = vec![body()];
                serde_json::json!({})
            }
            _ => return (403, String::new(), Vec::new()),
        };
        (200, String::new(), reply.to_string().into_bytes())
    })
}

#[test]
fn a_report_is_one_comment_that_the_next_one_replaces() {
    let Some(mut pipeline) = Pipeline::new("a_comment") else { return };
    let build = |factor: &'static str| ["--base", "bash bench.sh 1", "--head", factor];
    let event = pipeline.dir.path().join("event.json");
    fs_err::write(&event, r#"{"pull_request": {"number": 12}}"#).unwrap();
    for platform in ["github", "gitlab"] {
        let (key, places) = match platform {
            "github" => ("authorization", ("/repos/o/r/issues/12/comments", "PATCH /repos/o/r/issues/comments")),
            _ => ("private-token", ("/projects/7/merge_requests/12/notes", "PUT /projects/7/merge_requests/12/notes")),
        };
        let written = Arc::new(Mutex::new(Vec::new()));
        let url = format!("http://127.0.0.1:{}", comments(Arc::clone(&written), key, places));
        let event = event.display().to_string();
        let github = [
            ("GITHUB_API_URL", &*url),
            ("GITHUB_REPOSITORY", "o/r"),
            ("GITHUB_TOKEN", "secret"),
            ("GITHUB_EVENT_PATH", &event),
            ("GITHUB_WORKFLOW", "bench"),
            ("GITHUB_JOB", "quick"),
        ];
        let gitlab = [
            ("CI_API_V4_URL", &*url),
            ("CI_PROJECT_ID", "7"),
            ("CI_MERGE_REQUEST_IID", "12"),
            ("FENXI_CI_TOKEN", "secret"),
            ("CI_JOB_NAME", "bench/quick"),
        ];
        pipeline.on(if platform == "github" { &github } else { &gitlab });
        for (factor, verdict) in [("bash bench.sh 0.9", "a result is worse"), ("bash bench.sh 1", "no result is worse")]
        {
            let (_, said) = code(&pipeline.job(&[&build(factor)[..], &["--comment", platform]].concat()));
            let written = written.lock().unwrap();
            let begin = format!("<!-- fenxi-ci bench/quick -->\n### Performance: {verdict}\n");
            assert!(written.len() == 1 && written[0].starts_with(&begin), "{platform}: {written:?}\n{said}");
        }
    }
    // A token that may not write, and a job of no pull request.
    for (number, wanted) in [("13", "could not be written as a comment"), ("null", "no pull request")] {
        let number = format!(r#"{{"pull_request": {{"number": {number}}}}}"#);
        fs_err::write(&event, number).unwrap();
        let url = format!("http://127.0.0.1:{}", comments(Arc::default(), "authorization", ("/", "/")));
        let event = event.display().to_string();
        pipeline.on(&[
            ("GITHUB_API_URL", &url),
            ("GITHUB_REPOSITORY", "o/r"),
            ("GITHUB_TOKEN", "secret"),
            ("GITHUB_EVENT_PATH", &event),
        ]);
        let (status, said) = code(&pipeline.job(&[&build("bash bench.sh 1")[..], &["--comment", "github"]].concat()));
        assert!(status == Some(0) && said.contains(wanted), "{said}");
    }
}
