//! Words of the server's log in other languages (`lc_messages`), and what they are in English.
//!
//! A server translates severities, the names of further parts of a report, and messages. Of messages only those are known
//! that statements are read from: durations, statements, temporary files and deadlocks. Others stay as they are.

use crate::number;

/// Severities and parts of reports by their translations.
const WORDS: &[(&str, &[&str])] = &[
    ("LOG", &["LOGG", "СООБЩЕНИЕ", "ЗАПИСУВАННЯ", "日志", "로그", "ჟურნალი"]),
    ("ERROR", &["FEHLER", "ERREUR", "ERRORE", "FEL", "ОШИБКА", "ПОМИЛКА", "错误", "오류", "შეცდომა"]),
    ("FATAL", &["FATALE", "FATALT", "ВАЖНО", "ФАТАЛЬНО", "致命错误", "치명적오류", "ფატალური"]),
    ("PANIC", &["PANIK", "PANICO", "ПАНИКА", "ПАНІКА", "比致命错误还过分的错误", "손상", "პანიკა"]),
    (
        "WARNING",
        &[
            "WARNUNG",
            "ATTENTION",
            "ATTENZIONE",
            "VARNING",
            "ПРЕДУПРЕЖДЕНИЕ",
            "ПОПЕРЕДЖЕННЯ",
            "警告",
            "경고",
            "გაფრთხილება",
        ],
    ),
    ("NOTICE", &["HINWEIS", "NOTIFICA", "NOTIS", "ЗАМЕЧАНИЕ", "ПОВІДОМЛЕННЯ", "注意", "알림"]),
    ("INFO", &["ИНФОРМАЦИЯ", "ІНФОРМАЦІЯ", "信息", "정보", "ინფორმაცია"]),
    ("DEBUG", &["ОТЛАДКА", "НАЛАГОДЖЕННЯ", "调试", "디버그", "გამართვა"]),
    (
        "DETAIL",
        &[
            "DÉTAIL",
            "DETALLE",
            "DETTAGLI",
            "DETALJ",
            "ПОДРОБНОСТИ",
            "ВІДОМОСТІ",
            "詳細",
            "详细信息",
            "상세정보",
            "დეტალები",
        ],
    ),
    (
        "HINT",
        &["TIPP", "ASTUCE", "SUGGERIMENTO", "TIPS", "ПОДСКАЗКА", "УКАЗІВКА", "ヒント", "提示", "힌트", "მინიშნება"],
    ),
    // The Korean one is two words, of which the last is looked for.
    (
        "STATEMENT",
        &[
            "ANWEISUNG",
            "INSTRUCTION",
            "SENTENCIA",
            "ISTRUZIONE",
            "SATS",
            "ОПЕРАТОР",
            "ІНСТРУКЦІЯ",
            "文",
            "语句",
            "구문",
            "ოპერატორი",
        ],
    ),
    (
        "CONTEXT",
        &[
            "ZUSAMMENHANG",
            "CONTEXTE",
            "CONTEXTO",
            "CONTESTO",
            "KONTEXT",
            "КОНТЕКСТ",
            "文脈",
            "上下文",
            "내용",
            "კონტექსტი",
        ],
    ),
    (
        "QUERY",
        &["ANFRAGE", "REQUÊTE", "CONSULTA", "FRÅGA", "ЗАПРОС", "ЗАПИТ", "問い合わせ", "查询", "쿼리", "მოთხოვნა"],
    ),
    ("BACKTRACE", &["СТЕК", "ВІДСТЕЖУВАТИ", "バックトレース", "역추적", "სტეკი"]),
];

/// The English word for a severity or a part of a report in another language.
pub(super) fn english_word(word: &str) -> Option<&'static str> {
    WORDS.iter().find(|(_, words)| words.contains(&word)).map(|(english, _)| *english)
}

/// The word for an unknown user or database.
pub(super) fn is_unknown(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "[unknown]",
        "[unbekannt]",
        "[inconnu]",
        "[desconocido]",
        "[sconosciuto]",
        "[okänd]",
        "[н/д]",
        "[不明]",
        "[未知]",
        "[알수없음]",
        "[უცნობი]",
    ];
    NAMES.contains(&name)
}

/// Whether a message reports a deadlock.
pub(super) fn is_deadlock(message: &str) -> bool {
    const MESSAGES: &[&str] = &[
        "deadlock detected",
        "Verklemmung (Deadlock) entdeckt",
        "Verklemmung entdeckt",
        "interblocage (deadlock) détecté",
        "interblocage détecté",
        "se ha detectado un deadlock",
        "rilevato deadlock",
        "deadlock upptäckt",
        "обнаружена взаимоблокировка",
        "виявлено взаємне блокування",
        "デッドロックを検出しました",
        "检测到死锁",
        "deadlock 발생했음",
        "ნაპოვნია ურთიერთბლოკირება",
    ];
    MESSAGES.contains(&message)
}

/// The words of one language that statements are read from.
struct Language {
    /// Beginnings of durations, and their unit.
    durations: &'static [&'static str],
    ms: &'static str,
    /// The words before a statement.
    statement: &'static str,
    /// The words before the name of a prepared statement, and what it is in English; the longer before the shorter.
    parts: &'static [(&'static str, &'static str)],
    /// Beginning of messages about temporary files.
    temporary: &'static str,
}

const LANGUAGES: &[Language] = &[
    Language {
        durations: &["Dauer: "],
        ms: " ms",
        statement: "Anweisung: ",
        parts: &[
            ("Ausführen Fetch von ", "execute fetch from "),
            ("Ausführen ", "execute "),
            ("Parsen ", "parse "),
            ("Binden ", "bind "),
        ],
        temporary: "temporäre Datei: ",
    },
    Language {
        durations: &["durée : "],
        ms: " ms",
        statement: "instruction : ",
        parts: &[
            ("exécute fetch à partir de ", "execute fetch from "),
            ("exécute ", "execute "),
            ("analyse ", "parse "),
            ("lien ", "bind "),
        ],
        temporary: "fichier temporaire : ",
    },
    Language {
        durations: &["duración: "],
        ms: " ms",
        statement: "sentencia: ",
        parts: &[
            ("ejecutar fetch desde ", "execute fetch from "),
            ("ejecutar ", "execute "),
            ("parse: ", "parse "),
            ("bind ", "bind "),
        ],
        temporary: "archivo temporal: ",
    },
    Language {
        durations: &["durata: "],
        ms: " ms",
        statement: "istruzione: ",
        parts: &[
            ("esecuzione di fetch da ", "execute fetch from "),
            ("esecuzione di ", "execute "),
            ("analisi di ", "parse "),
            ("bind ", "bind "),
        ],
        temporary: "file temporaneo: ",
    },
    Language {
        durations: &["varaktighet: ", "varaktighet "],
        ms: " ms",
        statement: "sats: ",
        parts: &[
            ("kör hämtning från ", "execute fetch from "),
            ("kör ", "execute "),
            ("parse ", "parse "),
            ("bind ", "bind "),
        ],
        temporary: "temporär fil: ",
    },
    Language {
        durations: &["продолжительность: "],
        ms: " мс",
        statement: "оператор: ",
        parts: &[
            ("выборка из ", "execute fetch from "),
            ("выполнение ", "execute "),
            ("разбор ", "parse "),
            ("сообщение Bind ", "bind "),
        ],
        temporary: "временный файл: ",
    },
    Language {
        durations: &["тривалість: "],
        ms: " мс",
        statement: "оператор: ",
        parts: &[
            ("виконати витягнення з ", "execute fetch from "),
            ("виконувати ", "execute "),
            ("аналізування ", "parse "),
            ("повідомлення bind ", "bind "),
        ],
        temporary: "тимчасовий файл: ",
    },
    Language {
        durations: &["期間: "],
        ms: " ミリ秒",
        statement: "文: ",
        parts: &[
            ("取り出し実行 ", "execute fetch from "),
            ("実行 ", "execute "),
            ("パース", "parse "),
            ("バインド ", "bind "),
        ],
        temporary: "一時ファイル: ",
    },
    Language {
        durations: &["执行时间: "],
        ms: " ms",
        statement: "语句: ",
        parts: &[
            ("执行FETCH操作", "execute fetch from "),
            ("执行", "execute "),
            ("解析 ", "parse "),
            ("绑定", "bind "),
        ],
        temporary: "临时文件: ",
    },
    // Names of prepared statements precede what is done with them, so that only executions are read.
    Language {
        durations: &["실행시간: ", "수행시간: "],
        ms: " ms",
        statement: "명령 구문: ",
        parts: &[("자료뽑기 ", "execute fetch from "), ("쿼리실행 ", "execute ")],
        temporary: "임시 파일: ",
    },
    Language {
        durations: &["ხანგრძლივობა: "],
        ms: " მწმ",
        statement: "გამოსახულება: ",
        parts: &[],
        temporary: "დროებითი ფაილი: ",
    },
];

/// Result of reading a message.
#[derive(Debug, PartialEq)]
pub(super) enum Read {
    /// It is none of those that are known in other languages.
    Same,
    /// The message in English.
    English(String),
    /// It is a duration in words that are not known.
    Unclear,
}

/// A message in English, as far as it is one of which statements are read.
pub(super) fn english(message: &str) -> Read {
    for language in LANGUAGES {
        if let Some(rest) = language.durations.iter().find_map(|begin| message.strip_prefix(begin)) {
            return language.duration(rest).map_or(Read::Unclear, Read::English);
        }
        if let Some(rest) = message.strip_prefix(language.temporary) {
            return bytes(rest).map_or(Read::Unclear, Read::English);
        }
        if let Some(text) = message.strip_prefix(language.statement) {
            return Read::English(format!("statement: {text}"));
        }
        // Of the words for parts alone, ordinary messages may begin with some.
        if let Some(text) = language.part(message).filter(|text| text.starts_with("execute ")) {
            return Read::English(text);
        }
    }
    Read::Same
}

impl Language {
    /// `50.596 ms  Anweisung: select …` and the like, without the word for the duration.
    fn duration(&self, rest: &str) -> Option<String> {
        let (ms, rest) = rest.split_once(self.ms)?;
        number(ms)?;
        let rest = rest.trim_start_matches([' ', ',']);
        if rest.is_empty() || rest.starts_with("plan:") {
            return Some(format!("duration: {ms} ms  {rest}").trim_end().to_owned());
        }
        if let Some(text) = rest.strip_prefix(self.statement) {
            return Some(format!("duration: {ms} ms  statement: {text}"));
        }
        Some(format!("duration: {ms} ms  {}", self.part(rest)?))
    }

    /// `Ausführen P_0: select …`: what is done with a prepared statement, whose name has no blank.
    fn part(&self, text: &str) -> Option<String> {
        let (what, rest) = self.parts.iter().find_map(|(word, what)| Some((what, text.strip_prefix(word)?)))?;
        let (name, statement) = rest.split_once(": ")?;
        let name = name.trim_end();
        (!name.contains(' ')).then(|| format!("{what}{name}: {statement}"))
    }
}

/// `Pfad »base/pgsql_tmp/pgsql_tmp1.0«, Größe 70000`: the number at the end.
fn bytes(rest: &str) -> Option<String> {
    let at = rest
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + rest[at..].chars().next().map_or(0, char::len_utf8));
    let size = rest.get(at..).filter(|size| !size.is_empty())?;
    Some(format!("temporary file: size {size}"))
}

/// Whether a message is in another language: letters that English has not, outside of what is quoted.
pub(super) fn is_foreign(message: &str) -> bool {
    let mut quoted = false;
    message.chars().any(|c| {
        quoted ^= matches!(c, '"' | '\'');
        !quoted && !c.is_ascii()
    })
}

/// A message without its quoted parts: in another language the places of values are unknown.
pub(super) fn without_quoted(message: &str) -> String {
    const PAIRS: &[(char, &[char])] = &[
        ('"', &['"']),
        ('\'', &['\'']),
        ('»', &['«']),
        ('«', &['»']),
        ('„', &['“', '”']),
        ('“', &['”', '“']),
        ('「', &['」']),
    ];
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((at, open, ends)) = rest
        .char_indices()
        .find_map(|(at, c)| PAIRS.iter().find(|(open, _)| *open == c).map(|(_, ends)| (at, c, *ends)))
    {
        let behind = at + open.len_utf8();
        if open == '\'' && is_elision(&rest[..at]) {
            text.push_str(&rest[..behind]);
            rest = &rest[behind..];
            continue;
        }
        text.push_str(&rest[..at]);
        text.push_str("\"?\"");
        // Quoted text may have quotes in it: the last of them ends it.
        rest = rest.rfind(ends).filter(|end| *end >= behind).map_or("", |end| {
            let length = rest[end..].chars().next().map_or(0, char::len_utf8);
            &rest[end + length..]
        });
    }
    text.push_str(rest);
    text
}

/// Whether an apostrophe behind this text belongs to a word of French or Italian, and begins no quote.
fn is_elision(before: &str) -> bool {
    const WORDS: &[&str] =
        &["l", "d", "n", "s", "c", "j", "qu", "jusqu", "lorsqu", "un", "dell", "all", "nell", "dall", "sull"];
    let begin = before
        .rfind(|c: char| !c.is_alphanumeric())
        .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
    WORDS.contains(&&before[begin..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_the_same_in_every_language() {
        let english = |message: &str| match english(message) {
            Read::English(text) => text,
            other => format!("{other:?}"),
        };
        for message in [
            "Dauer: 5.250 ms  Anweisung: select 1",
            "durée : 5.250 ms, instruction : select 1",
            "duración: 5.250 ms  sentencia: select 1",
            "durata: 5.250 ms  istruzione: select 1",
            "varaktighet: 5.250 ms  sats: select 1",
            "продолжительность: 5.250 мс, оператор: select 1",
            "тривалість: 5.250 мс, оператор: select 1",
            "期間: 5.250 ミリ秒  文: select 1",
            "执行时间: 5.250 ms 语句: select 1",
            "실행시간: 5.250 ms  명령 구문: select 1",
            "ხანგრძლივობა: 5.250 მწმ  გამოსახულება: select 1",
        ] {
            assert_eq!(english(message), "duration: 5.250 ms  statement: select 1", "{message}");
        }
        for (message, expected) in [
            ("Dauer: 0.5 ms", "duration: 0.5 ms"),
            ("Dauer: 0.5 ms  Ausführen <unnamed>: select $1", "duration: 0.5 ms  execute <unnamed>: select $1"),
            (
                "Dauer: 0.5 ms  Ausführen Fetch von s/c: select $1",
                "duration: 0.5 ms  execute fetch from s/c: select $1",
            ),
            ("durée : 0.5 ms, analyse s : select $1", "duration: 0.5 ms  parse s: select $1"),
            ("duración: 0.5 ms  parse: s: select $1", "duration: 0.5 ms  parse s: select $1"),
            ("期間: 0.5 ミリ秒  パース<unnamed> : select 1", "duration: 0.5 ms  parse <unnamed>: select 1"),
            ("执行时间: 0.5 ms 执行<unnamed>: select 1", "duration: 0.5 ms  execute <unnamed>: select 1"),
            ("Anweisung: select 1", "statement: select 1"),
            ("exécute s: select 1", "execute s: select 1"),
            ("temporäre Datei: Pfad »base/pgsql_tmp/pgsql_tmp1.0«, Größe 70000", "temporary file: size 70000"),
            ("临时文件: 路径 \"base/x\", 大小70000", "temporary file: size 70000"),
        ] {
            assert_eq!(english(message), expected, "{message}");
        }
    }

    #[test]
    fn what_is_not_understood_is_not_guessed() {
        assert_eq!(english("Dauer: 0.5 ms  Etwas s: select 1"), Read::Unclear);
        assert_eq!(english("실행시간: 0.5 ms  <unnamed> 구문분석: select 1"), Read::Unclear);
        assert_eq!(english("Dauer: lang"), Read::Unclear);
        for message in
            ["Dauerhaft: 3", "Ausführen der Datei: nicht", "checkpoint starting: time", "", "Verbindung empfangen"]
        {
            assert_eq!(english(message), Read::Same, "{message}");
        }
    }

    #[test]
    fn quoted_values_are_hidden_in_any_quotes() {
        for (message, expected) in [
            (
                "ungültige Eingabesyntax für Typ integer: »x« bei Zeichen 8",
                "ungültige Eingabesyntax für Typ integer: \"?\" bei Zeichen 8",
            ),
            ("la relation « a » n'existe pas", "la relation \"?\" n'existe pas"),
            ("l'entrée 'x'", "l'entrée \"?\""),
            ("\"integer\"型の入力構文が不正です: \"x\"(8文字目)", "\"?\"(8文字目)"),
            ("offen »x", "offen \"?\""),
        ] {
            assert_eq!(without_quoted(message), expected);
        }
        assert!(is_foreign("Größe") && !is_foreign("relation \"Größe\" does not exist"));
    }
}
