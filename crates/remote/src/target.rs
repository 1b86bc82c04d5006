//! A host as `--on` names it: what it is called in the run, and the command that reaches it.

use crate::shell_words;

/// A host to be recorded besides this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host of its rows.
    pub name: String,
    /// A command whose standard input and output are those of the words that follow it, run on that host.
    pub transport: Vec<String>,
}

/// Without a terminal, and never asking for a password: it could not be typed.
const SSH: [&str; 5] = ["ssh", "-T", "-o", "BatchMode=yes", "--"];

/// Commands that run another one behind them, and so are no hosts although they are a single word.
const COMMANDS: [&str; 4] = ["sudo", "doas", "fakeroot", "unshare"];

impl Target {
    /// Reads `HOST`, `NAME=HOST` or `NAME=COMMAND…`; a host is reached by ssh.
    ///
    /// # Errors
    /// In words: what is wrong with it.
    pub fn parse(text: &str) -> Result<Target, String> {
        let (name, way) = match text.split_once('=') {
            Some((name, way)) => (Some(name), way),
            None => (None, text),
        };
        let mut words = shell_words::split(way)?;
        let transport = match words.as_slice() {
            [] => return Err("no host and no command; expected HOST, NAME=HOST or NAME=COMMAND".to_owned()),
            [command] if name.is_some() && COMMANDS.contains(&command.as_str()) => std::mem::take(&mut words),
            [host] => SSH.iter().map(|word| (*word).to_owned()).chain([host.clone()]).collect(),
            _ if name.is_none() => return Err("a command needs a name for its host: NAME=COMMAND".to_owned()),
            _ => std::mem::take(&mut words),
        };
        let name = name.map_or_else(|| host_of(words.first().map_or("", |word| word)), str::to_owned);
        let fits = |c: char| c.is_alphanumeric() || "._-".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            return Err(format!("`{name}` cannot name a host in a run; give another name: NAME={way}"));
        }
        Ok(Target { name, transport })
    }
}

/// The host of `USER@HOST` or `ssh://USER@HOST:PORT`.
fn host_of(destination: &str) -> String {
    let bare = destination.strip_prefix("ssh://").unwrap_or(destination);
    let host = bare.rsplit_once('@').map_or(bare, |(_, host)| host);
    if bare.len() < destination.len() { host.split(':').next().unwrap_or(host).to_owned() } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_reached_by_ssh_or_by_a_command() {
        let of = |text: &str| Target::parse(text).map(|target| (target.name, target.transport.join(" "))).unwrap();
        let ssh = |name: &str, host: &str| (name.to_owned(), format!("ssh -T -o BatchMode=yes -- {host}"));
        assert_eq!(of("db1"), ssh("db1", "db1"));
        assert_eq!(of("me@db1"), ssh("db1", "me@db1"));
        assert_eq!(of("ssh://me@db1:2222"), ssh("db1", "ssh://me@db1:2222"));
        assert_eq!(of("store=me@10.0.0.9"), ssh("store", "me@10.0.0.9"));
        let pod = ("pod".to_owned(), "kubectl exec -i shop-0 --".to_owned());
        assert_eq!(of("pod=kubectl exec -i shop-0 --"), pod);
        assert_eq!(of("root=sudo"), ("root".to_owned(), "sudo".to_owned()));
        assert_eq!(of("sudo"), ssh("sudo", "sudo"), "without a name it is a host");
    }

    #[test]
    fn what_cannot_be_reached_or_named_is_told() {
        let refused = |text: &str| Target::parse(text).unwrap_err();
        assert!(refused("db1=").starts_with("no host and no command"));
        assert!(refused("docker exec x").starts_with("a command needs a name"));
        assert_eq!(refused("fe80::1"), "`fe80::1` cannot name a host in a run; give another name: NAME=fe80::1");
        assert!(refused("=db1").starts_with("`` cannot name"));
        assert!(refused("a='b").contains("not closed"));
    }
}
