//! The screen of `db top`: tiles, the chart of active sessions, and a pane of rows.

use crossterm::style::{Attribute, Color, ContentStyle as Style, Stylize};
use jiff::tz::TimeZone;

use super::{
    Top,
    canvas::Canvas,
    panes::{Cell, PANES, cells},
};
use crate::dbstat::{CLASSES, FIRST, IDLE_IN_TRANSACTION, Line, REST, time_of_day};

/// Moments in the chart at most: two minutes of seconds.
const SPAN: usize = 120;
/// Rows of the chart.
const CHART: u16 = 8;
/// Columns of a tile.
const TILE: u16 = 9;
/// Columns of the chart's legend.
const LEGEND: u16 = 18;
/// Character and colour of each class of activity: colours as in other tools, and a separate character, as colour
/// never carries meaning alone.
const LOOKS: [(char, Color); CLASSES.len()] = [
    ('█', Color::DarkGreen),
    ('▒', Color::Green),
    ('▓', Color::DarkBlue),
    ('c', Color::AnsiValue(130)),
    ('#', Color::AnsiValue(124)),
    ('X', Color::Red),
    ('o', Color::Grey),
    ('n', Color::AnsiValue(143)),
    ('-', Color::DarkYellow),
];

/// Eighths of a sparkline.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws the whole screen, of `width` columns and `height` rows.
pub fn draw(top: &Top, width: u16, height: u16) -> Canvas {
    let mut painter = Painter { canvas: Canvas::new(width, height), has_colour: top.has_colour };
    match top.now() {
        Some(now) => whole(top, now, &mut painter),
        None => painter.text(0, 0, "waiting for the server's first answers; q leaves", Style::new()),
    }
    painter.canvas
}

fn whole(top: &Top, now: usize, painter: &mut Painter) {
    let moments = &top.history.moments;
    let from = (now + 1).saturating_sub(SPAN);
    let lines: Vec<&Line> = moments.range(from..=now).map(|moment| &moment.line).collect();
    title(top, now, painter);
    tiles(&lines, painter);
    chart(&lines, painter);
    pane(top, now, painter);
}

/// Minimum width of the last column of a pane, where it needs as much.
const LEAST_OF_LAST: usize = 28;

/// Writes text, in colours where they are wanted.
struct Painter {
    canvas: Canvas,
    has_colour: bool,
}

impl Painter {
    fn text(&mut self, x: u16, y: u16, text: &str, style: Style) {
        self.canvas.text(x, y, text, style);
    }

    fn colour(&self, colour: Color) -> Style {
        if self.has_colour { Style::new().with(colour) } else { Style::new() }
    }
}

fn title(top: &Top, now: usize, painter: &mut Painter) {
    let line = &top.history.moments[now].line;
    let time = time_of_day(line.t, &TimeZone::system());
    let place = match (top.is_replay, top.at) {
        (true, _) => format!("recorded, {} of {}", now + 1, top.history.moments.len()),
        (false, Some(_)) => "paused".to_owned(),
        (false, None) => "live".to_owned(),
    };
    painter.text(0, 0, &format!("{}  {time}  {place}", line.server), Style::new().attribute(Attribute::Bold));
}

/// A figure with its title above and its last values below.
fn tiles(lines: &[&Line], painter: &mut Painter) {
    let Some(last) = lines.last() else { return };
    for (at, column) in FIRST.iter().chain(REST).enumerate() {
        let x = at as u16 * TILE;
        let value = (column.get)(last).map_or("-".to_owned(), column.show);
        painter.text(x, 1, column.title, Style::new().attribute(Attribute::Dim));
        painter.text(x, 2, &value, Style::new().attribute(Attribute::Bold));
        let from = lines.len().saturating_sub(usize::from(TILE) - 1);
        let values: Vec<_> = lines[from..].iter().map(|line| (column.get)(line)).collect();
        painter.text(x, 3, &sparkline(&values), painter.colour(Color::DarkCyan));
    }
}

/// A character for each value, scaled to the largest; a blank for what is not known.
fn sparkline(values: &[Option<f64>]) -> String {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let bar = |value: &Option<f64>| match value {
        Some(value) if most > 0.0 => BARS[((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
        Some(_) => BARS[0],
        None => ' ',
    };
    values.iter().map(bar).collect()
}

/// Active sessions by class, one column a moment, stacked in the order of the classes.
fn chart(lines: &[&Line], painter: &mut Painter) {
    let width = usize::from(painter.canvas.width().saturating_sub(LEGEND));
    let shown = &lines[lines.len().saturating_sub(width)..];
    // Idle in transaction is no work: it is not drawn as such.
    let stack = |line: &Line| -> Vec<f64> {
        line.classes[..IDLE_IN_TRANSACTION].iter().map(|value| value.unwrap_or(0.0)).collect()
    };
    let most = shown.iter().map(|line| stack(line).iter().sum()).fold(1.0, f64::max);
    let step = most / f64::from(CHART);
    for (x, line) in shown.iter().enumerate() {
        for row in 0..CHART {
            let height = (f64::from(row) + 0.5) * step;
            let mut sum = 0.0;
            let class = stack(line).iter().position(|value| {
                sum += value;
                height < sum
            });
            let Some((sign, colour)) = class.map(|class| LOOKS[class]) else { continue };
            painter.text(x as u16, 4 + CHART - 1 - row, &sign.to_string(), painter.colour(colour));
        }
    }
    let Some(last) = lines.last() else { return };
    let x = painter.canvas.width().saturating_sub(LEGEND) + 1;
    painter.text(x, 3, &format!("active, max {most:.1}"), Style::new());
    for (at, class) in CLASSES[..IDLE_IN_TRANSACTION].iter().enumerate() {
        let value = last.classes[at].map_or("-".to_owned(), |value| format!("{value:.1}"));
        let (sign, colour) = LOOKS[at];
        // As they are stacked: the first one is at the bottom.
        let y = 4 + CHART - 1 - at as u16;
        painter.text(x, y, &format!("{sign} {:<10}{value:>5}", class.name), painter.colour(colour));
    }
}

fn pane(top: &Top, now: usize, painter: &mut Painter) {
    let pane = &PANES[top.pane];
    let mut x = 0;
    for other in PANES {
        let style = if other.key == pane.key { Style::new().attribute(Attribute::Reverse) } else { Style::new() };
        let label = format!(" {} {} ", other.key, other.title);
        painter.text(x, 4 + CHART, &label, style);
        x += label.chars().count() as u16;
    }
    let all = cells(pane, top.pane, &top.history.moments[now], &top.history, &top.choice);
    let first = 5 + CHART;
    let room = usize::from(painter.canvas.height().saturating_sub(first + 2));
    let offset = top.offset.min(all.len().saturating_sub(1));
    let shown = &all[offset..all.len().min(offset + room)];
    let sorted = top.choice.sort.or(pane.sorted_by);
    let titles: Vec<String> = pane
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| if sorted == Some(at) { format!("{}*", column.title) } else { column.title.to_owned() })
        .collect();
    let widths = widths(&titles, shown);
    let is_number = |at: usize| all.iter().any(|row| row[at].number.is_some());
    let fits = fitting(&widths, usize::from(painter.canvas.width()));
    let mut x = 0_u16;
    for at in fits {
        let (width, is_last) = (widths[at], at + 1 == titles.len());
        // Sessions are set in below their blockers.
        let is_right = is_number(at) && !is_last && !(pane.sorted_by.is_none() && at == 0);
        let fit = |text: &str| {
            let text: String = text.chars().take(width).collect();
            if is_right { format!("{text:>width$}") } else { text }
        };
        painter.text(x, first, &fit(&titles[at]), Style::new().attribute(Attribute::Underlined));
        for (row, cells) in shown.iter().enumerate() {
            painter.text(x, first + 1 + row as u16, &fit(&cells[at].text), Style::new());
        }
        x = x.saturating_add(width as u16 + 2);
    }
    if all.is_empty() {
        painter.text(0, first + 1, pane.none, Style::new().attribute(Attribute::Dim));
    }
    let keys = if top.types {
        format!("filter: {}_", top.choice.filter)
    } else {
        let filter = if top.choice.filter.is_empty() { String::new() } else { format!("  [{}]", top.choice.filter) };
        format!(
            "1-7 pane  s sort  / filter  space pause  ←→ step  ↑↓ scroll  q leave  {} row{}{filter}",
            all.len(),
            if all.len() == 1 { "" } else { "s" }
        )
    };
    painter.text(0, painter.canvas.height().saturating_sub(1), &keys, Style::new().attribute(Attribute::Dim));
}

/// How wide each column is. One long name does not push the others off the screen.
fn widths(titles: &[String], shown: &[Vec<Cell>]) -> Vec<usize> {
    let of = |(at, title): (usize, &String)| {
        let texts = shown.iter().map(|row| row[at].text.chars().count());
        let width = texts.chain([title.chars().count()]).max().unwrap_or(0);
        if at + 1 == titles.len() { width } else { width.min(24) }
    };
    titles.iter().enumerate().map(of).collect()
}

/// The columns that a screen shows: the last one is what a row is about, and those before it give way to it.
fn fitting(widths: &[usize], room: usize) -> Vec<usize> {
    let Some((last, before)) = widths.split_last() else { return Vec::new() };
    let room = room.saturating_sub((*last).min(LEAST_OF_LAST));
    let ends = before.iter().scan(0, |end, width| {
        *end += width + 2;
        Some(*end)
    });
    let kept = ends.take_while(|end| *end <= room).count().max(1).min(before.len());
    (0..kept).chain([before.len()]).collect()
}
