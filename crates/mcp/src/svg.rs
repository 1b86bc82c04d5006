//! A picture as SVG.

use std::fmt::Write as _;

use crate::draw::{Anchor, Colour, Drawing, Shape};

/// The picture as a separate document.
pub(crate) fn svg(drawing: &Drawing) -> String {
    let (w, h) = (drawing.width, drawing.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"system-ui, sans-serif\">\n"
    );
    for shape in &drawing.shapes {
        // Writing to a string cannot fail.
        let _ = match shape {
            Shape::Box { x, y, w, h, colour } => writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" fill=\"{}\"/>",
                hex(*colour)
            ),
            Shape::Line { points, width, colour } => writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"/>",
                list(points),
                hex(*colour)
            ),
            Shape::Area { points, colour } => {
                writeln!(out, "<polygon points=\"{}\" fill=\"{}\"/>", list(points), hex(*colour))
            }
            Shape::Text { x, y, size, anchor, colour, text } => writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{}\" fill=\"{}\">{}</text>",
                match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                },
                hex(*colour),
                escaped(text)
            ),
        };
    }
    out + "</svg>\n"
}

fn list(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

fn hex([r, g, b]: Colour) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::svg;
    use crate::draw::{Anchor, Drawing};

    #[test]
    fn what_people_named_is_text_and_never_markup() {
        let mut drawing = Drawing::new(10, 10);
        drawing.text((1.0, 2.0), 9.0, Anchor::Start, [0; 3], "<script>\u{1b}&\"");
        let text = svg(&drawing);
        assert!(text.contains("&lt;script&gt;?&amp;&quot;"), "{text}");
    }
}
