//! Questions of a client, by the bytes that it sends: enough of both protocols to distinguish questions.

use std::collections::BTreeMap;

use fenxi_wire::Dialect;

/// A message of a client.
pub enum Asked {
    /// Whether the server encrypts.
    Encryption,
    /// A login, or a statement.
    Question(String),
    /// Whether the server is there.
    Ping,
}

/// A connection of a client.
pub struct Asking {
    dialect: Dialect,
    /// Bytes of a message that is not whole yet.
    bytes: Vec<u8>,
    is_in: bool,
    /// Statements that are prepared, by their names or numbers.
    prepared: BTreeMap<String, String>,
    /// The statement whose number the next answer has.
    preparing: Option<String>,
    /// The statement that is executed at the next synchronisation.
    executed: Option<String>,
}

impl Asking {
    pub fn new(dialect: Dialect) -> Asking {
        Asking { dialect, bytes: Vec::new(), is_in: false, prepared: BTreeMap::new(), preparing: None, executed: None }
    }

    /// The message that the server sends before anything is asked.
    pub fn greets(&self) -> Option<String> {
        matches!(self.dialect, Dialect::Mysql).then(|| "greeting".to_owned())
    }

    /// The messages that these bytes complete.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Asked> {
        self.bytes.extend_from_slice(bytes);
        let mut all = Vec::new();
        while let Some(message) = self.next() {
            all.extend(match self.dialect {
                Dialect::Postgres => self.postgres(&message),
                Dialect::Mysql => self.mysql(&message),
            });
        }
        all
    }

    /// The next whole message.
    fn next(&mut self) -> Option<Vec<u8>> {
        let at = |place: usize| self.bytes.get(place).map(|byte| usize::from(*byte));
        let big = |place: usize| Some(at(place)? << 24 | at(place + 1)? << 16 | at(place + 2)? << 8 | at(place + 3)?);
        let length = match self.dialect {
            Dialect::Postgres if self.is_in => 1 + big(1)?,
            Dialect::Postgres => big(0)?,
            Dialect::Mysql => 4 + (at(0)? | at(1)? << 8 | at(2)? << 16),
        };
        at(3)?;
        (self.bytes.len() >= length).then(|| self.bytes.drain(..length).collect())
    }

    fn postgres(&mut self, message: &[u8]) -> Option<Asked> {
        if !self.is_in {
            return match u32::from_be_bytes(message[4..8].try_into().unwrap()) {
                80_877_103 => Some(Asked::Encryption),
                80_877_102 => None,
                _ => {
                    self.is_in = true;
                    Some(Asked::Question("login".to_owned()))
                }
            };
        }
        let words: Vec<_> = message[5..].split(|byte| *byte == 0).map(text).collect();
        match message[0] {
            b'Q' => Some(Asked::Question(key(&words[0]))),
            b'P' => {
                self.prepared.insert(words[0].clone(), words[1].clone());
                None
            }
            b'B' => {
                self.executed = self.prepared.get(&words[1]).cloned();
                None
            }
            // Nothing but the end of a pipeline is a ping.
            b'S' => Some(self.executed.take().map_or(Asked::Ping, |sql| Asked::Question(key(&sql)))),
            _ => None,
        }
    }

    fn mysql(&mut self, message: &[u8]) -> Option<Asked> {
        if message[3] != 0 {
            return Some(Asked::Question(format!("login {}", message[3])));
        }
        let body = &message[5..];
        Some(Asked::Question(match message[4] {
            3 => key(&text(body)),
            0x16 => {
                self.preparing = Some(text(body));
                format!("prepare {}", key(&text(body)))
            }
            0x17 => {
                let number = u32::from_le_bytes(body[..4].try_into().unwrap());
                format!("execute {}", key(&self.prepared[&number.to_string()]))
            }
            // A statement that is closed, the end of the connection: nothing is answered.
            0x19 | 1 => return None,
            0x0e => return Some(Asked::Ping),
            other => format!("command {other}"),
        }))
    }

    /// The server's answer to the last question.
    pub fn answered(&mut self, bytes: &[u8]) {
        if let Some(sql) = self.preparing.take()
            && let [_, _, _, _, 0, number @ ..] = bytes
        {
            let number = u32::from_le_bytes(number[..4].try_into().unwrap());
            self.prepared.insert(number.to_string(), sql);
        }
    }

    /// The answer to a ping.
    pub fn pong(&self) -> Vec<u8> {
        match self.dialect {
            Dialect::Postgres => vec![b'Z', 0, 0, 0, 5, b'I'],
            Dialect::Mysql => vec![7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0],
        }
    }

    /// An error in the words of the protocol.
    pub fn refusal(&self, why: &str) -> Vec<u8> {
        let mut body = Vec::new();
        match self.dialect {
            Dialect::Postgres => {
                for (tag, value) in [(b'S', "ERROR"), (b'C', "XX000"), (b'M', why)] {
                    body.push(tag);
                    body.extend(value.bytes());
                    body.push(0);
                }
                body.push(0);
                let mut all = vec![b'E'];
                all.extend((body.len() as u32 + 4).to_be_bytes());
                all.extend(body);
                all.extend([b'Z', 0, 0, 0, 5, b'I']);
                all
            }
            Dialect::Mysql => {
                body.extend([0xff, 0x51, 0x04]);
                body.extend(b"#HY000");
                body.extend(why.bytes().take(400));
                let mut all = (body.len() as u32).to_le_bytes()[..3].to_vec();
                all.push(1);
                all.extend(body);
                all
            }
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A statement without lists of numbers: those of sessions are others each time.
fn key(sql: &str) -> String {
    let mut parts = sql.split("IN (");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str("IN (");
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',' || c == ' '));
    }
    out
}
