//! A picture as shapes, before it becomes SVG or pixels.

/// A colour: red, green, blue.
pub(crate) type Colour = [u8; 3];

/// A part of a picture; parts are drawn in their order. Coordinates are pixels from the upper left corner.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// A filled rectangle.
    Box { x: f64, y: f64, w: f64, h: f64, colour: Colour },
    /// A line through points.
    Line { points: Vec<(f64, f64)>, width: f64, colour: Colour },
    /// A filled polygon.
    Area { points: Vec<(f64, f64)>, colour: Colour },
    /// Text on a base line.
    Text { x: f64, y: f64, size: f64, anchor: Anchor, colour: Colour, text: String },
}

/// Which end of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drawing {
    pub width: u32,
    pub height: u32,
    pub shapes: Vec<Shape>,
}

impl Drawing {
    /// An empty one.
    pub(crate) fn new(width: u32, height: u32) -> Drawing {
        Drawing { width, height, shapes: Vec::new() }
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, points: Vec<(f64, f64)>, width: f64, colour: Colour) {
        self.shapes.push(Shape::Line { points, width, colour });
    }

    /// Adds a text; what a terminal or a reader would obey is shown as `?`.
    pub(crate) fn text(&mut self, at: (f64, f64), size: f64, anchor: Anchor, colour: Colour, text: &str) {
        let text = fenxi_model::visible(text).into_owned();
        self.shapes.push(Shape::Text { x: at.0, y: at.1, size, anchor, colour, text });
    }

    /// Adds a filled rectangle.
    pub(crate) fn rect(&mut self, x: f64, y: f64, w: f64, h: f64, colour: Colour) {
        self.shapes.push(Shape::Box { x, y, w, h, colour });
    }
}
