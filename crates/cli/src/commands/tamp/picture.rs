//! The picture of a bench: size against speed, and a line for each way.

use fenxi_model::Unit;

use crate::{print, progress::plural};

/// Columns and lines of the picture.
const WIDTH: usize = 64;
const HEIGHT: usize = 16;

/// A way to compress, in bytes of contents per second of elapsed and of CPU time.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub name: String,
    /// Output by input.
    pub ratio: f64,
    pub compress: f64,
    pub compress_cpu: f64,
    pub decompress: f64,
    pub decompress_cpu: f64,
}

/// Whether no other is both as small and as fast.
fn on_front(point: &Point, points: &[Point]) -> bool {
    !points.iter().any(|other| {
        other.ratio <= point.ratio
            && other.compress >= point.compress
            && (other.ratio < point.ratio || other.compress > point.compress)
    })
}

/// The picture, and below it a table, the fastest first. The sample had `len` bytes.
pub(super) fn draw(points: &[Point], len: u64, threads: usize) -> String {
    let mut points = points.to_vec();
    points.sort_by(|a, b| b.compress.total_cmp(&a.compress));
    let letter = |i: usize| char::from(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 52]);
    let mut text = format!("{}, {}\n\n", Unit::Bytes.human(len as f64), plural(threads as u64, "thread"));
    text.push_str(&plot(&points, letter));
    let rows: Vec<Vec<String>> = points
        .iter()
        .enumerate()
        .map(|(i, point)| {
            let speed = |bytes: f64| format!("{:.0}", bytes / 1e6);
            vec![
                letter(i).to_string(),
                if on_front(point, &points) { "*" } else { "" }.to_owned(),
                point.name.clone(),
                format!("{:.3}", point.ratio),
                speed(point.compress),
                speed(point.compress_cpu),
                speed(point.decompress),
                speed(point.decompress_cpu),
            ]
        })
        .collect();
    text.push('\n');
    let header = ["", "", "mode", "ratio", "compress", "/CPU", "decompress", "/CPU"];
    text.push_str(&print::columns(&header, &[3, 4, 5, 6, 7], &rows));
    text.push_str("MB/s of contents, elapsed and per second of CPU time; * is on the Pareto front of size and speed\n");
    text
}

/// Letters where size (upwards: smaller) and speed (to the right: faster, logarithmic) meet.
fn plot(points: &[Point], letter: impl Fn(usize) -> char) -> String {
    let range = |values: &mut dyn Iterator<Item = f64>| {
        let (least, most) = values.fold((f64::MAX, f64::MIN), |(least, most), v| (least.min(v), most.max(v)));
        (least, (most - least).max(1e-9))
    };
    let (slow, speeds) = range(&mut points.iter().map(|point| point.compress.ln()));
    let (small, sizes) = range(&mut points.iter().map(|point| point.ratio));
    let mut grid = vec![vec![' '; WIDTH]; HEIGHT];
    // From the slowest, so that what is faster is not hidden.
    for (i, point) in points.iter().enumerate().rev() {
        let x = ((point.compress.ln() - slow) / speeds * (WIDTH - 1) as f64).round() as usize;
        let y = ((point.ratio - small) / sizes * (HEIGHT - 1) as f64).round() as usize;
        grid[y.min(HEIGHT - 1)][x.min(WIDTH - 1)] = letter(i);
    }
    let mut text = String::new();
    for (y, line) in grid.iter().enumerate() {
        let ratio = small + sizes * y as f64 / (HEIGHT - 1) as f64;
        let label = if y % 5 == 0 { format!("{ratio:.3}") } else { String::new() };
        let line: String = line.iter().collect();
        text.push_str(&format!("{label:>7} |{}\n", line.trim_end()));
    }
    let (first, last) = (slow.exp() / 1e6, (slow + speeds).exp() / 1e6);
    let middle = (slow + speeds / 2.0).exp() / 1e6;
    text.push_str(&format!("  ratio +{}\n", "-".repeat(WIDTH)));
    let half = WIDTH / 2;
    text.push_str(&format!("{:9}{first:<half$.0}{middle:<half$.0}\n", ""));
    let axis = format!("compress, MB/s, up to {last:.0}");
    text.push_str(&format!("{:9}{axis:>WIDTH$}\n", ""));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, ratio: f64, compress: f64) -> Point {
        let speed = 1e9;
        Point {
            name: name.to_owned(),
            ratio,
            compress,
            compress_cpu: compress,
            decompress: speed,
            decompress_cpu: speed,
        }
    }

    #[test]
    fn the_front_is_what_nothing_beats_in_both() {
        let points = [point("fast", 0.5, 1e9), point("small", 0.2, 1e7), point("beaten", 0.5, 1e8)];
        let front: Vec<bool> = points.iter().map(|p| on_front(p, &points)).collect();
        assert_eq!(front, [true, true, false]);
        let text = draw(&points, 1 << 20, 2);
        assert!(text.contains("1.0 MiB, 2 threads") || text.contains("1.00 MiB, 2 threads"), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        // The fastest is in the lower right corner, the smallest in the upper left one.
        assert_eq!(lines[2].trim_end(), "  0.200 |c");
        assert!(lines[2 + HEIGHT - 1].ends_with('a'), "{text}");
        assert!(text.lines().all(|line| line.len() <= 110));
    }

    #[test]
    fn points_that_are_equal_are_drawn() {
        assert!(draw(&[point("one", 0.5, 1e8), point("other", 0.5, 1e8)], 1, 1).contains("other"));
    }
}
