//! The log of a PostgreSQL server: as text with any usual `log_line_prefix`, in a system log or that of a
//! cloud, `csvlog` and `jsonlog`.
//!
//! Durations of statements are added up by digest over the whole log. A server logs those above `log_min_duration_statement`,
//! so that rates and means are of the statements logged, not of all. Of the extended protocol, `execute` is the execution;
//! the times of `parse` and `bind`, and of further fetches, are separate metrics. Plans of auto_explain repeat executions:
//! their durations count only in logs that have no others. Values of statements are hidden. Of logs in another language
//! (`lc_messages`) severities, statements, durations, temporary files and deadlocks are read; other messages are kept in their
//! own words, without what they quote.

mod chunks;
mod line;
mod message;
mod records;
mod words;

use fenxi_model::{
    Micros,
    catalog::{db, db_plan, db_statement, histogram},
};
use jiff::civil::DateTime;
use message::Log;

use crate::{Clock, Family, Format, Head, Input, Out, Sure, zone_named};

/// Importer for log of a PostgreSQL server.
pub static FORMAT: Format = Format {
    name: "postgresql-log",
    summary: "log of a PostgreSQL server: stderr with a prefix, syslog, csvlog, jsonlog, CloudNativePG, Cloud SQL",
    family: Family::Database,
    tables: &[&db::TABLE, &db_statement::TABLE, &db_plan::TABLE, &histogram::TABLE],
    example: "\
2026-11-23 04:23:02.460 UTC [4711] LOG:  duration: 50.596 ms  statement: select pg_sleep(0.05);
2026-11-23 04:23:02.471 UTC [4711] ERROR:  division by zero
2026-11-23 04:23:02.471 UTC [4711] STATEMENT:  select 1/0;
",
    sniff,
    read,
};

/// One report of the server.
#[derive(Clone, Debug, Default)]
struct Entry {
    line: u64,
    t: Option<Micros>,
    pid: Option<i64>,
    user: String,
    database: String,
    severity: String,
    /// Whether the severity was in another language.
    foreign: bool,
    sqlstate: String,
    message: String,
    detail: String,
    statement: String,
}

fn sniff(head: &Head<'_>) -> Sure {
    let first = head.first();
    if records::is_csv(first) || records::is_json(first) || is_within(head) || chunks::within(head).is_some() {
        return Sure::Certain;
    }
    // Text may begin with what another program wrote. Errors alone could be of another program, whose lines look alike.
    head.lines().take(60).filter_map(line::line).map(|line| line.sure()).max().unwrap_or(Sure::No)
}

fn is_within(head: &Head<'_>) -> bool {
    head.first().starts_with('{') && head.any(records::is_within)
}

/// Parses the times of lines, each followed by its zone.
struct Times {
    clock: Clock,
    zone: String,
}

impl Times {
    fn moment(&mut self, when: DateTime, zone: &str, out: &mut Out<'_>) -> Micros {
        if !zone.is_empty() && zone != self.zone {
            self.clock.set_zone(zone_named(zone, out));
            zone.clone_into(&mut self.zone);
        }
        self.clock.moment(when)
    }
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    let mut times = Times { clock: Clock::new(out.hints()), zone: String::new() };
    let mut log = Log::new();
    let head = input.head();
    let head_of = Head { text: &head };
    let first = head_of.first();
    let (csv, json) = (records::is_csv(first), records::is_json(first) || is_within(&head_of));
    let within = if csv || json { None } else { chunks::within(&head_of) };
    drop(head);
    if csv {
        records::read_csv(input, &mut times, &mut log, out);
    } else if json {
        records::read_json(input, &mut times, &mut log, out);
    } else if let Some(within) = within {
        chunks::read(within, input, &mut times, &mut log, out);
    } else {
        line::read(input, &mut times, &mut log, out);
    }
    log.end(out);
}

#[cfg(test)]
mod tests {
    use super::FORMAT;
    use crate::fixtures::read;

    #[test]
    fn forms_of_one_log_give_the_same_statements() {
        let folder = std::path::Path::new("fixtures/postgresql-log");
        let rows = |name: &str| {
            let read = read(&FORMAT, &fs_err::read(folder.join(name)).unwrap());
            let part = |table: &str| {
                let from = read.text.split(&format!("# {table}\n")).nth(1).unwrap().to_owned();
                let text = from.split("\n# ").next().unwrap().to_owned();
                // Text with this prefix names neither user nor database.
                let of = |line: &str| line.split('\t').filter(|cell| cell.parse::<f64>().is_ok()).count();
                (text.lines().count(), text.lines().map(of).sum::<usize>())
            };
            (part("histogram"), part("event").0)
        };
        assert_eq!(rows("csvlog.csv"), rows("jsonlog.json"));
        assert_eq!(rows("csvlog.csv"), rows("milliseconds.log"));
    }

    #[test]
    fn records_in_quotes_are_read() {
        let text = "\"2026-11-23 04:23:02.460 UTC\",\"app\",\"shop\",4711,\"192.0.2.10:54321\",00000001.000003e9,1,\"SELECT\",\
                    \"2026-11-23 04:00:00 UTC\",1/1,0,LOG,00000,\"duration: 20.000 ms  statement: select 1\",,,,,,,,,\"app\",\"client backend\",0\n";
        assert_eq!(crate::detect(&crate::Head { text }).map(|f| f.name), Some("postgresql-log"));
        let read = read(&FORMAT, text.as_bytes());
        assert!(read.text.contains("select ?") && read.tally.notes == 0, "{}", read.text);
    }

    #[test]
    fn records_within_json_of_cloudnativepg_are_read() {
        let record = |message: &str| {
            format!(
                "{{\"level\":\"info\",\"ts\":\"2026-11-23T04:23:02Z\",\"logger\":\"postgres\",\"msg\":\"record\",\"logging_pod\":\"shop-1\",\"record\":{{\"log_time\":\"2026-11-23 04:23:02.460 UTC\",\"user_name\":\"app\",\"database_name\":\"shop\",\"process_id\":\"4711\",\"session_id\":\"6b03bfa5.73ef\",\"error_severity\":\"LOG\",\"sql_state_code\":\"00000\",\"message\":\"{message}\",\"backend_type\":\"client backend\"}}}}\n"
            )
        };
        let text = "{\"level\":\"info\",\"ts\":\"2026-11-23T04:23:01Z\",\"logger\":\"instance-manager\",\"msg\":\"Starting\"}\n".to_owned()
            + &record("duration: 20.000 ms  statement: select 1")
            + &record("duration: 40.000 ms  statement: select 1");
        assert_eq!(crate::detect(&crate::Head { text: &text }).map(|f| f.name), Some("postgresql-log"));
        let read = read(&FORMAT, text.as_bytes());
        assert!(read.text.contains("# db_statement") && read.text.contains("select ?"), "{}", read.text);
        assert!(read.text.contains("Starting") && read.text.contains("\tshop\t"), "{}", read.text);
        assert_eq!(read.tally.notes, 0, "{}", read.text);
    }

    #[test]
    fn one_work_in_other_languages_gives_the_same_calls_and_errors() {
        let folder = std::path::Path::new("fixtures/postgresql-log");
        let counts = |language: &str| {
            let read = read(&FORMAT, &fs_err::read(folder.join(format!("{language}.log"))).unwrap());
            assert_eq!(read.tally.notes, 0, "{}", read.text);
            let calls = |line: &str| {
                let (_, rest) = line.split_once("postgresql-log.calls\t")?;
                Some(rest.to_owned())
            };
            let calls: Vec<_> = read.text.lines().filter_map(calls).collect();
            let errors = read.text.lines().filter(|line| line.contains("\terror\t")).count();
            (calls, errors, read.text.matches("\tdeadlock\t").count())
        };
        let german = counts("de");
        assert_eq!((german.0.len(), german.1, german.2), (19, 4, 1));
        for language in ["fr", "es", "ja", "ru", "zh-cn"] {
            assert_eq!(counts(language), german, "{language}");
        }
    }

    #[test]
    fn secrets_of_logs_in_other_languages_are_not_kept() {
        let line = |kind: &str, text: &str| format!("2026-11-23 04:23:02.460 UTC [4711] {kind}:  {text}\n");
        let text = line("FEHLER", "ungültige Eingabesyntax für Typ integer: »secret« bei Zeichen 8")
            + &line("ERRORE", "sintassi di input non valida per tipo integer: \"secret\"")
            + &line("ERREUR", "erreur de syntaxe sur ou près de « secret »")
            + &line("DÉTAIL", "La clé « (a)=(secret) » existe déjà.")
            + &line("INSTRUCTION ", "insert into t values ('secret')")
            + &line("LOG", "Dauer: 5.000 ms  Etwas anderes: select 'secret'");
        let read = read(&FORMAT, text.as_bytes());
        assert!(!read.text.contains("secret"), "{}", read.text);
        assert_eq!(read.tally.notes, 1, "{}", read.text);
        assert!(read.text.contains("a duration in words that are not known"), "{}", read.text);
    }

    #[test]
    fn words_of_severities_alone_are_nobodys() {
        use crate::{Head, Sure};
        for text in [
            "INSTRUCTION :  prendre la première à droite\n",
            "2026-11-23 04:23:02 ANWEISUNG:  bitte lesen\n",
            "2026-11-23 04:23:02 UTC [4711] HINWEIS:  nur ein Hinweis\n",
            "[4711] 文:  なし\n",
        ] {
            assert_eq!((FORMAT.sniff)(&Head { text }), Sure::No, "{text}");
        }
    }

    #[test]
    fn other_prefixes_are_read() {
        for prefix in [
            "2026-11-23 04:23:02 UTC:10.0.0.5(5432):bob@app:[4711]:",
            "2026-11-23 04:23:02 UTC [4711]: [3-1] user=bob,db=app,app=psql,client=[local] ",
            "2026-11-23 05:23:02 CET [4711] bob@app ",
            "user=bob,db=app 2026-11-23 04:23:02 UTC [4711] ",
            "2026-11-23 04:23:02.000 GMT [4711-3] user=bob,db=app ",
        ] {
            let read =
                read(&FORMAT, format!("{prefix}ERROR:  division by zero\n{prefix}STATEMENT:  select 1/0\n").as_bytes());
            assert!(read.text.contains("\tapp\t"), "{prefix}: {}", read.text);
            assert!(read.text.contains("2026-11-23T04:23:02.000000Z"), "{prefix}: {}", read.text);
            assert!(read.text.contains("\tbob\t") && read.text.contains("select ?/?"), "{prefix}: {}", read.text);
        }
    }

    #[test]
    fn no_secret_of_a_statement_is_kept() {
        let prefix = "2026-11-23 04:23:02.460 UTC [4711] ";
        let text = format!(
            "{prefix}ERROR:  syntax error at or near \"secret\" at character 25\n{prefix}STATEMENT:  alter role a password secret\n\
             {prefix}LOG:  duration: 5.000 ms  execute <unnamed>: select $1\n{prefix}DETAIL:  parameters: $1 = 'secret'\n\
             {prefix}LOG:  AUDIT: SESSION,1,1,WRITE,INSERT,TABLE,public.t,\"insert into t values('secret')\",<not logged>\n\
             {prefix}ERROR:  invalid input syntax for type integer: \"secret\"\n\
             {prefix}ERROR:  duplicate key value\n{prefix}DETAIL:  Key (a)=(secret) already exists.\n"
        );
        let read = read(&FORMAT, text.as_bytes());
        assert!(!read.text.contains("secret"), "{}", read.text);
        assert_eq!(read.tally.notes, 0);
    }
}
