//! Hooks, which run when a condition comes true: a command that gets JSON on its standard input, or a URL that it is posted to.
//!
//! A hook runs beside the recording and never holds it up. One that fails or takes too long is a note of the run.

use std::{
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

use fenxi_model::RunId;
use serde_json::Value;

use crate::{clock, command::before_exec};

/// How long a hook may take.
const LIMIT_S: f64 = 30.0;
/// How many may run at once; a further one is not begun.
const MOST: usize = 8;
/// How much of an answer is read.
const ANSWER: usize = 4096;

/// A hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A command of the shell.
    Command(String),
    /// Where to post to.
    Post {
        /// As it was written.
        url: String,
        /// Host and port.
        authority: String,
        /// The path of the URL.
        path: String,
    },
}

impl Hook {
    /// A URL that begins with `http://`, or a command.
    ///
    /// # Errors
    /// When the URL is none, or needs encryption.
    pub fn parse(text: &str) -> Result<Hook, String> {
        if text.starts_with("https://") {
            return Err(format!("`{text}`: write a command for it, such as `curl -s --json @- {text}`"));
        }
        let Some(rest) = text.strip_prefix("http://") else {
            return if text.trim().is_empty() {
                Err("a hook is a command or a URL".to_owned())
            } else {
                Ok(Hook::Command(text.to_owned()))
            };
        };
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        if authority.is_empty() || authority.contains('@') || text.chars().any(|c| c.is_whitespace() || c.is_control())
        {
            return Err(format!("`{text}` is no URL such as http://host:8080/path"));
        }
        let port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let authority = if port { authority.to_owned() } else { format!("{authority}:80") };
        Ok(Hook::Post { url: text.to_owned(), authority, path: path.to_owned() })
    }

    fn name(&self) -> &str {
        match self {
            Hook::Command(command) => command,
            Hook::Post { url, .. } => url,
        }
    }

    fn run(&self, body: &[u8], env: &[(&'static str, String)]) -> Result<(), String> {
        match self {
            Hook::Command(command) => run(command, body, env),
            Hook::Post { authority, path, .. } => post(authority, path, body).map_err(|e| e.to_string())?,
        }
    }
}

/// Runs hooks, each in its own thread.
#[derive(Debug)]
pub(super) struct Hooks {
    hooks: Vec<Hook>,
    env: Vec<(&'static str, String)>,
    run: Option<String>,
    running: usize,
    send: Sender<String>,
    receive: Receiver<String>,
}

impl Hooks {
    /// `env` is added to the environment of commands, and the run as `FENXI_RUN`.
    pub(super) fn new(hooks: Vec<Hook>, env: Vec<(&'static str, String)>, run: Option<&RunId>) -> Hooks {
        let (send, receive) = channel();
        Hooks { hooks, env, run: run.map(RunId::to_string), running: 0, send, receive }
    }

    /// From now on it is another run.
    pub(super) fn set_run(&mut self, run: Option<&RunId>) {
        self.run = run.map(RunId::to_string);
    }

    /// Runs every hook; gives what to note at once.
    pub(super) fn run_all(&mut self, what: &Value) -> Vec<String> {
        let mut notes = Vec::new();
        let mut env = self.env.clone();
        env.extend(self.run.iter().map(|run| ("FENXI_RUN", run.clone())));
        let mut body = what.to_string().into_bytes();
        body.push(b'\n');
        for hook in &self.hooks {
            if self.running >= MOST {
                notes.push(format!("hook `{}` was not run: {MOST} others still run", hook.name()));
                continue;
            }
            self.running += 1;
            let (hook, body, env, send) = (hook.clone(), body.clone(), env.clone(), self.send.clone());
            thread::spawn(move || {
                let failed = hook.run(&body, &env).err();
                let note = failed.map_or(String::new(), |why| format!("hook `{}` failed: {why}", hook.name()));
                // The receiver is gone when the recording has ended.
                let _ = send.send(note);
            });
        }
        notes
    }

    /// Notes on hooks that have ended since the last call.
    pub(super) fn ended(&mut self) -> Vec<String> {
        let ended: Vec<String> = self.receive.try_iter().collect();
        self.running -= ended.len();
        ended.into_iter().filter(|note| !note.is_empty()).collect()
    }

    /// Waits for those that run, for a while.
    pub(super) fn wait(&mut self, seconds: f64) -> Vec<String> {
        let end = clock::monotonic() + seconds;
        let mut notes = self.ended();
        while self.running > 0 {
            let left = end - clock::monotonic();
            let Ok(note) = self.receive.recv_timeout(Duration::from_secs_f64(left.max(0.0))) else {
                notes.push(format!("{} hooks still ran when the recording had ended", self.running));
                break;
            };
            self.running -= 1;
            notes.extend(Some(note).filter(|note| !note.is_empty()));
        }
        notes
    }
}

fn run(command: &str, body: &[u8], env: &[(&'static str, String)]) -> Result<(), String> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).envs(env.iter().map(|(key, value)| (key, value)));
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    before_exec(&mut shell, false);
    let mut child = shell.spawn().map_err(|e| format!("it cannot be started: {e}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A few hundred bytes fit into the pipe; a command that does not read them has read enough.
        let _ = input.write_all(body);
    }
    match wait(&mut child) {
        Ok(Some(0)) => Ok(()),
        Ok(Some(code)) => Err(format!("it ended with status {code}")),
        Ok(None) => Err(format!("it was ended after {LIMIT_S} s, or by a signal")),
        Err(e) => Err(e.to_string()),
    }
}

/// Waits for the child, which is killed when its time is over.
fn wait(child: &mut Child) -> io::Result<Option<i32>> {
    let end = clock::monotonic() + LIMIT_S;
    while clock::monotonic() < end {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

fn post(authority: &str, path: &str, body: &[u8]) -> io::Result<Result<(), String>> {
    let limit = Duration::from_secs_f64(LIMIT_S / 3.0);
    let address = authority.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = [0; ANSWER];
    let n = stream.read(&mut answer)?;
    let line = String::from_utf8_lossy(&answer[..n]).lines().next().unwrap_or_default().to_owned();
    let code = line.split_ascii_whitespace().nth(1).unwrap_or_default();
    Ok(if code.starts_with('2') { Ok(()) } else { Err(format!("the answer was `{line}`")) })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use serde_json::json;

    use super::*;

    fn notes_of(hook: &str) -> Vec<String> {
        let mut hooks = Hooks::new(vec![Hook::parse(hook).unwrap()], vec![("FENXI_TEST", "r1".to_owned())], None);
        assert_eq!(hooks.run_all(&json!({ "condition": "cpu.busy > 90" })), [] as [&str; 0]);
        hooks.wait(20.0)
    }

    #[test]
    fn a_command_gets_json_and_the_run() {
        let folder = std::env::temp_dir().join(format!("fenxi-hook-{}", std::process::id()));
        let hook = format!("(cat; echo $FENXI_TEST) > {}", folder.display());
        assert_eq!(notes_of(&hook), [] as [&str; 0]);
        let text = std::str::from_utf8(&std::process::Command::new("cat").arg(&folder).output().unwrap().stdout)
            .unwrap()
            .to_owned();
        let _ = std::process::Command::new("rm").arg(&folder).status();
        assert_eq!(text, "{\"condition\":\"cpu.busy > 90\"}\nr1\n");
    }

    #[test]
    fn a_hook_that_fails_is_noted() {
        assert_eq!(notes_of("exit 3"), ["hook `exit 3` failed: it ended with status 3"]);
    }

    #[test]
    fn a_url_is_posted_to() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/alert?x=1", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut text = String::new();
            let mut bytes = [0; 4096];
            while !text.contains("}\n") {
                let n = stream.read(&mut bytes).unwrap();
                text += &String::from_utf8_lossy(&bytes[..n]);
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
            text
        });
        assert_eq!(notes_of(&url), [] as [&str; 0]);
        let text = server.join().unwrap();
        assert!(
            text.starts_with("POST /alert?x=1 HTTP/1.1\r\n") && text.ends_with("{\"condition\":\"cpu.busy > 90\"}\n"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_hook_is_refused() {
        assert!(Hook::parse("https://x/").unwrap_err().contains("curl"));
        assert!(Hook::parse("http:///x").is_err() && Hook::parse("http://a b/").is_err() && Hook::parse(" ").is_err());
        let Ok(Hook::Post { authority, path, .. }) = Hook::parse("http://alerts") else { panic!() };
        assert_eq!((authority.as_str(), path.as_str()), ("alerts:80", "/"));
    }
}
