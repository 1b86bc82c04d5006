//! A report as one HTML file: tables, no program, nothing from a network.

use std::fmt::Write;

use super::{DbReport, Line, Section};
use crate::saved::html::escaped;

/// How it looks, on screens and on paper.
const STYLE: &str = "body{font:14px/1.45 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}\
h1{font-size:1.4rem}h2{font-size:1.1rem;margin:2rem 0 .4rem}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\
th,td{padding:.15rem .5rem;border-bottom:1px solid #e2e2e2;text-align:right;vertical-align:top}th.k,td.k{text-align:left}\
td.s{text-align:left;font-family:ui-monospace,monospace;font-size:12px;color:#444;word-break:break-word}thead th{border-bottom:2px solid #888}\
nav a{margin-right:.8rem}p.q{color:#666;margin:.2rem 0}code{font-size:12px}\
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}th,td{border-color:#333}td.s,p.q{color:#aaa}a{color:#8ab4f8}}";

impl DbReport {
    /// As one file.
    pub fn html(&self) -> String {
        let mut lines = self.heading().into_iter();
        let title = escaped(&lines.next().unwrap_or_default());
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
        );
        lines.for_each(|line| out += &format!("<p>{}</p>\n", escaped(&line)));
        out += "<nav>";
        self.sections.iter().for_each(|s| out += &format!("<a href=\"#{}\">{}</a>", escaped(&s.id), escaped(&s.title)));
        out += "</nav>\n";
        self.sections.iter().for_each(|section| section.html(self, &mut out));
        out + "</body></html>\n"
    }
}

impl Section {
    fn html(&self, report: &DbReport, out: &mut String) {
        let (id, title) = (escaped(&self.id), escaped(&self.title));
        let _ = write!(out, "<h2 id=\"{id}\">{title}</h2>\n<table><thead><tr>");
        self.keys.iter().for_each(|key| *out += &format!("<th class=\"k\">{}</th>", escaped(key)));
        for heading in self.columns.iter().flat_map(|column| report.headings(column)) {
            let _ = write!(out, "<th>{}</th>", escaped(&heading));
        }
        let two = report.periods.len() > 1;
        *out += if two { "<th class=\"k\">only in</th></tr></thead>\n" } else { "</tr></thead>\n" };
        self.lines.iter().for_each(|line| line.html(two, out));
        let below = self.below();
        let alone = if self.question.is_empty() {
            String::new()
        } else {
            format!("<code>fenxi ask {}</code>", escaped(&self.question))
        };
        let more = if below.is_empty() { String::new() } else { format!("and {} more: ", self.more) };
        let _ = writeln!(out, "</table><p class=\"q\">{more}{alone}</p>");
    }
}

impl Line {
    fn html(&self, two: bool, out: &mut String) {
        *out += "<tr>";
        self.keys.iter().for_each(|key| *out += &format!("<td class=\"k\">{}</td>", escaped(key)));
        self.cells.iter().flatten().for_each(|cell| *out += &format!("<td>{}</td>", escaped(&cell.shown)));
        if two {
            let _ = write!(out, "<td class=\"k\">{}</td>", escaped(self.only_in.as_deref().unwrap_or_default()));
        }
        *out += "</tr>\n";
        if let Some(text) = &self.text {
            let columns = self.keys.len() + self.cells.iter().map(Vec::len).sum::<usize>() + usize::from(two);
            let _ = writeln!(out, "<tr><td class=\"s\" colspan=\"{columns}\">{}</td></tr>", escaped(text));
        }
    }
}
