//! A real `fenxi serve` in its own folder, and a client that asks it: shared by the standing adversary and the
//! tests of the command line.
//!
//! Whatever a server might write without being asked has its own folder here (working directory, home, temporary
//! folder, standard output), so that a stray file is seen wherever it turns up.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use fs_err as fs;
use rustix::process::{Pid, Signal, kill_process};

use crate::http;

/// A value in the environment of every server, and in no answer.
pub const SECRET: &str = "canary-5d1f0c7e-of-the-environment";

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Place {
    /// The program `fenxi`.
    pub program: PathBuf,
    /// The store that it serves.
    pub store: PathBuf,
    /// Its own folder, for everything but the store.
    pub folder: PathBuf,
}

impl Place {
    /// Its temporary folder.
    pub fn temp(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// Folders and files in which a server has nothing to write.
    pub fn forbidden(&self) -> Vec<PathBuf> {
        ["cwd", "home", "stdout", "secret"].iter().map(|name| self.folder.join(name)).collect()
    }

    /// `fenxi` with `args` in this place.
    ///
    /// # Errors
    /// When its folders cannot be made.
    pub fn command(&self, args: &[&str]) -> io::Result<Command> {
        for name in ["cwd", "home", "tmp"] {
            fs::create_dir_all(self.folder.join(name))?;
        }
        fs::write(self.folder.join("secret"), SECRET)?;
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .current_dir(self.folder.join("cwd"))
            .env("FENXI_STORE", &self.store)
            .env("FENXI_CANARY", SECRET)
            .env("HOME", self.folder.join("home"))
            .env("TMPDIR", self.temp())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Starts `fenxi serve` with `args` on a free port of loopback and waits until it answers.
    ///
    /// # Errors
    /// When it does not come up within 30 seconds.
    pub fn serve(&self, args: &[&str]) -> io::Result<Served> {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"])?;
        let stdout = self.folder.join("stdout");
        let stderr = self.folder.join("stderr");
        command.args(args).stdout(fs::File::create(&stdout)?.into_file());
        // A separate group: whatever it starts can be found, also when its parent has ended.
        command.stderr(fs::OpenOptions::new().create(true).append(true).open(&stderr)?.into_file()).process_group(0);
        let mut child = command.spawn()?;
        let begun = Instant::now();
        loop {
            let said = fs::read_to_string(&stdout)?;
            if let Some((line, _)) = said.split_once('\n') {
                let host = line.trim_start_matches("http://").trim_end_matches('/');
                let address = host.parse().map_err(io::Error::other)?;
                return Ok(Served { child, address, stderr });
            }
            if let Some(status) = child.try_wait()? {
                return Err(io::Error::other(format!("fenxi serve: {status}: {}", fs::read_to_string(&stderr)?)));
            }
            if begun.elapsed() > Duration::from_secs(30) {
                let _ = child.kill();
                return Err(io::Error::other("fenxi serve printed no address within 30 s"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A server at work; it is killed with the value.
#[derive(Debug)]
pub struct Served {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    stderr: PathBuf,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status, 0 when the connection ended without one.
    pub status: u16,
    /// Bytes after the head.
    pub body: Vec<u8>,
    /// From the connection's begin to the last byte.
    pub took: Duration,
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The rows of an answer to SQL; none where there is none.
    pub fn rows(&self) -> Vec<Vec<serde_json::Value>> {
        let json: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let row = |row: &serde_json::Value| row.as_array().cloned().unwrap_or_default();
        json["rows"].as_array().map(|rows| rows.iter().map(row).collect()).unwrap_or_default()
    }

    /// The first value of the first row, null where there is none.
    pub fn value(&self) -> serde_json::Value {
        self.rows().first().and_then(|row| row.first()).cloned().unwrap_or_default()
    }
}

impl Served {
    /// Its process.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// How it ended, None while it is alive.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Whether it is alive; it need not be waited for.
    pub fn alive(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap_or_default();
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        state.is_some_and(|s| s != 'Z' && s != 'X')
    }

    /// Its standard error.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// Ends it as Ctrl-C does, and waits for it.
    ///
    /// # Errors
    /// When it is not there any more.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        kill_process(Pid::from_child(&self.child), Signal::INT)?;
        self.child.wait()
    }

    /// Kills it as `kill -9` does: this process only, nothing that it started.
    ///
    /// # Errors
    /// When it is not there any more.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// The answer to a statement, over one run or over all.
    pub fn sql(&self, statement: &str, run: Option<&str>) -> Answer {
        let runs: Vec<&str> = run.into_iter().collect();
        let body = serde_json::json!({ "q": statement, "run": runs, "limit": 1000 }).to_string();
        self.change("POST", "/api/v1/sql", body.as_bytes())
    }

    /// The same statement as a panel, drawn as `chart`.
    pub fn panel(&self, statement: &str, run: Option<&str>, chart: &str) -> Answer {
        let run = run.map(|id| format!("&run={}", encoded(id))).unwrap_or_default();
        self.get(&format!("/api/v1/panel?sql={}&chart={chart}{run}", encoded(statement)))
    }

    /// A GET.
    pub fn get(&self, target: &str) -> Answer {
        self.request("GET", target, "", b"")
    }

    /// A request as pages send it when something changes.
    pub fn change(&self, method: &str, target: &str, body: &[u8]) -> Answer {
        let head = format!("X-Fenxi: 1\r\nOrigin: http://{}\r\nContent-Type: application/json\r\n", self.address);
        self.request(method, target, &head, body)
    }

    fn request(&self, method: &str, target: &str, head: &str, body: &[u8]) -> Answer {
        let begun = Instant::now();
        let bytes = self.exchange(method, target, head, body);
        let took = begun.elapsed();
        let Ok(bytes) = bytes else { return Answer { status: 0, body: Vec::new(), took } };
        let http::Answer { status, body, .. } = http::answer(&bytes);
        Answer { status, body, took }
    }

    fn exchange(&self, method: &str, target: &str, head: &str, body: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&self.address, Duration::from_secs(5))?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.set_write_timeout(Some(Duration::from_secs(10)))?;
        let (host, length) = (self.address, body.len());
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{head}Content-Length: {length}\r\n\r\n"
        );
        // A server that has seen enough may close before everything is sent, and still answers.
        let _ = stream.write_all(&[head.as_bytes(), body].concat());
        let mut bytes = Vec::new();
        match stream.read_to_end(&mut bytes) {
            Err(e) if bytes.is_empty() => Err(e),
            _ => Ok(bytes),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `text` as it is written in an address.
pub fn encoded(text: &str) -> String {
    let one = |b: u8| match b {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(b).to_string(),
        other => format!("%{other:02x}"),
    };
    text.bytes().map(one).collect()
}
