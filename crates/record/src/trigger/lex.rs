//! Words of a condition.

/// One word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// A name.
    Word(&'a str),
    /// A number as written, with its suffix.
    Number(&'a str),
    /// A text in quotes, without them.
    Quoted(&'a str),
    /// `>`, `<=`, `=`, `!=`, `~` and so on.
    Operator(&'a str),
    Dot,
    Comma,
    /// `{`, `[` or `(`.
    Open(char),
    /// `}`, `]` or `)`.
    Close(char),
    End,
}

/// Gives one word after the other.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { rest: text }
    }

    /// The next word.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn next(&mut self) -> Result<Token<'a>, String> {
        let (token, rest) = split(self.rest.trim_start())?;
        self.rest = rest;
        Ok(token)
    }

    fn peek(&self) -> Option<Token<'a>> {
        split(self.rest.trim_start()).ok().map(|(token, _)| token)
    }

    /// Whether the next word is `word`.
    pub(super) fn next_is_word(&self, word: &str) -> bool {
        self.peek() == Some(Token::Word(word))
    }

    /// Takes the next word if it is `token`.
    pub(super) fn accept(&mut self, token: Token<'_>) -> bool {
        let is = self.peek() == Some(token);
        if is {
            let _ = self.next();
        }
        is
    }

    /// Takes the next word if it is `word`.
    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        self.accept(Token::Word(word))
    }

    /// A number, with `k`, `M`, `G`, `Ki`, `Mi`, `Gi` or `%` behind it or not.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn number(&mut self) -> Result<f64, String> {
        let Token::Number(word) = self.next()? else { return Err("a number is missing".to_owned()) };
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
        let factor = match &word[digits.len()..] {
            "" | "%" => 1.0,
            "k" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "Ki" => 1024.0,
            "Mi" => 1024.0 * 1024.0,
            "Gi" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(format!("`{word}` is no number (suffixes are k, M, G, Ki, Mi, Gi, %)")),
        };
        let number: f64 = digits.parse().map_err(|_| format!("`{word}` is no number"))?;
        Ok(number * factor)
    }

    /// Everything up to the next blank: a length of time.
    pub(super) fn length(&mut self) -> &'a str {
        let rest = self.rest.trim_start();
        let (word, rest) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        self.rest = rest;
        word
    }

    /// A value of a label: in quotes, or up to a comma, a bracket or a blank.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn value(&mut self) -> Result<&'a str, String> {
        let rest = self.rest.trim_start();
        if rest.starts_with(['\'', '"']) {
            return match self.next()? {
                Token::Quoted(text) => Ok(text),
                _ => Err("a value is missing".to_owned()),
            };
        }
        let end = rest.find(|c: char| c.is_whitespace() || ",}])".contains(c)).unwrap_or(rest.len());
        self.rest = &rest[end..];
        if end == 0 { Err("a value is missing".to_owned()) } else { Ok(&rest[..end]) }
    }

    /// Nothing more may come.
    ///
    /// # Errors
    /// When something does.
    pub(super) fn end(&mut self) -> Result<(), String> {
        let rest = self.rest.trim();
        if rest.is_empty() { Ok(()) } else { Err(format!("`{rest}` is more than a condition has")) }
    }
}

fn split(text: &str) -> Result<(Token<'_>, &str), String> {
    let Some(first) = text.chars().next() else { return Ok((Token::End, text)) };
    let cut = |n: usize| text.split_at(n);
    let one = first.len_utf8();
    let run = |is: fn(char) -> bool| text.find(|c: char| !is(c)).unwrap_or(text.len());
    Ok(match first {
        '.' => (Token::Dot, cut(one).1),
        ',' => (Token::Comma, cut(one).1),
        '{' | '[' | '(' => (Token::Open(first), cut(one).1),
        '}' | ']' | ')' => (Token::Close(first), cut(one).1),
        '\'' | '"' => {
            let inside = &text[1..];
            let end = inside.find(first).ok_or("a quote is not closed")?;
            (Token::Quoted(&inside[..end]), &inside[end + 1..])
        }
        '>' | '<' | '=' | '!' | '~' => {
            let (word, rest) = cut(run(|c| matches!(c, '>' | '<' | '=' | '!' | '~')));
            (Token::Operator(word), rest)
        }
        '0'..='9' | '-' | '+' => {
            let n = 1 + text[1..]
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '%'))
                .unwrap_or(text.len() - 1);
            let (word, rest) = cut(n);
            (Token::Number(word), rest)
        }
        _ if first.is_alphanumeric() || first == '_' => {
            let (word, rest) = cut(run(|c| c.is_alphanumeric() || c == '_'));
            (Token::Word(word), rest)
        }
        _ => return Err(format!("`{first}` means nothing here")),
    })
}
