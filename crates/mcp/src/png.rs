//! A picture as PNG: models that look at pictures take pixels and no SVG.
//!
//! Coverage of a pixel is computed from its distance to a line, and for areas from four samples; that is enough for charts.

use std::io::Write as _;

use crate::{
    draw::{Anchor, Colour, Drawing, Shape},
    glyphs::{ADVANCE, BASE, CAPITAL, strokes},
};

/// Height of a capital, as a share of a font's size.
const CAPITAL_SHARE: f64 = 0.7;

/// The picture as a file.
pub(crate) fn png(drawing: &Drawing) -> Vec<u8> {
    let mut canvas = Canvas::new(drawing.width as usize, drawing.height as usize);
    for shape in &drawing.shapes {
        canvas.draw(shape);
    }
    canvas.file()
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Colour>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Canvas {
        Canvas { width, height, pixels: vec![[255; 3]; width * height] }
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Box { x, y, w, h, colour } => {
                self.fill(&[(*x, *y), (x + w, *y), (x + w, y + h), (*x, y + h)], *colour);
            }
            Shape::Area { points, colour } => self.fill(points, *colour),
            Shape::Line { points, width, colour } => self.stroke(points, *width, *colour),
            Shape::Text { x, y, size, anchor, colour, text } => self.text((*x, *y), *size, *anchor, *colour, text),
        }
    }

    fn blend(&mut self, x: usize, y: usize, colour: Colour, cover: f64) {
        if let Some(pixel) = self.pixels.get_mut(y * self.width + x).filter(|_| x < self.width) {
            for (old, new) in pixel.iter_mut().zip(colour) {
                *old = (f64::from(*old) + (f64::from(new) - f64::from(*old)) * cover.clamp(0.0, 1.0)).round() as u8;
            }
        }
    }

    /// Every pixel once, however many of the segments touch it: nothing gets darker where they meet.
    fn stroke(&mut self, points: &[(f64, f64)], width: f64, colour: Colour) {
        let reach = width / 2.0 + 0.5;
        let mut covered: std::collections::BTreeMap<(usize, usize), f64> = std::collections::BTreeMap::new();
        let alone = [points.first().copied().unwrap_or_default(); 2];
        let segments = if points.len() == 1 { alone.windows(2) } else { points.windows(2) };
        for ends in segments {
            let ((ax, ay), (bx, by)) = (ends[0], ends[1]);
            let (xs, ys) = (self.span(ax.min(bx) - reach, ax.max(bx) + reach), {
                let last = self.height.saturating_sub(1) as f64;
                (ay.min(by) - reach).clamp(0.0, last) as usize..=(ay.max(by) + reach).clamp(0.0, last) as usize
            });
            for y in ys {
                for x in xs.clone() {
                    let cover = reach - distance((x as f64 + 0.5, y as f64 + 0.5), (ax, ay), (bx, by));
                    if cover > 0.0 {
                        let most = covered.entry((y, x)).or_default();
                        *most = most.max(cover.min(1.0));
                    }
                }
            }
        }
        for ((y, x), cover) in covered {
            self.blend(x, y, colour, cover);
        }
    }

    fn span(&self, from: f64, to: f64) -> std::ops::RangeInclusive<usize> {
        let last = self.width.saturating_sub(1) as f64;
        from.clamp(0.0, last) as usize..=to.clamp(0.0, last) as usize
    }

    /// Fills a polygon by the even-odd rule: four lines a row, with the exact share of each pixel between crossings.
    fn fill(&mut self, points: &[(f64, f64)], colour: Colour) {
        const LINES: usize = 4;
        let (least, most) =
            points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(p.1), b.max(p.1)));
        // Of no points, and of such that are nowhere, there is nothing to fill.
        if points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) || least > most {
            return;
        }
        let rows = least.clamp(0.0, self.height as f64) as usize..most.ceil().clamp(0.0, self.height as f64) as usize;
        let mut cover = vec![0.0_f64; self.width];
        for y in rows {
            cover.fill(0.0);
            for line in 0..LINES {
                let at = y as f64 + (line as f64 + 0.5) / LINES as f64;
                let mut crossings: Vec<f64> = Vec::new();
                for (i, a) in points.iter().enumerate() {
                    let b = points[(i + 1) % points.len()];
                    if (a.1 <= at) != (b.1 <= at) {
                        crossings.push(a.0 + (at - a.1) / (b.1 - a.1) * (b.0 - a.0));
                    }
                }
                crossings.sort_by(f64::total_cmp);
                for pair in crossings.chunks_exact(2) {
                    for x in self.span(pair[0], pair[1]) {
                        let share = (pair[1].min(x as f64 + 1.0) - pair[0].max(x as f64)).clamp(0.0, 1.0);
                        cover[x] += share / LINES as f64;
                    }
                }
            }
            for (x, cover) in cover.iter().enumerate().filter(|(_, cover)| **cover > 0.0) {
                self.blend(x, y, colour, *cover);
            }
        }
    }

    fn text(&mut self, (x, y): (f64, f64), size: f64, anchor: Anchor, colour: Colour, text: &str) {
        let unit = size * CAPITAL_SHARE / CAPITAL;
        let length = text.chars().count() as f64 * ADVANCE * unit;
        let mut at = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - length / 2.0,
            Anchor::End => x - length,
        };
        for letter in text.chars() {
            for stroke in strokes(letter) {
                let points: Vec<_> =
                    stroke.into_iter().map(|(px, py)| (at + px * unit, y - (py - BASE) * unit)).collect();
                self.stroke(&points, size / 11.0, colour);
            }
            at += ADVANCE * unit;
        }
    }

    fn file(&self) -> Vec<u8> {
        let mut rows = Vec::with_capacity(self.height * (3 * self.width + 1));
        for row in self.pixels.chunks(self.width.max(1)) {
            rows.push(0);
            rows.extend(row.iter().flatten());
        }
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        // Writing to memory cannot fail.
        let _ = packer.write_all(&rows);
        let packed = packer.finish().unwrap_or_default();
        let mut header = Vec::with_capacity(13);
        header.extend((self.width as u32).to_be_bytes());
        header.extend((self.height as u32).to_be_bytes());
        // Eight bits, red, green and blue, no interlacing.
        header.extend([8, 2, 0, 0, 0]);
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        for (kind, body) in [(b"IHDR", header), (b"IDAT", packed), (b"IEND", Vec::new())] {
            out.extend((body.len() as u32).to_be_bytes());
            let from = out.len();
            out.extend(kind);
            out.extend(body);
            let sum = crc32fast::hash(&out[from..]);
            out.extend(sum.to_be_bytes());
        }
        out
    }
}

/// From a point to the nearest of a segment.
fn distance(p: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let square = dx * dx + dy * dy;
    let along = if square > 0.0 { (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / square).clamp(0.0, 1.0) } else { 0.0 };
    (p.0 - a.0 - along * dx).hypot(p.1 - a.1 - along * dy)
}

#[cfg(test)]
mod tests {
    use super::{Canvas, png};
    use crate::draw::{Anchor, Drawing, Shape};

    #[test]
    fn a_box_covers_its_pixels_and_half_of_those_at_its_edge() {
        let mut canvas = Canvas::new(4, 4);
        canvas.draw(&Shape::Box { x: 1.0, y: 1.0, w: 1.5, h: 2.0, colour: [0; 3] });
        assert_eq!(canvas.pixels[4 + 1], [0; 3]);
        assert_eq!(canvas.pixels[4 + 2], [128; 3]);
        assert_eq!((canvas.pixels[0], canvas.pixels[4 + 3], canvas.pixels[12 + 1]), ([255; 3], [255; 3], [255; 3]));
    }

    #[test]
    fn a_picture_is_a_png_whatever_is_drawn_beyond_its_edges() {
        let mut drawing = Drawing::new(20, 10);
        drawing.line(vec![(-50.0, -50.0), (70.0, 40.0)], 2.0, [255, 0, 0]);
        drawing.line(vec![], 2.0, [0; 3]);
        drawing.text((18.0, 30.0), 12.0, Anchor::Middle, [0; 3], "Aµ%漢");
        drawing.rect(f64::NAN, 0.0, 1.0, 1.0, [0; 3]);
        let bytes = png(&drawing);
        assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(&bytes[16..24], [0, 0, 0, 20, 0, 0, 0, 10]);
        assert_eq!(&bytes[bytes.len() - 8..bytes.len() - 4], b"IEND");
    }
}
