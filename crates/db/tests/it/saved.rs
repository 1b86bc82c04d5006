//! Answers of real servers, saved: the requests and answers of an observation, byte by byte, played back where there is no
//! server of that version. `FENXI_SAVE_ANSWERS=1` with the tests of all versions makes them anew.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use fenxi_wire::Dialect;

use crate::{
    messages::{Asked, Asking},
    server::{Server, free_port},
};

/// A question and its answers, in the order in which they came.
#[derive(Clone)]
pub struct Exchange {
    connection: u32,
    question: String,
    answer: Vec<u8>,
}

/// The bytes of one connection, in order; true: by the client.
type Said = Arc<Mutex<Vec<(bool, Vec<u8>)>>>;

/// Forwards bytes between observers and a server, and keeps it.
pub struct Listener {
    /// Where it listens.
    pub port: u16,
    connections: Arc<Mutex<Vec<Said>>>,
}

impl Listener {
    /// In front of a server.
    pub fn before(server: &Server) -> Listener {
        let port = free_port();
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let connections: Arc<Mutex<Vec<Said>>> = Arc::default();
        let (kept, to) = (Arc::clone(&connections), server.port);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, behind) = (client.unwrap(), TcpStream::connect(("127.0.0.1", to)).unwrap());
                let said = Said::default();
                kept.lock().unwrap().push(Arc::clone(&said));
                pass(client.try_clone().unwrap(), behind.try_clone().unwrap(), (true, Arc::clone(&said)));
                pass(behind, client, (false, said));
            }
        });
        Listener { port, connections }
    }

    /// As the server's own, through this one.
    pub fn url(&self, server: &Server) -> String {
        server.url(server.database()).replace(&format!(":{}/", server.port), &format!(":{}/", self.port))
    }

    /// Questions and answers so far: of each question the first answer, the longest between, and the last.
    pub fn exchanges(&self, dialect: Dialect) -> Vec<Exchange> {
        let mut all = Vec::new();
        for (number, said) in self.connections.lock().unwrap().iter().enumerate() {
            let mut asking = Asking::new(dialect);
            let mut open: Option<(String, Vec<u8>)> = asking.greets().map(|question| (question, Vec::new()));
            let mut of_connection = Vec::new();
            for (by_client, bytes) in said.lock().unwrap().iter() {
                if !by_client {
                    if let Some((_, answer)) = &mut open {
                        answer.extend_from_slice(bytes);
                    }
                    continue;
                }
                of_connection.extend(open.take().filter(|(_, answer)| !answer.is_empty()));
                if let Some((_, answer)) = of_connection.last() {
                    asking.answered(answer);
                }
                if let Some(Asked::Question(question)) = asking.take(bytes).pop() {
                    open = Some((question, Vec::new()));
                }
            }
            of_connection.extend(open);
            all.extend(few(number as u32, of_connection));
        }
        all
    }
}

/// Of each question the first answer, the longest between, and the last.
fn few(connection: u32, of_connection: Vec<(String, Vec<u8>)>) -> Vec<Exchange> {
    let mut kept: Vec<Exchange> = Vec::new();
    for (question, answer) in of_connection {
        let same: Vec<_> = (0..kept.len()).filter(|at| kept[*at].question == question).collect();
        if let [_, middle, last] = same[..] {
            if kept[last].answer.len() > kept[middle].answer.len() {
                kept.swap(middle, last);
            }
            kept.remove(last);
        }
        kept.push(Exchange { connection, question, answer });
    }
    kept
}

fn pass(mut from: TcpStream, mut to: TcpStream, (by_client, said): (bool, Said)) {
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            said.lock().unwrap().push((by_client, buffer[..n].to_vec()));
            if to.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}

/// How long the answer is given that lies between the first and the last.
const BETWEEN: Duration = Duration::from_millis(1500);

/// Where answers of a server are kept.
fn file(name: &str) -> PathBuf {
    PathBuf::from(format!("tests/answers/{name}.zst"))
}

/// Whether answers are to be made anew.
pub fn is_wanted() -> bool {
    std::env::var_os("FENXI_SAVE_ANSWERS").is_some()
}

/// Keeps answers, and how much was done meanwhile.
pub fn save(name: &str, done: f64, exchanges: &[Exchange]) {
    let mut bytes = done.to_be_bytes().to_vec();
    for Exchange { connection, question, answer } in exchanges {
        bytes.extend(connection.to_be_bytes());
        for part in [question.as_bytes(), answer] {
            bytes.extend((part.len() as u32).to_be_bytes());
            bytes.extend(part);
        }
    }
    make_neutral(&mut bytes, fs_err::read_to_string("/proc/sys/kernel/hostname").unwrap().trim());
    fs_err::create_dir_all(file(name).parent().unwrap()).unwrap();
    fs_err::write(file(name), zstd::encode_all(&bytes[..], 19).unwrap()).unwrap();
}

/// The folder of a server's files.
const FOLDER: &[u8] = b"/var/lib/dbdata";

/// Puts other words of the same length, as their lengths precede them, for the server's folder and machine.
fn make_neutral(bytes: &mut [u8], machine: &str) {
    let temporary = std::env::temp_dir().join(".tmp").into_os_string().into_encoded_bytes();
    let length = temporary.len() + 6;
    let folder: Vec<u8> = FOLDER.iter().copied().chain(std::iter::repeat(b'a')).take(length).collect();
    for at in places(bytes, &temporary).filter(|at| at + length <= bytes.len()).collect::<Vec<_>>() {
        bytes[at..at + length].copy_from_slice(&folder);
    }
    let name = machine.as_bytes();
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    for at in places(bytes, name).collect::<Vec<_>>() {
        if (at == 0 || !is_word(bytes.get(at - 1))) && !is_word(bytes.get(at + name.len())) {
            let neutral: Vec<u8> = b"db".iter().copied().cycle().take(name.len()).collect();
            bytes[at..at + name.len()].copy_from_slice(&neutral);
        }
    }
}

/// The position of a word.
fn places<'a>(bytes: &'a [u8], word: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes.windows(word.len().max(1)).enumerate().filter(move |(_, some)| *some == word).map(|(at, _)| at)
}

#[test]
fn saved_answers_name_no_temporary_folder() {
    for entry in fs_err::read_dir(file("").parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = zstd::decode_all(&fs_err::read(&path).unwrap()[..]).unwrap();
        assert_eq!(places(&bytes, b"/.tmp").count(), 0, "{}", path.display());
    }
}

#[test]
fn what_is_saved_is_neutral_and_as_long() {
    let folder = std::env::temp_dir().join(".tmpA1b2C3/data");
    let mut bytes = format!("{}/vm7.pid vm7-slow.log vm71 xvm7", folder.display()).into_bytes();
    let length = bytes.len();
    make_neutral(&mut bytes, "vm7");
    let said = String::from_utf8(bytes).unwrap();
    assert!(said.starts_with("/var/lib/dbd") && said.ends_with("/data/dbd.pid dbd-slow.log vm71 xvm7"), "{said}");
    assert_eq!(said.len(), length);
}

/// Takes so many bytes off the front.
fn take<'a>(bytes: &mut &'a [u8], n: usize) -> &'a [u8] {
    let (front, rest) = bytes.split_at(n);
    *bytes = rest;
    front
}

fn number(bytes: &mut &[u8]) -> u32 {
    u32::from_be_bytes(take(bytes, 4).try_into().unwrap())
}

/// Answers that were kept, and how much was done meanwhile.
fn load(name: &str) -> (f64, Vec<Exchange>) {
    let all = zstd::decode_all(&fs_err::read(file(name)).unwrap()[..]).unwrap();
    let mut rest = &all[..];
    let done = f64::from_be_bytes(take(&mut rest, 8).try_into().unwrap());
    let mut exchanges = Vec::new();
    while !rest.is_empty() {
        let connection = number(&mut rest);
        let mut part = || {
            let length = number(&mut rest) as usize;
            take(&mut rest, length).to_vec()
        };
        let question = String::from_utf8(part()).unwrap();
        exchanges.push(Exchange { connection, question, answer: part() });
    }
    (done, exchanges)
}

/// A server that plays back the answers of another one: its port, and how much was done meanwhile. What was never asked is an error of the test.
pub fn played(name: &str, dialect: Dialect) -> (u16, f64) {
    let (done, exchanges) = load(name);
    let exchanges = Arc::new(exchanges);
    let port = free_port();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let name = name.to_owned();
    thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (exchanges, name) = (Arc::clone(&exchanges), name.clone());
            thread::spawn(move || play(client.unwrap(), (number as u32, &exchanges), dialect, &name));
        }
    });
    (port, done)
}

fn play(mut client: TcpStream, (connection, exchanges): (u32, &[Exchange]), dialect: Dialect, name: &str) {
    client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let (mut asking, begun) = (Asking::new(dialect), Instant::now());
    let mut times: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    let mut answer = |question: &str| {
        let nth = times.entry(question.to_owned()).or_default();
        *nth += 1;
        // The mark of our statements is a comment: what was asked without it is answered alike.
        let bare = |question: &str| question.replacen("/* fenxi-db */ ", "", 1);
        let asked = bare(question);
        let of = |own: bool| {
            let fits = |e: &&Exchange| bare(&e.question) == asked && (!own || e.connection == connection);
            exchanges.iter().filter(fits).map(|e| e.answer.clone()).collect::<Vec<_>>()
        };
        let own = of(true);
        let all = if own.is_empty() { of(false) } else { own };
        // An answer between the first and the last holds for a while: of sessions at work more than one look is taken.
        let place = match *nth {
            1 => 0,
            _ if all.len() == 3 && begun.elapsed() < BETWEEN => 1,
            _ => all.len().saturating_sub(1),
        };
        all.get(place).cloned()
    };
    if let Some(greeting) = asking.greets().and_then(|question| answer(&question)) {
        client.write_all(&greeting).unwrap();
    }
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(n @ 1..) = client.read(&mut buffer) {
        for asked in asking.take(&buffer[..n]) {
            let bytes = match asked {
                Asked::Encryption => b"N".to_vec(),
                Asked::Ping => asking.pong(),
                Asked::Question(question) => match answer(&question) {
                    Some(bytes) => bytes,
                    None => asking.refusal(&format!("no answer of {name} is saved to: {question}")),
                },
            };
            asking.answered(&bytes);
            if client.write_all(&bytes).is_err() {
                return;
            }
        }
    }
}
