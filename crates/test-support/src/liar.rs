//! Servers that lie: they speak as much of a protocol as is needed to be listened to, and then do what no server does.
//! Other crates' tests use them too.

#![allow(dead_code, reason = "each of two tests uses a part of it")]

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

/// Which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    Postgres,
    Mysql,
}

/// When it begins to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Login,
    Answer,
}

/// How it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Rows without an end; a login has none, and is asked for the password instead, again and again.
    EndlessRows,
    /// Rows without an end that have nothing in them.
    EndlessEmptyRows,
    /// A byte a second.
    Drip,
    /// The beginning of a message of 2 GiB, and what fills it.
    HugeLength,
    /// Half a message, and the end of the connection.
    Cut,
    /// A message that is shorter than what is in it.
    WrongLength,
    /// A message that does not exist.
    WrongType,
    /// Every answer late, but in time.
    Slow,
    /// Nothing.
    Silent,
    /// Messages that are no answer.
    EndlessNotices,
    /// Settings (PostgreSQL), results with more behind them (MySQL).
    EndlessSettings,
    /// The password is asked for again and again.
    EndlessLogin,
}

pub const LIES: [Lie; 12] = [
    Lie::EndlessRows,
    Lie::EndlessEmptyRows,
    Lie::Drip,
    Lie::HugeLength,
    Lie::Cut,
    Lie::WrongLength,
    Lie::WrongType,
    Lie::Slow,
    Lie::Silent,
    Lie::EndlessNotices,
    Lie::EndlessSettings,
    Lie::EndlessLogin,
];

/// How late an answer is that is in time.
const LATE: Duration = Duration::from_millis(2500);

/// Starts one; its URL. It ends with the test's process.
pub fn liar(speaks: Speaks, when: When, lie: Lie) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || match speaks {
                Speaks::Postgres => postgres(stream, when, lie),
                Speaks::Mysql => mysql(stream, when, lie),
            });
        }
    });
    match speaks {
        Speaks::Postgres => format!("postgres://u:secret@127.0.0.1:{port}/x"),
        Speaks::Mysql => format!("mysql://u:secret@127.0.0.1:{port}/x"),
    }
}

/// Sends the same for ever.
fn flood(stream: &mut TcpStream, message: &[u8]) -> Option<()> {
    let many = message.repeat((64 << 10) / message.len() + 1);
    loop {
        stream.write_all(&many).ok()?;
    }
}

fn drip(stream: &mut TcpStream, message: &[u8]) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    for byte in message.iter().cycle() {
        stream.write_all(&[*byte]).ok()?;
        thread::sleep(Duration::from_secs(1));
    }
    None
}

fn silent(stream: &mut TcpStream) -> Option<()> {
    // Until the other side is gone.
    std::io::copy(stream, &mut std::io::sink()).ok()?;
    None
}

fn pg(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn receive_pg(stream: &mut TcpStream) -> Option<u8> {
    let mut head = [0; 5];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    std::io::copy(&mut stream.take(u64::from(length) - 4), &mut std::io::sink()).ok()?;
    Some(head[0])
}

fn postgres(mut stream: TcpStream, when: When, lie: Lie) -> Option<()> {
    let stream = &mut stream;
    let mut head = [0; 8];
    stream.read_exact(&mut head).ok()?;
    if head[4..] == 80_877_103_u32.to_be_bytes() {
        stream.write_all(b"N").ok()?;
        stream.read_exact(&mut head).ok()?;
    }
    let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    std::io::copy(&mut stream.take(u64::from(length) - 8), &mut std::io::sink()).ok()?;
    let settings = pg(b'S', b"server_version\x0017.0\0");
    let welcome = [pg(b'R', &[0; 4]), settings, pg(b'K', &[0, 0, 0, 9, 1, 2, 3, 4]), pg(b'Z', b"I")].concat();
    let begins = pg(b'R', &[0, 0, 0, 5, 1, 2, 3, 4]);
    if when == When::Login {
        lie_in_postgres(stream, lie, &begins, &welcome)?;
    } else {
        stream.write_all(&welcome).ok()?;
    }
    loop {
        if !matches!(receive_pg(stream)?, b'Q' | b'S') {
            continue;
        }
        let description = pg(b'T', b"\0\x01a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
        let row = pg(b'D', &[&b"\0\x01\0\0\x03\xe8"[..], &[b'7'; 1000]].concat());
        let answer = [&description[..], &row, &pg(b'C', b"SELECT 1\0"), &pg(b'Z', b"I")].concat();
        if when == When::Answer {
            lie_in_postgres(stream, lie, &row, &answer)?;
        } else {
            stream.write_all(&answer).ok()?;
        }
    }
}

/// `first` is what an answer begins with, `whole` an answer.
fn lie_in_postgres(stream: &mut TcpStream, lie: Lie, first: &[u8], whole: &[u8]) -> Option<()> {
    match lie {
        Lie::EndlessRows => flood(stream, first),
        Lie::EndlessEmptyRows => flood(stream, &pg(b'D', b"\0\0")),
        Lie::Drip => drip(stream, whole),
        Lie::HugeLength => {
            stream.write_all(&[first[0], 0x7f, 0xff, 0xff, 0xff]).ok()?;
            flood(stream, &[b'x'; 1000])
        }
        Lie::Cut => {
            stream.write_all(&first[..first.len() - 3]).ok()?;
            None
        }
        Lie::WrongLength => {
            stream.write_all(&pg(first[0], b"\0\x05\0\0\0\x09ab")).ok()?;
            stream.write_all(&[first[0], 0, 0, 0, 1]).ok()?;
            silent(stream)
        }
        Lie::WrongType => flood(stream, &pg(0xfe, b"what?")),
        Lie::Slow => {
            thread::sleep(LATE);
            stream.write_all(whole).ok()
        }
        Lie::Silent => silent(stream),
        Lie::EndlessNotices => flood(stream, &pg(b'N', &[&b"SNOTICE\0M"[..], &[b'x'; 10_000], b"\0\0"].concat())),
        Lie::EndlessSettings => flood(stream, &pg(b'S', b"server_version\x0017.0\0")),
        Lie::EndlessLogin => flood(stream, &pg(b'R', &[0, 0, 0, 5, 1, 2, 3, 4])),
    }
}

fn my(sequence: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    [&length[..3], &[sequence], body].concat()
}

fn receive_my(stream: &mut TcpStream) -> Option<()> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]);
    std::io::copy(&mut stream.take(u64::from(length)), &mut std::io::sink()).ok()?;
    Some(())
}

/// PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH and CONNECT_WITH_DB.
const FLAGS: u32 = 0x200 | 0x8000 | 0x8_0000 | 0x8;
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0];

fn mysql(mut stream: TcpStream, when: When, lie: Lie) -> Option<()> {
    let stream = &mut stream;
    let flags = FLAGS.to_le_bytes();
    let first: [&[u8]; 8] =
        [b"\x0a8.4.0\0\x07\0\0\0", b"abcdefgh", b"\0", &flags[..2], &[45, 2, 0], &flags[2..], &[21], &[0; 10]];
    let greeting = [&first.concat()[..], b"ijklmnopqrst", b"\0mysql_native_password\0"].concat();
    if when == When::Login && matches!(lie, Lie::Slow | Lie::Drip | Lie::Silent | Lie::Cut | Lie::HugeLength) {
        let greeting = my(0, &greeting);
        lie_in_mysql(stream, lie, &greeting, &greeting)?;
    } else {
        stream.write_all(&my(0, &greeting)).ok()?;
    }
    receive_my(stream)?;
    if when == When::Login && lie != Lie::Slow {
        let switch = my(2, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0");
        lie_in_mysql(stream, lie, &switch, &my(2, OK))?;
    } else {
        stream.write_all(&my(2, OK)).ok()?;
    }
    loop {
        receive_my(stream)?;
        let row = my(4, &[&[0xfc, 0xe8, 3][..], &[b'7'; 1000]].concat());
        let head =
            [my(1, &[1]), my(2, b"\x03def\0\0\0\x01a\x01a\x0c\x3f\0\0\0\0\0\xfd\0\0\0\0\0"), my(3, END)].concat();
        let answer = [&head[..], &row, &my(5, END)].concat();
        if when == When::Answer {
            if lie != Lie::EndlessSettings {
                stream.write_all(&head).ok()?;
            }
            let whole = [&row[..], &my(5, END)].concat();
            lie_in_mysql(stream, lie, &row, &whole)?;
        } else {
            stream.write_all(&answer).ok()?;
        }
    }
}

/// `first` is what an answer begins with, `whole` an answer.
fn lie_in_mysql(stream: &mut TcpStream, lie: Lie, first: &[u8], whole: &[u8]) -> Option<()> {
    match lie {
        Lie::EndlessRows => flood(stream, first),
        Lie::EndlessEmptyRows => flood(stream, &my(4, b"\xfb")),
        Lie::Drip => drip(stream, whole),
        Lie::HugeLength => {
            // A packet of the maximum length is continued by the next one.
            stream.write_all(&[0xff, 0xff, 0xff, first[3]]).ok()?;
            flood(stream, &[0xff; 1000])
        }
        Lie::Cut => {
            stream.write_all(&first[..first.len() - 3]).ok()?;
            None
        }
        Lie::WrongLength => {
            stream.write_all(&my(4, b"\xfd\xff\xff\xffab")).ok()?;
            silent(stream)
        }
        Lie::WrongType => flood(stream, &my(4, b"\xfb/etc/passwd")),
        Lie::Slow => {
            thread::sleep(LATE);
            stream.write_all(whole).ok()
        }
        Lie::Silent => silent(stream),
        Lie::EndlessNotices => flood(stream, &my(4, &[&[1_u8][..], &[b'x'; 10_000]].concat())),
        Lie::EndlessSettings => flood(stream, &my(4, &[0, 0, 0, 0x0a, 0, 0, 0])),
        Lie::EndlessLogin => flood(stream, &my(4, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0")),
    }
}
