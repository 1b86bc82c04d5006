//! Stacks that were folded already, as flame graphs take them: `main;outer;inner 12`.
//!
//! Whether the outermost name is a program or a function is unknown; it stays in the stack. Equal
//! stacks are added up.

use fenxi_model::catalog::stack;

use super::{
    report::Reports,
    stacks::{Amount, Owner, Stacks},
};
use crate::{Family, Format, Head, Input, Out, Sure, number};

/// Importer for folded (collapsed) stacks.
pub static FORMAT: Format = Format {
    name: "folded",
    summary: "folded (collapsed) stacks: stackcollapse-*, profile -f, offcputime -f",
    family: Family::Trace,
    tables: &[&stack::TABLE],
    example: "\
busy;main;outer;inner 12
busy;main;outer 3
",
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let lines = || head.lines().filter(|l| !l.starts_with('#')).take(20);
    // The last line of a long input may be cut.
    let all = lines().filter(|l| folded(l).is_none()).count() == 0;
    let names = lines().filter(|l| l.contains(';')).any(|l| l.bytes().any(|b| b.is_ascii_alphabetic()));
    // Prose has a blank behind a semicolon.
    let prose = lines().any(|l| l.contains("; "));
    Sure::Likely.when(all && names && !prose)
}

/// The stack and its weight.
fn folded(line: &str) -> Option<(&str, f64)> {
    let (stack, weight) = line.trim().rsplit_once(' ')?;
    let plain = weight.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let weight = number(weight).filter(|_| plain)?;
    let named = stack.bytes().any(|b| !(b.is_ascii_digit() || matches!(b, b'.' | b';' | b',' | b' ' | b'%')));
    (named && !stack.trim().is_empty()).then_some((stack.trim(), weight))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let (mut stacks, mut reports) = (Stacks::default(), Reports::default());
    while input.line().is_some() {
        let line = input.text();
        match folded(line) {
            Some((stack, weight)) => {
                stacks.add(Owner { comm: None, pid: None, event: "" }, stack.split(';'), Amount::of(weight));
            }
            None if line.trim().is_empty() || line.starts_with('#') => {}
            None => out.unknown(input.number(), line, "no folded stack and number"),
        }
        if stacks.is_full() {
            flush(&mut stacks, &mut reports, out);
        }
    }
    flush(&mut stacks, &mut reports, out);
}

fn flush(stacks: &mut Stacks, reports: &mut Reports, out: &mut Out<'_>) {
    if !stacks.is_empty() {
        let t = reports.next(out, None);
        stacks.flush(out, t, None, None);
    }
}
