//! The command line above its output, as terminals and scripts leave it there.

/// Options of the command line.
#[derive(Debug, Default, PartialEq)]
pub struct Command {
    /// `-y`: the line since boot is left out.
    pub no_first: bool,
    /// Bytes in the unit of `-S`.
    pub unit: Option<f64>,
    /// Seconds between two lines.
    pub interval_s: Option<f64>,
}

impl Command {
    /// Reads `[root@db1 ~]# vmstat -w -S M 5 3`; None when the line is no such command.
    pub fn read(line: &str) -> Option<Command> {
        let mut words = line.split_ascii_whitespace().skip_while(|w| !is_vmstat(w));
        words.next()?;
        let mut command = Command { unit: Some(1024.0), ..Command::default() };
        let mut numbers = 0;
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--") {
                command.no_first |= long == "no-first";
                if let Some(unit) = long.strip_prefix("unit=") {
                    command.unit = unit_bytes(unit);
                } else if long == "unit" {
                    command.unit = words.next().and_then(unit_bytes);
                }
            } else if let Some(short) = word.strip_prefix('-') {
                command.no_first |= short.contains('y');
                match short.split_once('S') {
                    Some((_, "")) => command.unit = words.next().and_then(unit_bytes),
                    Some((_, unit)) => command.unit = unit_bytes(unit),
                    None if short.ends_with('p') => drop(words.next()),
                    None => {}
                }
            } else if matches!(word, "|" | ">" | ">>" | "&" | ";" | "2>&1") {
                break;
            } else {
                let n: f64 = word.parse().ok()?;
                if numbers == 0 {
                    command.interval_s = Some(n).filter(|n| *n > 0.0);
                }
                numbers += 1;
            }
        }
        Some(command)
    }
}

/// Returns true if `line` is a shell's prompt without a command: `[root@db1 ~]#`.
pub fn is_prompt(line: &str) -> bool {
    line.len() < 80 && line.ends_with(['$', '#', '%', '>']) && !line.contains("  ")
}

fn is_vmstat(word: &str) -> bool {
    word.rsplit('/').next() == Some("vmstat")
}

/// Bytes in a unit of `-S`: `k`, `K`, `m`, `M`.
fn unit_bytes(letter: &str) -> Option<f64> {
    match letter.chars().next()? {
        'b' | 'B' => Some(1.0),
        'k' => Some(1000.0),
        'K' => Some(1024.0),
        'm' => Some(1e6),
        'M' => Some(1_048_576.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_from_the_command() {
        let read = |line| Command::read(line).unwrap();
        let plain = Command { unit: Some(1024.0), ..Command::default() };
        assert_eq!(read("$ vmstat"), plain);
        assert_eq!(read("[root@db1 ~]# /usr/bin/vmstat 5 3 | ts").interval_s, Some(5.0));
        let wide = read("# vmstat -wyS M 10");
        assert_eq!(wide, Command { no_first: true, unit: Some(1_048_576.0), interval_s: Some(10.0) });
        assert_eq!(read("$ vmstat --unit k --no-first 1").unit, Some(1000.0));
        assert_eq!(Command::read("vmstat: command not found"), None);
        assert_eq!(Command::read("procs"), None);
    }
}
