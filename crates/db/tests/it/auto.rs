//! Servers that run on this host are found where they listen.

use fenxi_db::auto::running;
use fenxi_source::Root;
use fenxi_wire::{
    client::Client,
    target::{Surroundings, Target},
};

use crate::server::{Server, skipped};

/// The server's URL, among those of all servers that run here.
fn url_of(server: &Server) -> String {
    let folder = server.folder.path().to_str().unwrap().replace('/', "%2F");
    let found = running(&Root::live());
    let url = found.iter().find_map(|found| found.url.clone().filter(|url| url.contains(&folder)));
    url.unwrap_or_else(|| panic!("{folder} is not in {found:?}"))
}

fn logs_in(url: &str, user: &str) {
    let around = Surroundings { user: Some(user.to_owned()), ..Surroundings::default() };
    let target = Target::parse(url, &around).unwrap();
    let mut client = Client::connect(&target, std::time::Duration::from_secs(10)).unwrap();
    assert_eq!(client.number("SELECT 1").unwrap(), Some(1), "{url}");
}

#[test]
fn a_postgresql_is_found_by_its_socket_and_lets_us_in() {
    let Some(server) = Server::postgres() else { return skipped("PostgreSQL", "it is not installed") };
    logs_in(&url_of(&server), "postgres");
}

#[test]
fn a_mariadb_is_found_by_its_socket_and_lets_us_in() {
    let Some(server) = Server::mariadb() else { return skipped("MariaDB", "it is not installed") };
    logs_in(&url_of(&server), "root");
}
