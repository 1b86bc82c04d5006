//! The bootstrap script sent to the remote shell: it looks for a program of the same version, or asks for one.
//!
//! The transport runs `sh`, and the script comes through the pipe: no word has to survive the quoting of ssh, docker or kubectl.
//! A shell may read ahead, so nothing is sent behind the script before it has answered.

use crate::frame::MARK;

/// Commands of a POSIX shell, in one group so that none runs before all were read.
const SCRIPT: &str = r#"{
umask 077
id='@ID@'
own='@OWN@'
if [ -n "${XDG_CACHE_HOME-}" ]; then cache=$XDG_CACHE_HOME/fenxi
elif [ -n "${HOME-}" ]; then cache=$HOME/.cache/fenxi
else cache=; fi
say() { printf '%s\n' "@MARK@$*"; }
hash() {
    if command -v sha256sum >/dev/null 2>&1; then set -- $(sha256sum <"$1"); echo "$1"
    else "$1" agent --hash 2>/dev/null; fi
}
try() { if [ "$("$1" agent --id 2>/dev/null)" = "$id" ]; then exec "$1" agent @WORDS@; fi; }
if [ -n "$cache" ]; then
    for file in "$cache/agent-$id-"*; do
        if [ -x "$file" ] && [ "$(hash "$file")" = "${file##*-}" ]; then try "$file"; fi
    done
fi
if [ -x "$own" ]; then try "$own"; fi
if command -v fenxi >/dev/null 2>&1; then try fenxi; fi
gzip=
if command -v gzip >/dev/null 2>&1; then gzip=gzip; fi
say wants "$(uname -m)" $gzip
read -r size sum packed
new= left=
if [ -n "$cache" ] && mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ]; then new=$cache/.new-$$
elif new=$(mktemp -d 2>/dev/null); then left=$new new=$new/fenxi
else say failed 'there is no folder to put the program into: the cache folder of this user cannot be written, and mktemp made none'; exit 1; fi
if [ -n "$packed" ]; then head -c "$size" | gzip -dc >"$new"; else head -c "$size" >"$new"; fi
chmod 700 "$new"
if [ -z "$left" ]; then to=$cache/agent-$id-$sum; else to=$left/agent-$id-$sum; fi
found=$(hash "$new")
if [ "$found" != "$sum" ]; then
    why=$("$new" agent --id 2>&1)
    rm -rf "$new" $left
    if [ -n "$found" ]; then say failed "the program arrived damaged: its hash is $found, expected $sum"
    else say failed "the program does not run there:" $why; fi
    exit 1
fi
mv -f "$new" "$to"
why=$("$to" agent --id 2>&1)
if [ "$why" = "$id" ]; then
    if [ -n "$left" ]; then exec "$to" agent --remove @WORDS@; fi
    exec "$to" agent @WORDS@
fi
rm -rf "$to" $left
say failed "the program does not run there:" $why
exit 1
}
"#;

/// The script, for a program of `id` with the words behind `agent`; `own` is where it lies here, in case that is the same file
/// system.
pub fn script(id: &str, own: &str, words: &[String]) -> String {
    let own = if own.contains('\'') { "" } else { own };
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    // The words last: they are whatever somebody typed.
    SCRIPT.replace("@ID@", id).replace("@OWN@", own).replace("@MARK@", MARK).replace("@WORDS@", &quoted.join(" "))
}

/// An answer of the script.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// An agent runs.
    Hello(String),
    /// It wants a program for a machine, packed or not.
    Wants {
        /// As uname(1) prints it.
        machine: String,
        /// Whether it can unpack it.
        packed: bool,
    },
    /// It cannot go on.
    Failed(String),
}

impl Answer {
    /// Reads a line; None when it is something that a login printed.
    pub fn read(line: &str) -> Option<Answer> {
        // A prompt or a colour may precede it.
        let (_, said) = line.split_once(MARK)?;
        if let Some(hello) = said.strip_prefix("hello ") {
            return Some(Answer::Hello(hello.to_owned()));
        }
        if let Some(wants) = said.strip_prefix("wants ") {
            let mut words = wants.split_ascii_whitespace();
            let machine = words.next()?.to_owned();
            return Some(Answer::Wants { machine, packed: words.next() == Some("gzip") });
        }
        said.strip_prefix("failed ").map(|why| Answer::Failed(why.trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        let script = script("1", "/it's/fenxi", &["tool".to_owned(), "it's @ID@".to_owned()]);
        assert!(script.contains(r#"exec "$to" agent 'tool' 'it'\''s @ID@'"#), "{script}");
        assert!(script.contains("own=''"), "{script}");
    }

    #[test]
    fn answers_are_told_from_what_a_login_prints() {
        assert_eq!(Answer::read("Last login: today"), None);
        assert_eq!(Answer::read("fenxi-agent: hello {}"), Some(Answer::Hello("{}".to_owned())));
        let wants = |machine: &str, packed| Some(Answer::Wants { machine: machine.to_owned(), packed });
        assert_eq!(Answer::read("fenxi-agent: wants x86_64 gzip"), wants("x86_64", true));
        assert_eq!(Answer::read("\u{1b}[0mfenxi-agent: wants aarch64 "), wants("aarch64", false));
        assert_eq!(Answer::read("fenxi-agent: failed no  space "), Some(Answer::Failed("no  space".to_owned())));
    }
}
