//! Command lines and settings without the passwords in them: whatever was given to a program as a URL, as `key=value`, as
//! an option or in a statement may be read in the list of processes, but a run is kept and passed on.
//!
//! Hidden text is `***`. Rather a harmless word is hidden than a password shown.

use std::borrow::Cow;

/// The replacement of a secret.
pub const SECRET: &str = "***";

/// Ends of names of what is secret, in small letters and without `_`, `-` and `.`.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passphrasecommand",
    "pwd",
    "secret",
    "secretkey",
    "secretaccesskey",
    "accesskey",
    "apikey",
    "token",
];

/// Parts of names of secrets in a URL, written as [`NAMES`].
const PARTS: &[&str] =
    &["token", "secret", "passw", "passphrase", "bearer", "auth", "apikey", "accesskey", "credential", "signature"];

/// Words that are such a name, or are in one between `_`, `-` and `.`.
const WORDS: &[&str] = &["pass", "pwd", "pw", "key", "sig", "jwt", "sslpassword"];

/// Programs, by the begin of their names, with options that take a password without having such a name.
const SHORT: &[(&str, &[&str], Follows)] = &[
    ("mysql", &["-p"], Follows::Never),
    ("mariadb", &["-p"], Follows::Never),
    ("mycli", &["-p"], Follows::Never),
    ("sshpass", &["-p"], Follows::OrNext),
    ("redis-cli", &["-a", "--pass"], Follows::OrNext),
    ("mongo", &["-p"], Follows::OrNext),
    ("sqlcmd", &["-P"], Follows::OrNext),
    ("curl", &["-u", "--user"], Follows::OrNext),
];

/// Whether an option's value can be the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// It is joined to the option.
    Never,
    /// It is joined, or the next word.
    OrNext,
}

/// Returns true if a setting or variable of this name holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    // The working directory of a shell.
    !matches!(name.as_str(), "pwd" | "oldpwd") && NAMES.iter().any(|end| name.ends_with(end))
}

/// Returns true if a parameter of a URL of this name holds a secret. More names do than those of settings: who reads a log misses
/// nothing by a value that is not there.
pub fn is_secret_parameter(name: &str) -> bool {
    let small = name.to_ascii_lowercase();
    let joined: String = small.chars().filter(|c| c.is_alphanumeric()).collect();
    let is_word = |word: &str| WORDS.contains(&word);
    is_secret_name(name)
        || PARTS.iter().any(|part| joined.contains(part))
        || is_word(&joined)
        || small.split(|c: char| !c.is_alphanumeric()).any(is_word)
}

/// The words of a command line, without secrets.
pub fn command_without_secrets<W: AsRef<str>>(words: &[W]) -> Vec<String> {
    let mut next_is_secret = false;
    let mut short: Option<&(&str, &[&str], Follows)> = None;
    let mut is_script = false;
    let mut out = Vec::with_capacity(words.len());
    for word in words {
        let word = word.as_ref();
        let was_script = std::mem::replace(&mut is_script, is_shells_c(word));
        if std::mem::take(&mut next_is_secret) && !word.starts_with("--") {
            out.push(SECRET.to_owned());
            continue;
        }
        let (shown, follows) = option(word, short).unwrap_or_else(|| (whole_value(word, was_script), false));
        next_is_secret = follows;
        short = program(word).or(short);
        out.push(shown);
    }
    out
}

/// A program of the list that a word names.
fn program(word: &str) -> Option<&'static (&'static str, &'static [&'static str], Follows)> {
    let name = word.rsplit('/').next().unwrap_or(word);
    SHORT.iter().find(|(begin, ..)| name.starts_with(begin) && !word.starts_with('-'))
}

/// Whether the next word is a script: `sh -c`, `bash -lc`.
fn is_shells_c(word: &str) -> bool {
    word.len() <= 4 && word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// An option that is known to take a password: how it is shown, and whether the next word is its value.
fn option(word: &str, short: Option<&(&str, &[&str], Follows)>) -> Option<(String, bool)> {
    if let Some((_, options, follows)) = short {
        for option in options.iter().filter(|option| word.starts_with(**option)) {
            let joined = &word[option.len()..];
            if joined.is_empty() {
                return Some((word.to_owned(), *follows == Follows::OrNext));
            }
            if !option.starts_with("--") {
                return Some((format!("{option}{SECRET}"), false));
            }
        }
    }
    let name = word.strip_prefix('-')?;
    (!word.contains(['=', ' ']) && is_secret_name(name)).then(|| (word.to_owned(), true))
}

/// A word that is `NAME=value` as a whole hides all of its value, blanks too; any other is a text.
fn whole_value(word: &str, is_script: bool) -> String {
    match word.split_once('=') {
        Some((name, value)) if !is_script && !value.is_empty() && is_secret_name(name) && is_name(name) => {
            format!("{name}={SECRET}")
        }
        _ if word.contains(' ') => script(word),
        _ => text_without_secrets(word).into_owned(),
    }
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// A text that may contain a command line: short options of known programs are hidden as well.
fn script(text: &str) -> String {
    let shown = text_without_secrets(text);
    let mut words: Vec<&str> = Vec::new();
    let mut short = None;
    let mut hidden: Vec<String> = Vec::new();
    let mut next_is_secret = false;
    for word in shown.split(' ') {
        words.push(word);
        let bare = word.trim_matches(['\'', '"', '(', ')', ';']);
        let found = if std::mem::take(&mut next_is_secret) && !bare.starts_with('-') && !bare.is_empty() {
            Some((SECRET.to_owned(), false))
        } else {
            option(bare, short)
        };
        short = program(bare).or(short);
        next_is_secret = found.as_ref().is_some_and(|(_, follows)| *follows);
        hidden.push(found.map_or_else(|| word.to_owned(), |(shown, _)| shown));
    }
    hidden.join(" ")
}

/// A text without passwords of URLs, without values of names such as `password`, and without what a statement identifies by.
pub fn text_without_secrets(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((from, to)) = first_secret(rest) {
        out.push_str(&rest[..from]);
        out.push_str(SECRET);
        rest = &rest[to..];
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Where the first secret of a text is.
fn first_secret(text: &str) -> Option<(usize, usize)> {
    let in_url = text.match_indices("://").find_map(|(at, _)| of_url(text, at + 3));
    let named = names(text).find_map(|(begin, end)| of_name(text, begin, end));
    match (in_url, named) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
    // Nothing that is hidden already.
    .filter(|(from, to)| from < to)
}

/// The password of a URL whose authority begins at `at`.
fn of_url(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = &text[at..];
    let rest =
        &rest[..rest.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '<' | '>')).unwrap_or(rest.len())];
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    // A password may hold a slash that was not encoded; what is a port only is none.
    let who = match authority.rfind('@') {
        Some(end) => &rest[..end],
        None => {
            let port = authority.split_once(':')?.1;
            let is_port = port.bytes().all(|b| b.is_ascii_digit());
            &rest[..rest.rfind('@').filter(|_| !is_port)?]
        }
    };
    let from = who.find(':')? + 1;
    (&who[from..] != SECRET && from < who.len()).then_some((at + from, at + who.len()))
}

/// Where words of letters, digits, `_`, `-` and `.` are in a text.
fn names(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let bytes = text.as_bytes();
    (0..bytes.len()).filter(move |at| is_part(bytes[*at]) && (*at == 0 || !is_part(bytes[*at - 1]))).map(move |begin| {
        let length = bytes[begin..].iter().take_while(|b| is_part(**b)).count();
        (begin, begin + length)
    })
}

/// The value of a name that is between `begin` and `end`, where it is a secret.
fn of_name(text: &str, begin: usize, end: usize) -> Option<(usize, usize)> {
    let name = &text[begin..end];
    let in_url = text[..begin].ends_with(['?', '&']) && text[end..].starts_with('=') && is_secret_parameter(name);
    let identifies = matches!(name.to_ascii_lowercase().as_str(), "by" | "using" | "as")
        && text[..end].to_ascii_lowercase().contains("identified ");
    if !identifies && !in_url && !is_secret_name(name) {
        return None;
    }
    let rest = &text[end..];
    // The name itself may be in quotes, as in JSON.
    let behind = rest.trim_start_matches(['"', '\'', ' ']);
    let sign = behind.starts_with(['=', ':', '(']);
    let value = if sign { behind.trim_start_matches(['=', ':', '(', '>', ' ']) } else { rest.trim_start() };
    let at = text.len() - value.len();
    let first = value.chars().next()?;
    let length = if matches!(first, '\'' | '"') {
        quoted(value, first)
    } else if let Some(dollars) = value.strip_prefix("$$") {
        dollars.find("$$").map_or(value.len(), |end| end + 4)
    } else if sign {
        let stops = |c: char| c.is_whitespace() || matches!(c, '&' | ';' | ',' | '(' | ')' | '\'' | '"' | '}');
        let bare = value.find(stops).unwrap_or(value.len());
        // A function of it: `PASSWORD('…')`.
        if value[bare..].starts_with('(') { bare + in_brackets(&value[bare..]) } else { bare }
    } else {
        return None;
    };
    (&value[..length] != SECRET && !value[..length].is_empty()).then_some((at, at + length))
}

/// The length of a bracketed part, with the brackets.
fn in_brackets(text: &str) -> usize {
    let inner = &text[1..];
    let begin = if inner.starts_with(['\'', '"']) {
        1 + quoted(inner, if inner.starts_with('"') { '"' } else { '\'' })
    } else {
        1
    };
    text[begin..].find(')').map_or(text.len(), |end| begin + end + 1)
}

/// The length of a text in quotes, with what is doubled or behind a backslash; one that does not end goes to the end.
fn quoted(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &[&str]) -> String {
        command_without_secrets(words).join("|")
    }

    #[test]
    fn no_password_of_a_command_line_is_left() {
        for (words, expected) in [
            (
                &["psql", "postgres://u:hunter2@h/shop?sslmode=prefer"][..],
                "psql|postgres://u:***@h/shop?sslmode=prefer",
            ),
            (&["x", "mysql://u:hun/ter2@h/shop"], "x|mysql://u:***@h/shop"),
            (&["x", "redis://:hunter2@h"], "x|redis://:***@h"),
            (&["psql", "host=h password=hunter2 user=u"], "psql|host=h password=*** user=u"),
            (&["psql", "host=h password = 'hun ter2' user=u"], "psql|host=h password = *** user=u"),
            (&["psql", "postgres://h/x?user=u&password=hunter2&a=b"], "psql|postgres://h/x?user=u&password=***&a=b"),
            (&["x", "postgres://h/x?passwd=hunter2"], "x|postgres://h/x?passwd=***"),
            (&["x", "postgres://h/x?pwd=hunter2&sslkey=/k&a=b"], "x|postgres://h/x?pwd=***&sslkey=/k&a=b"),
            (&["x", "--db=postgres://u:hunter2@h/x?pass=hunter2"], "x|--db=postgres://u:***@h/x?pass=***"),
            (&["env", "PGPASSWORD=hun ter2", "psql"], "env|PGPASSWORD=***|psql"),
            (&["sh", "-c", "PGPASSWORD=hunter2 psql -c 'select 1'"], "sh|-c|PGPASSWORD=*** psql -c 'select 1'"),
            (&["/usr/bin/mysqldump", "-u", "root", "-phunter2", "shop"], "/usr/bin/mysqldump|-u|root|-p***|shop"),
            (&["sh", "-c", "mysql -uroot -phunter2 shop"], "sh|-c|mysql -uroot -p*** shop"),
            (&["mysql", "-p", "shop"], "mysql|-p|shop"),
            (&["sysbench", "--mysql-password=hun;ter,2", "run"], "sysbench|--mysql-password=***|run"),
            (&["x", "--password", "hunter2", "y"], "x|--password|***|y"),
            (&["x", "--db-password", "--verbose"], "x|--db-password|--verbose"),
            (&["sshpass", "-p", "hunter2", "ssh"], "sshpass|-p|***|ssh"),
            (&["curl", "-u", "me:hunter2", "http://h/"], "curl|-u|***|http://h/"),
            (&["psql", "-c", "ALTER ROLE a PASSWORD 'hun''ter2' LOGIN"], "psql|-c|ALTER ROLE a PASSWORD *** LOGIN"),
            (&["mysql", "-e", "CREATE USER a IDENTIFIED BY \"hunter2\""], "mysql|-e|CREATE USER a IDENTIFIED BY ***"),
            (&["mysql", "-e", "SET PASSWORD = PASSWORD('hunter2')"], "mysql|-e|SET PASSWORD = ***"),
            (&["x", "{\"password\": \"hunter2\", \"a\": 1}"], "x|{\"password\": ***, \"a\": 1}"),
        ] {
            assert_eq!(shown(words), expected);
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for words in [
            &["psql", "-p", "5433", "-h", "db1", "postgres://u@h:5432/shop"][..],
            &["fenxi", "load", "run", "mysql://root@127.0.0.1:3306/test", "-w", "tpcb_like", "-c", "64"],
            &["curl", "http://h:8080/@scope/x", "-x", "http://proxy:3128"],
            &["PWD=/srv/me", "ls", "-la", "--password-file=/run/x", "--passive"],
            &["mysqld", "--port=3306", "-P", "1"],
            &["grep", "password", "/etc/nsswitch.conf"],
            &["postgres: writer process", "a by b", "bypass", "é=ü"],
        ] {
            assert_eq!(shown(words), words.join("|"));
        }
    }

    #[test]
    fn a_parameter_of_a_url_is_a_secret_by_more_names_than_a_setting() {
        for name in [
            "password",
            "passwd",
            "pwd",
            "pass",
            "secret",
            "token",
            "key",
            "sslpassword",
            "passphrase",
            "apikey",
            "api_key",
            "api-key",
            "access_token",
            "X-Amz-Signature",
            "auth",
            "Authorization",
            "db_pass",
            "client.secret",
            "PWD",
            "jwt",
        ] {
            assert!(is_secret_parameter(name), "{name}");
        }
        for name in ["user", "sslmode", "host", "run", "from", "compass", "bypass", "monkey", "page", "design"] {
            assert!(!is_secret_parameter(name), "{name}");
        }
    }

    #[test]
    fn a_text_without_secrets_stays_so() {
        for text in
            ["a://b:c@d password=e 'f", "password", "password=", "password='", "://:@", "é://é:é@é", "by '", "$$"]
        {
            let once = text_without_secrets(text).into_owned();
            assert_eq!(text_without_secrets(&once), once, "{text}");
        }
        assert!(is_secret_name("report_password") && is_secret_name("ssl_passphrase_command"));
        assert!(!is_secret_name("old_passwords") && !is_secret_name("PWD") && !is_secret_name("password_encryption"));
    }
}
