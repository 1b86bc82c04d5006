//! Licence texts, each kept once. Most packages carry one of three texts under a line with its owner:
//! that line stays with the package, and the text is shared.

use std::collections::BTreeMap;

/// The texts, in the order in which they came, and where each is found by its content.
#[derive(Default)]
pub struct Texts {
    pub all: Vec<String>,
    places: BTreeMap<String, usize>,
}

/// A file taken apart.
#[derive(Debug, PartialEq)]
pub struct Notice {
    /// Lines that belong to the package: copyright, mostly.
    pub head: Vec<String>,
    /// The shared text.
    pub body: String,
}

/// How the MIT licence begins, and how it does so in whatever lines.
const GRANT: &str = "Permission is hereby granted";
const MIT: &str = "permissionisherebygrantedfreeofchargetoanypersonobtainingacopyofthissoftware";
const APACHE_END: &str = "END OF TERMS AND CONDITIONS";
const APPENDIX_END: &str = "limitations under the License.";

/// Licences that nothing here is used under: where a package offers one, it offers another as well (`cargo deny` holds
/// that), and those few that are needed are named in `bundled.toml`.
const OTHERS: [&str; 6] = [
    "validlicenseidentifierlgpl21",
    "gnugeneralpubliclicense",
    "gnulessergeneralpubliclicense",
    "gnulibrarygeneralpubliclicense",
    "thislicenseappliestotheeureadelf1manpage",
    "gnufreedocumentationlicense",
];

impl Texts {
    /// The number of the text, from 1; it is kept when there is none like it.
    pub fn number(&mut self, body: &str) -> usize {
        let all = &mut self.all;
        let place = self.places.entry(spoken(body)).or_insert_with(|| {
            all.push(body.to_owned());
            all.len()
        });
        *place
    }
}

/// Whether the text is of a licence that is not chosen.
pub fn is_other(text: &str) -> bool {
    let spoken = spoken(text);
    OTHERS.iter().any(|other| spoken.starts_with(other)) || spoken.contains("llvmexceptionstotheapache20license")
}

/// A file's notices: usually one.
pub fn notices(text: &str) -> Vec<Notice> {
    let text = text.replace("\r\n", "\n").replace('\t', "    ");
    if let Some(found) = apache(&text) {
        return found;
    }
    if let Some(at) = text.find(GRANT)
        && at < 1500
        && text.len() - at < 1500
        && spoken(&text[at..]).starts_with(MIT)
    {
        return vec![Notice { head: said(&text[..at]), body: text[at..].trim_end().to_owned() }];
    }
    vec![Notice { head: Vec::new(), body: text.trim_matches('\n').trim_end().to_owned() }]
}

/// The Apache licence, without its appendix on how to use it, and what follows it.
fn apache(text: &str) -> Option<Vec<Notice>> {
    let start = text.find("Apache License")?;
    let (body, tail) = text.split_once(APACHE_END)?;
    if !spoken(&text[..start]).is_empty() || !text[start..].contains("Version 2.0, January 2004") {
        return None;
    }
    let (appendix, rest) = match tail.find(APPENDIX_END) {
        Some(at) => tail.split_at(at + APPENDIX_END.len()),
        None => ("", tail),
    };
    let filled =
        |line: &&str| line.trim_start().starts_with("Copyright") && line.contains(|c: char| c.is_ascii_digit());
    let head = appendix.lines().filter(filled).map(|line| line.trim().to_owned()).collect();
    let mut found = vec![Notice { head, body: format!("{}\n\n   {APACHE_END}", body.trim_matches('\n').trim_end()) }];
    if !spoken(rest).is_empty() {
        found.extend(notices(rest));
    }
    Some(found)
}

/// The lines that say something: not the licence's name, which the list gives.
fn said(head: &str) -> Vec<String> {
    const NAMES: [&str; 8] =
        ["mitlicense", "themitlicense", "themitlicensemit", "mitlicensemit", "license", "mit", "licensemit", "expat"];
    let lines = head.lines().map(|line| line.trim().trim_matches(['*', '#', '=', '-']).trim());
    lines.filter(|line| !line.is_empty() && !NAMES.contains(&spoken(line).as_str())).map(str::to_owned).collect()
}

/// A text's letters and digits in lower case, whatever its line breaks and signs.
fn spoken(text: &str) -> String {
    let text = text.replace("https://", "http://").replace("apache.org/licenses/LICENSE-2.0", "apache.org/licenses/");
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copyright_line_stays_with_the_package_and_the_text_is_shared() {
        let mut texts = Texts::default();
        let one = notices(
            "MIT License\n\nCopyright (c) A\n\nPermission is hereby granted, free of charge, to any\nperson obtaining a copy of this software.\n",
        );
        let two = notices(
            "Copyright (c) B\r\n\r\nPermission is hereby granted, free of charge, to any person obtaining a copy\r\nof this software",
        );
        assert_eq!(
            (one[0].head.as_slice(), two[0].head.as_slice()),
            (&["Copyright (c) A".to_owned()][..], &["Copyright (c) B".to_owned()][..])
        );
        assert_eq!(texts.number(&one[0].body), texts.number(&two[0].body));
        assert_eq!(texts.all.len(), 1);
    }

    #[test]
    fn what_follows_the_apache_licence_is_a_notice_of_its_own() {
        let licence = "Apache License\nVersion 2.0, January 2004\nterms\nEND OF TERMS AND CONDITIONS\n";
        let appendix = "APPENDIX: how to\nCopyright 2020 Somebody\nlimitations under the License.\n";
        let found = notices(&format!("{licence}{appendix}\nThis product contains more.\n"));
        assert_eq!(found[0].head, ["Copyright 2020 Somebody"]);
        assert_eq!(found[1].body, "This product contains more.");
        assert_eq!(notices(&format!("{licence}{appendix}")).len(), 1);
    }

    #[test]
    fn an_unfilled_copyright_line_is_nobodys() {
        let found = notices(
            "Apache License\nVersion 2.0, January 2004\nEND OF TERMS AND CONDITIONS\nAPPENDIX\n\
             Copyright [yyyy] [name of copyright owner]\nlimitations under the License.",
        );
        assert!(found[0].head.is_empty());
    }
}
