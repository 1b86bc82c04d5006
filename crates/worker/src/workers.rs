//! The template process, and the sessions that are forked from it.

use std::{
    env,
    ffi::OsString,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::{
    Session, Setup, WorkerError,
    control::{self, End, Order},
    scratch::Scratch,
};

/// Variables that the environment of workers keeps: where libraries are found, and nothing that is secret.
const ENVIRONMENT: [&str; 1] = ["LD_LIBRARY_PATH"];

/// Options of starting workers.
#[derive(Clone, Debug)]
pub struct Start {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder below which a folder for spilling is made; None for the system's temporary one.
    pub scratch: Option<PathBuf>,
}

impl Start {
    /// A folder for spilling.
    fn scratch(&self) -> io::Result<Scratch> {
        Scratch::make(&self.scratch.clone().unwrap_or_else(env::temp_dir))
    }
}

/// The workers of one program. Clones share them; they end with the last clone.
#[derive(Clone, Debug)]
pub struct Workers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    start: Start,
    scratch: Scratch,
    template: Mutex<Option<Template>>,
    sessions: AtomicU32,
    confined: OnceLock<Vec<String>>,
}

/// The process that has the engine open and forks.
#[derive(Debug)]
struct Template {
    process: Child,
    /// None when it was closed, which ends the process.
    control: Option<OwnedFd>,
}

impl Workers {
    /// Starts the template, which gets ready while its owner does something else.
    ///
    /// # Errors
    /// When the program cannot be started, or no folder for spilling can be made.
    pub fn start(start: Start) -> Result<Workers, WorkerError> {
        let scratch = start.scratch()?;
        let template = Template::start(&start, &scratch)?;
        Ok(Workers::with(start, scratch, Some(template)))
    }

    /// Starts the template with the first session, which may never come.
    ///
    /// # Errors
    /// When no folder for spilling can be made.
    pub fn on_demand(start: Start) -> Result<Workers, WorkerError> {
        let scratch = start.scratch()?;
        Ok(Workers::with(start, scratch, None))
    }

    fn with(start: Start, scratch: Scratch, template: Option<Template>) -> Workers {
        Workers(Arc::new(Shared {
            start,
            scratch,
            template: Mutex::new(template),
            sessions: AtomicU32::new(1),
            confined: OnceLock::new(),
        }))
    }

    /// Sandbox of sessions, in words; None before the first one.
    pub fn confined(&self) -> Option<&[String]> {
        self.0.confined.get().map(Vec::as_slice)
    }

    /// A fresh session that may do what `setup` allows, with its own folder for spilling.
    ///
    /// # Errors
    /// When no worker can be had, or it could not be confined.
    pub fn session(&self, setup: &Setup) -> Result<Session, WorkerError> {
        let id = self.0.sessions.fetch_add(1, Ordering::Relaxed);
        let (ours, theirs) = UnixStream::pair()?;
        self.fork(id, &theirs)?;
        drop(theirs);
        let mut session = Session::new(self.clone(), id, ours);
        let spill = Some(self.0.scratch.session(id)?);
        session.set_up(&Setup { spill, ..setup.clone() })?;
        self.0.confined.get_or_init(|| session.confined().to_vec());
        Ok(session)
    }

    /// Has the template fork; one that has died meanwhile is started again, once.
    fn fork(&self, id: u32, socket: &UnixStream) -> Result<(), WorkerError> {
        let mut template = self.lock();
        for _ in 0..2 {
            if template.is_none() {
                *template = Some(Template::start(&self.0.start, &self.0.scratch)?);
            }
            let sent = template.as_ref().map(|t| t.send(Order::Fork(id), Some(socket)));
            match sent {
                Some(Ok(())) => return Ok(()),
                _ => *template = None,
            }
        }
        Err(WorkerError::Start(format!("{} ended as soon as it was started", self.0.start.program.display())))
    }

    /// Kills a session; one that has ended is none of these any more.
    pub(crate) fn kill(&self, id: u32) {
        if let Some(template) = self.lock().as_ref() {
            // A template that has gone took its children with it.
            let _ = template.send(Order::Kill(id), None);
        }
    }

    /// How a session ended.
    pub(crate) fn end_of(&self, id: u32) -> End {
        let template = self.lock();
        let asked = template.as_ref().and_then(|t| {
            t.send(Order::Ask(id), None).ok()?;
            control::receive_end(t.control.as_ref()?).ok()
        });
        asked.unwrap_or(End::Unknown)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Template>> {
        self.0.template.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Template {
    /// Starts it; it removes `scratch` when it finds that its owner was killed.
    fn start(start: &Start, scratch: &Scratch) -> Result<Template, WorkerError> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(io::Error::from)?;
        let mut command = Command::new(&start.program);
        command.args(&start.arguments).arg(scratch.path()).env_clear().current_dir("/");
        command.envs(ENVIRONMENT.iter().filter_map(|name| Some((*name, env::var_os(name)?))));
        // Its own process group: Ctrl-C is for the program that asks, which then decides.
        command.stdin(Stdio::from(theirs)).stdout(Stdio::null()).process_group(0);
        let process = command.spawn().map_err(|e| {
            WorkerError::Start(format!("the SQL engine cannot be started: {}: {e}", start.program.display()))
        })?;
        Ok(Template { process, control: Some(ours) })
    }

    fn send(&self, order: Order, socket: Option<&UnixStream>) -> io::Result<()> {
        let control = self.control.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        control::send(control, order, socket.map(|s| s.as_fd()))
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        drop(self.control.take());
        let _ = self.process.wait();
    }
}
