//! The `run.xml` of a Faban run: every parameter as a fact, by its path.
//!
//! Elements that come more than once are distinguished by their `name` attribute or their number.
//! Values of passwords are left out.

use super::xml::{Element, walk};
use crate::{Family, Format, Head, Input, Out, Sure};

/// Importer for run.xml of Faban.
pub static FORMAT: Format = Format {
    name: "faban-run",
    summary: "run.xml of Faban: the parameters of a run",
    family: Family::Load,
    tables: &[],
    example: r#"<?xml version="1.0" encoding="UTF-8"?>
<bench>
  <fa:runConfig definition="sample.Driver" xmlns:fa="http://faban.sunsource.net/ns/faban">
    <fa:scale>10</fa:scale>
  </fa:runConfig>
</bench>
"#,
    sniff,
    read,
};

fn sniff(head: &Head<'_>) -> Sure {
    let xml = head.first().starts_with('<');
    Sure::Certain.when(xml && head.text.contains("runConfig") && head.text.contains("/ns/faban"))
}

fn read(input: &mut Input<'_>, out: &mut Out<'_>) {
    walk(input, out, |open, out| {
        let Some((element, parents)) = open.split_last() else { return };
        let named = element.attributes.iter().filter(|(name, _)| name != "name" && name != "xmlns" && !name.is_empty());
        let path = path(open);
        for (name, value) in named.filter(|(_, value)| !value.contains("://")) {
            out.fact("faban run", &format!("{path}@{name}"), value);
        }
        if element.children.is_empty() && !element.text().is_empty() && !parents.is_empty() {
            let secret = ["password", "passwd", "secret"].iter().any(|word| element.name.to_lowercase().contains(word));
            out.fact("faban run", &path, if secret { "(left out)" } else { element.text() });
        }
    });
}

/// The names from the root's child on, with what distinguishes equal ones.
fn path(open: &[Element]) -> String {
    let mut path = String::new();
    for pair in open.windows(2) {
        let [parent, element] = pair else { continue };
        if !path.is_empty() {
            path.push('/');
        }
        path += &element.name;
        let name = element.attribute("name");
        let nth = parent.children.iter().filter(|child| child.name == element.name).count() + 1;
        if !name.is_empty() {
            path += &format!("[{name}]");
        } else if nth > 1 {
            path += &format!("[{nth}]");
        }
    }
    path
}
