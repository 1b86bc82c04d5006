//! Three hosts with an sshd each, as network namespaces: a driver, a database and a storage in one run, and a link that is cut.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::support::{Fenxi, skipped, text, wait_for};

const NAME: &str = "three_hosts_over_ssh_are_one_run_and_a_cut_link_costs_nothing";
const SSHD: &str = "/usr/sbin/sshd";

/// Namespaces `driver`, `database` and `storage` of this test, joined by a bridge in the first; gone with the value.
struct Net {
    names: [String; 3],
    servers: Vec<Child>,
    dir: tempfile::TempDir,
}

fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split(' ')).output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(format!("ip {words}: {}", text(&output.stderr))) }
}

impl Net {
    /// The namespaces with a server in the last two; an error where they cannot be had.
    fn new() -> Result<Net, String> {
        let id = std::process::id();
        let names = ["d", "b", "s"].map(|name| format!("fx{name}{id}"));
        let net = Net { names, servers: Vec::new(), dir: tempfile::TempDir::new().unwrap() };
        for name in &net.names {
            ip(&format!("netns add {name}")).map_err(|error| format!("`ip netns add` is refused here: {error}"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        let driver = &net.names[0];
        ip(&format!("-n {driver} link add br0 type bridge"))?;
        ip(&format!("-n {driver} addr add 10.77.0.1/24 dev br0"))?;
        ip(&format!("-n {driver} link set br0 up"))?;
        for (n, name) in net.names.iter().enumerate().skip(1) {
            ip(&format!("-n {driver} link add v{n} type veth peer name eth0 netns {name}"))?;
            ip(&format!("-n {driver} link set v{n} master br0 up"))?;
            ip(&format!("-n {name} addr add 10.77.0.{}/24 dev eth0", n + 1))?;
            ip(&format!("-n {name} link set eth0 up"))?;
        }
        net.with_servers()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn with_servers(mut self) -> Result<Net, String> {
        for key in ["host", "user"] {
            let key = self.path(key);
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(key).status();
            made.map_err(|error| error.to_string())?;
        }
        // Where it drops its rights before the login.
        fs_err::create_dir_all("/run/sshd").map_err(|error| error.to_string())?;
        let (key, keys) = (self.path("host"), self.path("user.pub"));
        let server = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n",
            key.display(),
            keys.display()
        );
        fs_err::write(self.path("sshd_config"), server).unwrap();
        let client = format!(
            "Host database\nHostName 10.77.0.2\nHost storage\nHostName 10.77.0.3\nHost *\nUser root\nIdentityFile {}\n\
             UserKnownHostsFile {}\nStrictHostKeyChecking no\nLogLevel ERROR\n",
            self.path("user").display(),
            self.path("known").display()
        );
        fs_err::write(self.path("config"), client).unwrap();
        for n in [1, 2] {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &self.names[n], SSHD, "-D", "-e", "-f"]).arg(self.path("sshd_config"));
            let log = fs_err::File::create(self.path(&format!("log{n}"))).unwrap();
            self.servers.push(command.stdin(Stdio::null()).stderr(log.into_parts().0).spawn().unwrap());
        }
        for n in [1, 2] {
            let log = self.path(&format!("log{n}"));
            wait_for("sshd", || fs_err::read_to_string(&log).is_ok_and(|log| log.contains("listening")));
        }
        Ok(self)
    }

    /// `fenxi` at the driver, with the words that record the two others.
    fn record(&self, fenxi: &Fenxi, words: &[&str]) -> Child {
        let on = ["database", "storage"].map(|host| format!("{host}=ssh -F {} {host}", self.path("config").display()));
        let mut command = Command::new("ip");
        command.args([
            "netns",
            "exec",
            &self.names[0],
            env!("CARGO_BIN_EXE_fenxi"),
            "record",
            "--on",
            &on[0],
            "--on",
            &on[1],
        ]);
        command.args(words).env("FENXI_STORE", fenxi.path()).stdin(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

#[test]
fn three_hosts_over_ssh_are_one_run_and_a_cut_link_costs_nothing() {
    if !rustix::process::geteuid().is_root() {
        return skipped(NAME, "network namespaces need root");
    }
    assert!(std::path::Path::new(SSHD).exists(), "sshd is missing; scripts/setup installs it");
    let net = match Net::new() {
        Ok(net) => net,
        Err(why) => return skipped(NAME, &why),
    };
    let fenxi = Fenxi::new();
    let child = net.record(&fenxi, &["--interval", "200ms", "--source", "mem,net", "--for", "12s"]);
    fenxi.wait_until_recording();
    let rows = || crate::support::walk(&fenxi.path()).iter().filter(|path| path.ends_with("agent.0000.arrows")).count();
    wait_for("rows of the others", || rows() > 0);
    // Packets to the storage are lost for a while, shorter than it takes to give it up.
    let (driver, port) = (&net.names[0], "v2");
    ip(&format!("-n {driver} link set {port} down")).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    ip(&format!("-n {driver} link set {port} up")).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let hosts = fenxi.sql("select host, count(*) as n, sum(dt) as s from mem group by host order by host");
    assert_eq!(hosts.len(), 3, "{hosts:?}");
    // Each host has all of its time, also that of the cut: what was sampled then came later.
    let gaps = "select max(gap) as g from (select epoch(t) - epoch(lag(t) over (partition by host order by t)) - dt as gap from mem)";
    assert!(fenxi.number(gaps) < 0.05, "{} {hosts:?}", fenxi.number(gaps));
    for row in &hosts {
        assert!(row["s"].as_f64().unwrap() > 8.0, "{hosts:?}");
    }
    // Each has the interfaces of its namespace.
    let seen = "select count(distinct host) as n from net where interface = 'eth0'";
    assert_eq!(fenxi.number(seen), 2.0);
    assert!(fenxi.number("select max(abs(clock_offset_s)) as o from agent") < 0.05);
}
