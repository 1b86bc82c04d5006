//! Changes to inputs, as files are damaged in life and as an enemy would damage them.

use fenxi_model::Random;

/// The largest input that is made.
pub const MAX_BYTES: usize = 256 << 10;

/// Pieces that are put in: numbers at the edge, separators, words that parsers look for.
const PIECES: [&str; 36] = [
    "0",
    "-1",
    "1e308",
    "-1e308",
    "18446744073709551615",
    "9223372036854775808",
    "4294967296",
    "99999999999999999999999",
    "NaN",
    "inf",
    "-",
    "--",
    "",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\0",
    ",",
    ";",
    ":",
    "|",
    "\"",
    "{",
    "}",
    "[",
    "]",
    "<a>",
    "&lt;",
    "00:00:00",
    "24:61:61",
    "12/31/9999",
    "Average:",
    "LINUX RESTART",
    "\u{fffd}é漢",
    "%",
];

/// One of `seeds`, changed a few times.
pub fn mutate(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..1 + random.below(8) {
        match random.below(12) {
            0 => flip(&mut bytes, random),
            1 => cut(&mut bytes, random),
            2 => insert(&mut bytes, random),
            3 | 4 => number(&mut bytes, random),
            5 => drop_lines(&mut bytes, random),
            6 => repeat_lines(&mut bytes, random),
            7 => swap_lines(&mut bytes, random),
            8 => interleave(&mut bytes, &seeds[random.below(seeds.len())], random),
            9 => fields(&mut bytes, random),
            10 => random_bytes(&mut bytes, random),
            _ => join_lines(&mut bytes, random),
        }
        bytes.truncate(MAX_BYTES);
    }
    bytes
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    if !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
    }
}

fn cut(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    if random.below(2) == 0 { bytes.truncate(at) } else { bytes.drain(..at).for_each(drop) }
}

fn insert(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let piece = PIECES[random.below(PIECES.len())].as_bytes();
    let times = if random.below(20) == 0 { 5000 } else { 1 };
    bytes.splice(at..at, piece.repeat(times));
}

/// Replaces a run of digits.
fn number(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let from = random.below(bytes.len());
    let Some(begin) = bytes[from..].iter().position(u8::is_ascii_digit).map(|n| from + n) else { return };
    let length = bytes[begin..].iter().take_while(|b| b.is_ascii_digit()).count();
    let piece = if random.below(3) == 0 {
        PIECES[random.below(PIECES.len())].to_owned()
    } else {
        let digits = 1 + random.below(20);
        (0..digits).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
    };
    bytes.splice(begin..begin + length, piece.into_bytes());
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
}

fn drop_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut all = lines(bytes);
    if !all.is_empty() {
        let at = random.below(all.len());
        let n = 1 + random.below(4);
        all.drain(at..(at + n).min(all.len()));
        *bytes = all.concat();
    }
}

fn repeat_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let all = lines(bytes);
    if !all.is_empty() {
        let at = random.below(all.len());
        let piece = all[at..(at + 1 + random.below(6)).min(all.len())].concat();
        let most = if random.below(10) == 0 { 200 } else { 4 };
        let times = 1 + random.below(most);
        let mut out = all[..at].concat();
        out.extend(piece.repeat(times));
        out.extend(all[at..].concat());
        *bytes = out;
    }
}

fn swap_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut all = lines(bytes);
    if all.len() > 1 {
        let (a, b) = (random.below(all.len()), random.below(all.len()));
        all.swap(a, b);
        *bytes = all.concat();
    }
}

/// Lines of two inputs in turns, as when two tools write to one file.
fn interleave(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let (own, other) = (lines(bytes), lines(other));
    let mut out = Vec::new();
    let mut second = other.iter();
    for line in own {
        out.extend(line);
        if random.below(3) == 0
            && let Some(line) = second.next()
        {
            out.extend(line);
        }
    }
    *bytes = out;
}

/// Removes or doubles a field of a line.
fn fields(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut all = lines(bytes);
    if all.is_empty() {
        return;
    }
    let at = random.below(all.len());
    let mut words: Vec<Vec<u8>> = all[at].split(|b| *b == b' ').map(<[u8]>::to_vec).collect();
    let place = random.below(words.len());
    if random.below(2) == 0 {
        words.remove(place);
    } else {
        words.insert(place, words[place].clone());
    }
    all[at] = words.join(&b' ');
    *bytes = all.concat();
}

fn random_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let junk: Vec<u8> = (0..random.below(64)).map(|_| random.below(256) as u8).collect();
    bytes.splice(at..at, junk);
}

/// Removes line ends, so that lines run into each other.
fn join_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let every = 1 + random.below(5);
    let mut n = 0;
    bytes.retain(|b| {
        n += usize::from(*b == b'\n');
        *b != b'\n' || n % every != 0
    });
}
