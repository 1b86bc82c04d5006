//! The page around the payload.

use crate::{ReportError, payload::Payload};

const SCRIPT: &str = include_str!("../../../web/dist/app.js");
const STYLE: &str = include_str!("../../../web/dist/app.css");

/// Nothing may be loaded, from anywhere; what is embedded may run.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

/// The whole file.
pub(crate) fn page(payload: &Payload) -> Result<Vec<u8>, ReportError> {
    let json = embeddable(&serde_json::to_string(payload)?);
    let title = escaped(&payload.title);
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{SCRIPT, STYLE, embeddable};

    #[test]
    fn the_bundle_cannot_end_its_own_element() {
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
        assert!(!STYLE.contains("</style"));
    }

    #[test]
    fn markup_in_strings_means_the_same_and_looks_like_none() {
        let json = serde_json::to_string("</script><!-- & \u{2028}").unwrap();
        let safe = embeddable(&json);
        assert!(!safe.contains('<'));
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!-- & \u{2028}");
    }
}
