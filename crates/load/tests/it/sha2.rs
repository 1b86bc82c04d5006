//! `caching_sha2_password` against a server of the test's own, which knows the password and checks what it is sent:
//! when it remembers the account (the fast path) and when it does not (the full one, under its RSA key).

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use fenxi_wire::{
    client::{Client, ClientError},
    target::{Surroundings, Target},
};
use fs_err as fs;
use sha2::{Digest, Sha256};

use crate::server::{quietly, skipped};

const PASSWORD: &str = "a pass word";
/// Nonce of the server, to be mixed with the password.
const NONCE: &[u8; 20] = b"abcdefghijklmnopqrst";

/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH and CONNECT_WITH_DB.
const FLAGS: u32 = 0x200 | 0x8000 | 0x8_0000 | 0x8;

fn send(stream: &mut TcpStream, sequence: u8, body: &[u8]) -> Option<()> {
    let mut packet = (body.len() as u32).to_le_bytes();
    packet[3] = sequence;
    stream.write_all(&[&packet[..], body].concat()).ok()
}

fn receive(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    stream.read_exact(&mut body).ok()?;
    Some((head[3], body))
}

fn greeting() -> Vec<u8> {
    let flags = FLAGS.to_le_bytes();
    let first: [&[u8]; 8] =
        [b"\x0a8.4.0\0\x07\0\0\0", &NONCE[..8], b"\0", &flags[..2], &[45, 2, 0], &flags[2..], &[21], &[0; 10]];
    [&first.concat()[..], &NONCE[8..], b"\0caching_sha2_password\0"].concat()
}

/// The digest that who knows the password answers the nonce with.
fn digest() -> Vec<u8> {
    let once = Sha256::digest(PASSWORD);
    let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(NONCE).finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// The answer in a response: after 32 bytes and the user's name, with its length before it.
fn answer(response: &[u8]) -> Vec<u8> {
    let name = response[32..].iter().position(|b| *b == 0).unwrap();
    let rest = &response[32 + name + 1..];
    rest[1..1 + usize::from(rest[0])].to_vec()
}

/// Whether what was encrypted is the password, mixed with the nonce.
fn opens(folder: &Path, sealed: &[u8]) -> bool {
    fs::write(folder.join("sealed"), sealed).unwrap();
    let oaep = ["pkeyutl", "-decrypt", "-inkey", "key", "-pkeyopt", "rsa_padding_mode:oaep", "-in", "sealed"];
    let Ok(output) = Command::new("openssl").args(oaep).current_dir(folder).output() else { return false };
    let plain: Vec<u8> = output.stdout.iter().zip(NONCE.iter().cycle()).map(|(a, b)| a ^ b).collect();
    plain == [PASSWORD.as_bytes(), b"\0"].concat()
}

/// A login and the statements after it.
fn serve(mut stream: TcpStream, folder: &Path, remembers: bool) -> Option<()> {
    send(&mut stream, 0, &greeting())?;
    let (mut sequence, response) = receive(&mut stream)?;
    let good = if remembers {
        let good = answer(&response) == digest();
        if good {
            send(&mut stream, sequence + 1, b"\x01\x03")?;
            sequence += 1;
        }
        good
    } else {
        send(&mut stream, sequence + 1, b"\x01\x04")?;
        let (asked, request) = receive(&mut stream)?;
        assert_eq!(request, [2], "the key is asked for");
        send(&mut stream, asked + 1, &[b"\x01", &fs::read(folder.join("key.pub")).unwrap()[..]].concat())?;
        let (last, sealed) = receive(&mut stream)?;
        sequence = last;
        opens(folder, &sealed)
    };
    if !good {
        return send(&mut stream, sequence + 1, b"\xff\x15\x04#28000Access denied");
    }
    send(&mut stream, sequence + 1, b"\0\0\0\x02\0\0\0")?;
    while let Some((_, command)) = receive(&mut stream) {
        if command[0] != 3 {
            break;
        }
        send(&mut stream, 1, b"\0\0\0\x02\0\0\0")?;
    }
    Some(())
}

#[test]
fn an_account_of_mysql_8_is_logged_in_whether_or_not_the_server_remembers_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut make = Command::new("openssl");
    let made = Command::new("openssl").arg("version").output().is_ok()
        && quietly(make.args(["genrsa", "-out", "key", "2048"]).current_dir(&folder))
        && quietly(
            Command::new("openssl").args(["rsa", "-in", "key", "-pubout", "-out", "key.pub"]).current_dir(&folder),
        );
    if !made {
        return skipped("accounts of MySQL 8", "openssl is not installed here");
    }
    for remembers in [true, false] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let place = folder.path().to_owned();
        thread::spawn(move || {
            for stream in listener.incoming() {
                serve(stream.unwrap(), &place, remembers);
            }
        });
        let login = |password: &str| -> Result<Client, ClientError> {
            let url = format!("mysql://u:{password}@127.0.0.1:{port}/d");
            Client::connect(&Target::parse(&url, &Surroundings::default()).unwrap(), Duration::from_secs(10))
        };
        login(&PASSWORD.replace(' ', "%20")).unwrap().run("DO 1").unwrap();
        assert_eq!(login("wrong").unwrap_err().server().unwrap().number, 1045, "{remembers}");
    }
}
