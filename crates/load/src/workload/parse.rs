//! Parser of expressions: numbers, names, `+ - * / %`, `== != < >`, `name := value`, calls, texts.

use std::collections::BTreeMap;

use super::expr::{Expr, Item, Operator, Text};
use crate::random::Distribution;

/// Deeper brackets are somebody's mistake.
const MAX_DEPTH: usize = 50;

/// The names that expressions may use.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Options and their values.
    pub constants: BTreeMap<String, i64>,
    /// Names of a transaction; their order is that of the slots.
    pub slots: Vec<String>,
    /// The meaning of `draw`.
    pub draw: Option<Distribution>,
}

impl Names {
    /// The slot of a name, which is made when there is none.
    pub fn slot(&mut self, name: &str) -> usize {
        self.slots.iter().position(|known| known == name).unwrap_or_else(|| {
            self.slots.push(name.to_owned());
            self.slots.len() - 1
        })
    }
}

/// Reads a number.
///
/// # Errors
/// A description of the error, and the valid forms.
pub fn expr(text: &str, names: &mut Names) -> Result<Expr, String> {
    match item(text, names)? {
        Item::Number(number) => Ok(number),
        Item::Text(_) => Err(format!("`{text}` is a text instead of a number")),
    }
}

/// Reads a number or a text.
///
/// # Errors
/// As [`expr`].
pub fn item(text: &str, names: &mut Names) -> Result<Item, String> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, names, text, depth: 0 };
    let item = match parser.text_call()? {
        Some(text) => Item::Text(text),
        None => Item::Number(parser.assignment()?),
    };
    match parser.peek() {
        None => Ok(item),
        Some(token) => Err(format!("`{text}`: {} is unexpected", token.shown())),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(i64),
    Name(String),
    Text(String),
    Sign(&'static str),
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Token::Number(number) => format!("`{number}`"),
            Token::Name(name) => format!("`{name}`"),
            Token::Text(text) => format!("\"{text}\""),
            Token::Sign(sign) => format!("`{sign}`"),
        }
    }
}

/// Longer signs before their beginnings.
const SIGNS: &[&str] = &[":=", "==", "!=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ","];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length_of = |fits: fn(char) -> bool| rest.find(|c| !fits(c)).unwrap_or(rest.len());
        let length = if first.is_ascii_digit() {
            let length = length_of(|c| c.is_ascii_digit() || c == '_');
            let number = rest[..length].replace('_', "");
            tokens.push(Token::Number(number.parse().map_err(|_| format!("`{number}` is too large"))?));
            length
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = length_of(|c| c.is_ascii_alphanumeric() || c == '_');
            tokens.push(Token::Name(rest[..length].to_owned()));
            length
        } else if first == '"' {
            let end = rest[1..].find('"').ok_or_else(|| format!("`{text}`: a text does not end"))?;
            tokens.push(Token::Text(rest[1..=end].to_owned()));
            end + 2
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| format!("`{text}`: `{first}` has no meaning here"))?;
            tokens.push(Token::Sign(sign));
            sign.len()
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: Vec<Token>,
    at: usize,
    names: &'a mut Names,
    text: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Sign(s)) if *s == sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(format!("`{}`: `{sign}` is missing", self.text)) }
    }

    /// `pattern("…")`, `letters(n)` or `"…"`.
    fn text_call(&mut self) -> Result<Option<Text>, String> {
        let bytes = |text: &str| text.as_bytes().into();
        match self.tokens.as_slice() {
            [Token::Text(text)] => {
                self.at = 1;
                Ok(Some(Text::Fixed(bytes(text))))
            }
            [Token::Name(name), Token::Sign("("), Token::Text(text), Token::Sign(")")] if name == "pattern" => {
                self.at = 4;
                Ok(Some(Text::Pattern(bytes(text))))
            }
            [Token::Name(name), Token::Sign("("), ..] if name == "letters" => {
                self.at = 2;
                let count = self.assignment()?;
                self.expect(")")?;
                Ok(Some(Text::Letters(count)))
            }
            _ => Ok(None),
        }
    }

    fn assignment(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("`{}` is nested too deeply", self.text));
        }
        let value = match (self.peek().cloned(), self.tokens.get(self.at + 1)) {
            (Some(Token::Name(name)), Some(Token::Sign(":="))) => {
                self.at += 2;
                let value = self.assignment()?;
                if self.names.constants.contains_key(&name) {
                    return Err(format!("`{name}` is an option and cannot get another value"));
                }
                Expr::Assign(self.names.slot(&name), Box::new(value))
            }
            _ => self.level(0)?,
        };
        self.depth -= 1;
        Ok(value)
    }

    /// Operators that bind more and more closely.
    fn level(&mut self, level: usize) -> Result<Expr, String> {
        const LEVELS: &[&[(&str, Operator)]] = &[
            &[("==", Operator::Equal), ("!=", Operator::Unequal), ("<", Operator::Less), (">", Operator::Greater)],
            &[("+", Operator::Add), ("-", Operator::Subtract)],
            &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.single() };
        let mut left = self.level(level + 1)?;
        'more: loop {
            for (sign, operator) in *operators {
                if self.takes(sign) {
                    let right = self.level(level + 1)?;
                    left = Expr::Both(*operator, Box::new(left), Box::new(right));
                    continue 'more;
                }
            }
            return Ok(left);
        }
    }

    fn single(&mut self) -> Result<Expr, String> {
        match self.next() {
            Some(Token::Number(number)) => Ok(Expr::Number(number)),
            Some(Token::Sign("-")) => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(format!("`{}` is nested too deeply", self.text));
                }
                let value = self.single()?;
                Ok(Expr::Both(Operator::Subtract, Box::new(Expr::Number(0)), Box::new(value)))
            }
            Some(Token::Sign("(")) => {
                let value = self.assignment()?;
                self.expect(")")?;
                Ok(value)
            }
            Some(Token::Name(name)) if self.takes("(") => self.call(&name),
            Some(Token::Name(name)) => self.name(&name),
            Some(token) => Err(format!("`{}`: {} where a number is wanted", self.text, token.shown())),
            None => Err(format!("`{}`: a number is missing", self.text)),
        }
    }

    fn name(&self, name: &str) -> Result<Expr, String> {
        if let Some(number) = self.names.constants.get(name) {
            return Ok(Expr::Number(*number));
        }
        match self.names.slots.iter().position(|known| known == name) {
            Some(slot) => Ok(Expr::Slot(slot)),
            None => {
                let known: Vec<_> =
                    self.names.slots.iter().chain(self.names.constants.keys()).map(String::as_str).collect();
                Err(format!("`{}`: unknown name `{name}`; known are {}", self.text, known.join(", ")))
            }
        }
    }

    fn call(&mut self, function: &str) -> Result<Expr, String> {
        let distribution = match function {
            "draw" => self.names.draw.clone().unwrap_or(Distribution::Uniform),
            _ => Distribution::parse(function).ok_or_else(|| {
                format!("`{}`: unknown function `{function}`; known are draw, pattern, letters, uniform, gaussian, special, pareto, zipfian, sequential", self.text)
            })?,
        };
        let low = self.assignment()?;
        self.expect(",")?;
        let high = self.assignment()?;
        self.expect(")")?;
        Ok(Expr::Draw(distribution, Box::new(low), Box::new(high)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::expr::Frame, *};
    use crate::random::Random;

    fn names() -> Names {
        Names { constants: [("size".to_owned(), 100)].into(), ..Names::default() }
    }

    fn value(text: &str) -> i64 {
        let mut names = names();
        let expr = expr(text, &mut names).unwrap();
        let mut slots = vec![0; names.slots.len()];
        expr.value(&mut Frame { slots: &mut slots, random: &mut Random::new(1, 1), turn: 3 })
    }

    #[test]
    fn arithmetic_binds_as_everywhere() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 3 - 2", 5),
            ("-size / 7", -14),
            ("1_000 % size == 0", 1),
            ("2 > 3", 0),
            ("(x := 4) + x", 8),
            ("sequential(1, 10)", 4),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        assert!((1..=100).contains(&value("draw(1, size)")));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_it_can_be() {
        for (text, message) in [
            ("1 +", "a number is missing"),
            ("other", "unknown name `other`; known are size"),
            ("normal(1, 2)", "unknown function `normal`; known are draw"),
            ("uniform(1)", "`,` is missing"),
            ("1 2", "`2` is unexpected"),
            ("size := 3", "is an option"),
            ("1 & 2", "`&` has no meaning"),
            ("\"open", "does not end"),
            ("pattern(\"##\")", "a text instead of a number"),
            ("99999999999999999999", "too large"),
        ] {
            let error = expr(text, &mut names()).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        assert!(expr(&"(".repeat(10_000), &mut names()).unwrap_err().contains("deeply"));
        assert!(expr(&"-".repeat(10_000), &mut names()).unwrap_err().contains("deeply"));
    }

    #[test]
    fn texts_are_patterns_letters_or_fixed() {
        assert_eq!(item("\"a\"", &mut names()).unwrap(), Item::Text(Text::Fixed((*b"a").into())));
        assert_eq!(item("pattern(\"#-@\")", &mut names()).unwrap(), Item::Text(Text::Pattern((*b"#-@").into())));
        assert!(matches!(item("letters(size + 1)", &mut names()).unwrap(), Item::Text(Text::Letters(_))));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = item(&text, &mut names());
        }
    }
}
