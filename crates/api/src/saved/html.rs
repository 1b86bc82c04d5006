//! Self-contained HTML file of a page: shell, answers, and the front end.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

const SCRIPT: &str = include_str!("../../../../web/dist/app.js");
const STYLE: &str = include_str!("../../../../web/dist/app.css");

/// What is embedded beside the program; `web/src/api.ts` reads it.
#[derive(Debug, Serialize)]
pub(crate) struct Embedded {
    pub version: u32,
    pub title: String,
    pub generator: String,
    /// The page's address within a server.
    pub page: String,
    /// Answers by the canonical text of their request.
    pub answers: Map<String, Value>,
}

/// Nothing may be loaded, from anywhere; only the program that was put here may run.
fn policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'"
    )
}

/// The whole file.
pub(crate) fn file(embedded: &Embedded) -> Result<Vec<u8>, serde_json::Error> {
    let json = embeddable(&serde_json::to_string(embedded)?);
    let (title, policy) = (escaped(&embedded.title), policy());
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <div id=\"fenxi\"><noscript>This report is drawn by a script inside this file; scripts are switched off.\
         </noscript></div>\n\
         <script type=\"application/json\" id=\"fenxi-data\">{json}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
    .into_bytes())
}

/// JSON that no HTML parser can take for markup: `<` stands only within strings, where `\u003c` means the same.
fn embeddable(json: &str) -> String {
    json.replace('<', "\\u003c")
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Embedded, SCRIPT, STYLE, embeddable, file};
    use serde_json::Map;

    #[test]
    fn the_bundle_cannot_end_its_own_element() {
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("</style"));
    }

    #[test]
    fn a_page_carries_the_notices_of_what_it_is_made_of() {
        let embedded = Embedded {
            version: 1,
            title: String::new(),
            generator: String::new(),
            page: String::new(),
            answers: Map::new(),
        };
        let page = String::from_utf8(file(&embedded).unwrap()).unwrap();
        for notice in ["Copyright (c) 2015-present Jason Miller", "Leon Sorokin", "Permission is hereby granted"] {
            assert!(page.contains(notice), "{notice}");
        }
    }

    #[test]
    fn markup_in_strings_means_the_same_and_looks_like_none() {
        let json = serde_json::to_string("</script><!-- & \u{2028}").unwrap();
        let safe = embeddable(&json);
        assert!(!safe.contains('<'));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!-- & \u{2028}");
    }
}
