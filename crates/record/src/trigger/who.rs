//! Client sessions of PostgreSQL on this host, counted by its processes: without a connection, which would count itself.
//!
//! A session is a child of the server whose title names its user, database and client: `postgres: glennf shop
//! 10.0.0.7(51123) idle`. Titles are read once for each process; numbers of children come with one read per server.

use std::{collections::BTreeMap, fmt};

use fenxi_source::Root;

use super::metric::Match;

/// How often servers are looked for, in looks.
const SERVERS_EVERY: u32 = 100;
/// A session names its client as soon as it has read the first message; what does not so many looks later is none.
const TRIES: u32 = 50;

/// One session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Session {
    pub(super) pid: u32,
    /// When it began, in ticks since boot: sessions are counted in this order.
    began: u64,
    user: String,
    database: String,
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {} of {} in {}", self.pid, self.user, self.database)
    }
}

/// A child of a server.
#[derive(Debug, Default)]
struct KnownProcess {
    /// None: it is no session, or its title does not name a client yet.
    session: Option<Session>,
    /// How often its title was looked at.
    tries: u32,
}

/// The sessions that are there.
#[derive(Debug)]
pub(super) struct Sessions {
    root: Root,
    servers: Vec<u32>,
    /// Children of the servers by process id.
    known: BTreeMap<u32, KnownProcess>,
    looks: u32,
}

impl Sessions {
    pub(super) fn new(root: &Root) -> Sessions {
        Sessions { root: root.clone(), servers: Vec::new(), known: BTreeMap::new(), looks: 0 }
    }

    /// Looks which there are now.
    pub(super) fn look(&mut self) {
        if self.looks.is_multiple_of(SERVERS_EVERY)
            || self.servers.iter().any(|pid| !self.root.is_dir(&format!("/proc/{pid}")))
        {
            self.servers = servers(&self.root);
        }
        self.looks = self.looks.wrapping_add(1);
        let mut seen = BTreeMap::new();
        for child in self.servers.iter().flat_map(|pid| children(&self.root, *pid)) {
            let mut known = self.known.remove(&child).unwrap_or_default();
            if known.session.is_none() && known.tries < TRIES {
                known.tries += 1;
                let title = title(&self.root, child);
                known.session = title.and_then(|title| session(child, began(&self.root, child)?, &title));
            }
            seen.insert(child, known);
        }
        self.known = seen;
    }

    /// Those that a selection holds for, in the order in which they began.
    pub(super) fn chosen(&self, matches: &[Match]) -> Vec<&Session> {
        let holds = |session: &&Session| {
            matches.iter().all(|m| m.holds(Some(if m.label == "user" { &session.user } else { &session.database })))
        };
        let mut chosen: Vec<_> = self.known.values().filter_map(|known| known.session.as_ref()).filter(holds).collect();
        chosen.sort_by_key(|session| (session.began, session.pid));
        chosen
    }
}

/// The first processes of servers.
fn servers(root: &Root) -> Vec<u32> {
    let names = root.list("/proc").unwrap_or_default();
    let pids = names.into_iter().filter_map(|(name, _)| name.to_str()?.parse::<u32>().ok());
    let is_server = |pid: &u32| {
        let comm = root.read_text(&format!("/proc/{pid}/comm")).unwrap_or_default();
        matches!(comm.as_str(), "postgres" | "postmaster")
            && title(root, *pid).is_some_and(|title| !title.starts_with("postgres: "))
    };
    pids.filter(is_server).collect()
}

fn children(root: &Root, pid: u32) -> Vec<u32> {
    let text = root.read_text(&format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn began(root: &Root, pid: u32) -> Option<u64> {
    let text = root.read_text(&format!("/proc/{pid}/stat"))?;
    // Behind the name, which may hold anything.
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The title of a process: its command line, whose words a server has put together.
fn title(root: &Root, pid: u32) -> Option<String> {
    let bytes = root.read(&format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let title = text.split('\0').next().unwrap_or_default().trim_end().to_owned();
    (!title.is_empty()).then_some(title)
}

/// The session of a title, `postgres: [CLUSTER: ]USER DATABASE CLIENT STATE`; None of the server's own processes.
fn session(pid: u32, began: u64, title: &str) -> Option<Session> {
    let mut rest = title.strip_prefix("postgres: ")?;
    if let Some((_, behind)) = rest.split_once(": ") {
        rest = behind;
    }
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let client = words.iter().position(|word| *word == "[local]" || (word.ends_with(')') && word.contains('(')))?;
    let [user, database] = words.get(client.checked_sub(2)?..client)? else { return None };
    Some(Session { pid, began, user: (*user).to_owned(), database: (*database).to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_sessions_name_user_database_and_client() {
        let of = |title: &str| session(7, 1, title).map(|session| (session.user, session.database));
        let glennf = Some(("glennf".to_owned(), "shop".to_owned()));
        assert_eq!(of("postgres: glennf shop 10.0.0.7(51123) idle"), glennf);
        assert_eq!(of("postgres: glennf shop [local] idle in transaction"), glennf);
        assert_eq!(of("postgres: 17/main: glennf shop ::1(51123) SELECT"), glennf);
        for own in [
            "postgres: checkpointer",
            "postgres: 17/main: walwriter ",
            "postgres: parallel worker for PID 5",
            "/usr/lib/postgresql/17/bin/postgres -D /d",
        ] {
            assert_eq!(of(own), None, "{own}");
        }
    }
}
