//! Bytes of a hostile database server: `cargo run -p fenxi-fuzz -- wire --seconds 600`.
//!
//! The seeds are what servers say in sessions of both protocols: logins of every kind, results, refusals, data that is
//! asked for. Damaged, they are fed to a session, which asks further where it may. It must not matter how the stream is
//! cut, a row must give what is in it, and nothing may take more memory than what came.

use std::sync::Arc;

use fenxi_model::Random;
use fenxi_wire::{
    Dialect, Event, Mode, Session, Statement, Value,
    login::{Login, Password, Reach, Tls},
};

use crate::mutate::mutate;

/// Where the client's nonce, which is random and as long, goes into the stream of a server.
const NONCE: &[u8] = b"@the.nonce.of.the.client";
/// The headers that precede it.
const HEADERS: [&[u8]; 3] = [b"n,,n=,r=", b"y,,n=,r=", b"p=tls-server-end-point,,n=,r="];
/// How sessions of the seeds are used: by every mode of statements, over a socket of this host, and where TLS is asked for.
const USES: [u8; 6] = [0, 2, 4, 10, 18, 24];
/// The longest message that is taken.
const LONGEST: usize = 64 << 10;

fn pg(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn my(bodies: &[&[u8]]) -> Vec<u8> {
    let packet = |(number, body): (usize, &&[u8])| {
        let length = (body.len() as u32).to_le_bytes();
        [&length[..3], &[number as u8], *body].concat()
    };
    bodies.iter().enumerate().flat_map(packet).collect()
}

/// Streams of servers. The first byte is the protocol and how the session is used, the second where the stream is cut.
pub fn seeds() -> Vec<Vec<u8>> {
    // Without it no challenge is an answer to the client's, and nothing behind it is tried.
    for header in HEADERS {
        assert_eq!(nonce_of(&[b"p\0\0\0\x42", header, NONCE].concat()).as_deref(), Some(NONCE));
    }
    let streams = postgres().into_iter().map(|s| (0, s)).chain(mysql().into_iter().map(|s| (1, s)));
    streams.flat_map(|(dialect, stream)| USES.map(move |how| [&[dialect | how, 17][..], &stream].concat())).collect()
}

fn postgres() -> Vec<Vec<u8>> {
    let begun =
        [pg(b'S', b"server_version\x0015.18 (Debian)\0"), pg(b'K', &[0, 0, 0, 9, 1, 2, 3, 4]), pg(b'Z', b"I")].concat();
    let described = b"\0\x02id\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0name\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
    let rows = [
        pg(b'T', described),
        pg(b'D', b"\0\x02\0\0\0\x0242\xff\xff\xff\xff"),
        pg(b'D', b"\0\x02\0\0\0\x00\0\0\0\x03abc"),
        pg(b'C', b"SELECT 2\0"),
        pg(b'Z', b"T"),
    ]
    .concat();
    let refused = [
        pg(b'E', b"SERROR\0VERROR\0C40P01\0Mdeadlock detected\0\0"),
        pg(b'C', b"UPDATE 18446744073709551615\0"),
        pg(b'C', b"INSERT 0 5\0"),
        pg(b'Z', b"E"),
    ]
    .concat();
    let copy = [pg(b'G', &[0, 0, 1, 0, 0]), pg(b'C', b"COPY 100\0"), pg(b'Z', b"I")].concat();
    let prepared = [pg(b'1', b""), pg(b'2', b""), pg(b'n', b""), pg(b'C', b"UPDATE 3\0"), pg(b'Z', b"I")].concat();
    let scram = [
        pg(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"),
        pg(b'R', b"\0\0\0\x0br=@the.nonce.of.the.clientabc,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=16"),
        pg(b'R', b"\0\0\0\x0cv=AAAA"),
    ]
    .concat();
    let fatal = pg(b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
    let ok = pg(b'R', &[0; 4]);
    vec![
        [&ok[..], &begun, &rows, &refused, &rows].concat(),
        [&pg(b'R', b"\0\0\0\x05salt"), &ok[..], &begun, &copy, &prepared, &fatal].concat(),
        [&pg(b'R', b"\0\0\0\x03"), &ok[..], &begun, &pg(b'N', b"SNOTICE\0Mx\0\0"), &rows].concat(),
        [&scram[..], &ok, &begun, &rows].concat(),
        [&b"N"[..], &ok, &begun, &rows].concat(),
        b"S".to_vec(),
    ]
}

fn mysql() -> Vec<Vec<u8>> {
    let greeting = |plugin: &str| {
        let head =
            b"\x0a5.5.5-10.11.14-MariaDB\0\x07\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\0\xff\xf7\x2d\x02\0\xff\x81\x15";
        [&head[..], &[0; 10], &(9..21).collect::<Vec<u8>>(), &[0], plugin.as_bytes(), &[0]].concat()
    };
    let (ok, eof): (&[u8], &[u8]) = (&[0, 3, 0, 2, 0, 0, 0], &[0xfe, 0, 0, 3, 0]);
    let column: &[u8] = b"\x03def\x01d\x01t\x01t\x02id\x02id\x0c\x3f\0\x0b\0\0\0\x03\x03\x42\0\0\0";
    let more: &[u8] = &[0, 0xfe, 255, 255, 255, 255, 255, 255, 255, 255, 0, 8, 0, 0, 0];
    let answer: &[u8] = &[0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0];
    let (native, caching) = (greeting("mysql_native_password"), greeting("caching_sha2_password"));
    let switch = [&b"\xfecaching_sha2_password\0"[..], &(1..21).collect::<Vec<u8>>(), &[0]].concat();
    let key = b"\x01-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAL8eJ5AKoIsjURpcEoGubZMxLD7+kT+T\nLr7UkvEtFrRhDDKMtuIIq19FrL4pUIMymPMSLBn3hJLe30Dw48GQM4UCAwEAAQ==\n-----END PUBLIC KEY-----\n";
    vec![
        my(&[&native, ok, &[1], column, eof, b"\x0242", b"\xfb", eof, ok, b"\xff\xbd\x04#40001Deadlock found"]),
        my(&[&native, &switch, &[1, 4], key, ok, answer, column, eof, column, eof, &[1], column, eof, b"\x00", eof]),
        my(&[&caching, &[1, 3], ok, b"\xfb/etc/passwd", ok, more, more, ok]),
        my(&[b"\xff\x10\x04Too many connections"]),
        my(&[&greeting("sha256_password"), key, ok, ok]),
        my(&[&greeting("unix_socket"), b"\xfe", ok]),
    ]
}

/// A damaged stream: sometimes of any bytes, mostly of whole messages, so that what is in them is read.
pub fn input(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    if random.below(4) == 0 {
        return mutate(seeds, random);
    }
    let seed = &seeds[random.below(seeds.len())];
    let dialect = seed[0] & 1;
    let others: Vec<&Vec<u8>> = seeds.iter().filter(|other| other[0] & 1 == dialect).collect();
    let mut parts = messages(seed);
    for _ in 0..1 + random.below(4) {
        let at = random.below(parts.len());
        match random.below(7) {
            0 if parts.len() > 1 => drop(parts.remove(at)),
            1 => (0..1 + random.below(5)).for_each(|_| parts.insert(at, parts[at].clone())),
            2 => {
                let other = random.below(parts.len());
                parts.swap(at, other);
            }
            3 => {
                let other = messages(others[random.below(others.len())]);
                parts.insert(at, other[random.below(other.len())].clone());
            }
            4 => parts[at] = mutate(&parts[at..=at], random),
            _ => resize(&mut parts[at], dialect, random),
        }
    }
    [&seed[..1], &[random.below(40) as u8], &parts.concat()[..]].concat()
}

/// The messages of a seed.
fn messages(seed: &[u8]) -> Vec<Vec<u8>> {
    let (mut parts, mut rest) = (Vec::new(), &seed[2..]);
    while !rest.is_empty() {
        let length = match (seed[0] & 1, rest) {
            // The answer to a request for TLS is a byte.
            (0, [b'N' | b'S', b'R', ..] | [b'S']) => 1,
            (0, [_, a, b, c, d, ..]) => u32::from_be_bytes([*a, *b, *c, *d]) as usize + 1,
            (1, [a, b, c, ..]) => u32::from_le_bytes([*a, *b, *c, 0]) as usize + 4,
            _ => rest.len(),
        };
        let (part, more) = rest.split_at(length.min(rest.len()));
        parts.push(part.to_vec());
        rest = more;
    }
    parts
}

/// Changes a message's body and makes its length right.
fn resize(part: &mut Vec<u8>, dialect: u8, random: &mut Random) {
    let head = if dialect == 0 { 5 } else { 4 };
    if part.len() < head {
        return;
    }
    let body = part.split_off(head);
    let body = mutate(&[body], random);
    let length = body.len() as u32;
    if dialect == 0 {
        part[1..5].copy_from_slice(&(length + 4).to_be_bytes());
    } else {
        part[..3].copy_from_slice(&length.to_le_bytes()[..3]);
    }
    part.extend(body);
}

/// How a session is used.
struct Use {
    dialect: Dialect,
    mode: Mode,
    tls: Tls,
    local: bool,
}

impl Use {
    fn of(byte: u8) -> Use {
        Use {
            dialect: if byte & 1 == 0 { Dialect::Postgres } else { Dialect::Mysql },
            mode: [Mode::Simple, Mode::Prepared, Mode::Pipelined, Mode::Prepared][usize::from(byte >> 1 & 3)],
            tls: if byte & 24 == 24 { Tls::Prefer } else { Tls::Disable },
            local: byte & 16 != 0,
        }
    }
}

/// Feeds the stream in one piece and in many; gives how many bytes were taken.
pub fn read(bytes: &[u8]) -> u64 {
    let [how, every, stream @ ..] = bytes else { return 0 };
    let how = Use::of(*how);
    let (whole, taken) = play(&how, stream, stream.len().max(1));
    let (cut, _) = play(&how, stream, usize::from(*every).max(1));
    // Whether plain bytes follow a consent to TLS is known only when they are there; and a nonce, which is random, may have
    // got into any place of a damaged stream.
    let tls = how.tls != Tls::Disable && (how.dialect == Dialect::Mysql || stream.first() == Some(&b'S'));
    let is_random = stream.windows(NONCE.len()).any(|piece| piece == NONCE);
    assert!(tls || is_random || whole == cut, "it matters how the stream is cut:\n{whole:?}\n{cut:?}");
    taken
}

/// Events, and the number of bytes that were taken of a stream that comes `every` so many bytes.
fn play(how: &Use, stream: &[u8], every: usize) -> (Vec<String>, u64) {
    let mut login = Login::new(how.dialect, "u");
    (login.password, login.tls) = (Some(Password::new("secret")), how.tls);
    login.reach = if how.local { Reach::Socket } else { Reach::Loopback };
    (login.database, login.local_files) = ("d".to_owned(), true);
    let mut sent = Vec::new();
    let mut session = Session::new(&Arc::new(login), &mut sent);
    session.limit(LONGEST);
    session.keep_columns();
    let pieces = ["UPDATE t SET c = ", " WHERE id = ", ""].map(str::to_owned);
    let statement = Statement::new(how.dialect, 3, pieces.to_vec());
    let (mut stream, mut at, mut shown) = (stream.to_vec(), 0, 0);
    let (mut events, mut nonce, mut cells) = (Vec::new(), None, Vec::new());
    loop {
        let (used, event) = match session.feed(&stream[at..shown], &mut sent) {
            Ok((0, Event::More)) if shown == stream.len() => break,
            Ok((0, Event::More)) => {
                shown = stream.len().min(shown + every);
                continue;
            }
            Ok((0, Event::Binding)) => {
                session.bind(Some(vec![7; 32]));
                continue;
            }
            Ok((used, event)) => (used, event),
            Err(error) => {
                events.push(error.to_string());
                break;
            }
        };
        assert!((1..=shown - at).contains(&used), "{used} of {} bytes taken", shown - at);
        match &event {
            Event::Row(row) => {
                let read = session.cells(row, &mut cells);
                let fits = cells.iter().flatten().all(|cell| row.get(cell.clone()).is_some());
                assert!(fits && cells.len() <= row.len() && session.values(row).is_ok() == read.is_ok());
                events.push(format!("a row of {} bytes, {} of them: {}", row.len(), cells.len(), read.is_ok()));
            }
            Event::Nothing => {}
            event => events.push(format!("{event:?}")),
        }
        if !matches!(event, Event::Row(_)) {
            go_on(&mut session, &event, (&statement, how.mode), &mut sent);
        }
        at += used;
        if nonce.is_none() {
            nonce = nonce_of(&sent);
            nonce.iter().for_each(|nonce| answer(nonce, &mut stream[at..]));
        }
        // Sent bytes are looked at once: many messages do not make the search quadratic.
        sent.clear();
    }
    let columns: usize = session.columns().iter().map(String::len).sum();
    assert!(columns <= 3 * stream.len() + 3, "{columns} bytes of columns' names");
    events.push(format!("{:?} {:?}", session.about(), session.columns()));
    (events, at as u64)
}

/// Does the next action of a client.
fn go_on(session: &mut Session, event: &Event<'_>, (statement, mode): (&Statement, Mode), out: &mut Vec<u8>) {
    match event {
        Event::StartTls => session.secured(out),
        Event::Ready | Event::Done(_) | Event::Prepared => {
            if session.is_prepared(statement, mode) {
                session.execute(statement, &[Value::Int(7), Value::Text(b"a'b")], mode, out);
                session.sync(out);
            } else {
                session.prepare(statement, out);
            }
        }
        Event::CopyIn => {
            session.copy_data(b"1\t2\n", out);
            session.copy_end(out);
        }
        _ => {}
    }
}

/// The client's nonce, once it was sent: behind a header with whether it binds to the connection, would, or cannot.
fn nonce_of(sent: &[u8]) -> Option<Vec<u8>> {
    let of = |header: &&[u8]| {
        let begin = sent.windows(header.len()).position(|piece| piece == *header)? + header.len();
        sent.get(begin..begin + NONCE.len()).map(<[u8]>::to_vec)
    };
    HEADERS.iter().find_map(of)
}

/// Puts the nonce into what the server is still to say.
fn answer(nonce: &[u8], rest: &mut [u8]) {
    if let Some(at) = rest.windows(NONCE.len()).position(|piece| piece == NONCE) {
        rest[at..at + NONCE.len()].copy_from_slice(nonce);
    }
}
