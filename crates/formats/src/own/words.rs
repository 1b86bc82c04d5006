//! Meanings of words in lines that code reads: `[words]` of a description, in the language of tables below headers.
//!
//! Groups of words (`[words.disk]`) are what the reader makes of them: a section, the line above the titles, a file's prefix.

use toml::{Spanned, de::DeValue};

use super::{
    document::{Keys, Said, Source, Wrong},
    goal::Goal,
    report,
};

/// A word that a title can be.
#[derive(Debug)]
pub(crate) struct Word {
    /// The group that it is of; empty where there are none.
    pub(crate) group: String,
    pub(crate) word: String,
    pub(crate) goal: Goal,
}

/// All words of a format, in the order of the file: one that comes again in a line of titles is there again.
#[derive(Debug, Default)]
pub(crate) struct Words(Vec<Word>);

impl Words {
    /// The words of a shipped file. It is right, as a test checks; of a wrong one there are none.
    pub(crate) fn shipped(text: &'static str) -> Words {
        Words::of(text).unwrap_or_default()
    }

    /// The words of a file that has nothing else.
    fn of(text: &str) -> Result<Words, Wrong> {
        let source = Source { file: "", text };
        let document = source.parse()?;
        Words::read(&Keys::new(source, document.get_ref(), 0, "a file of words", &["words"])?)
    }

    /// Reads `[words]`, if it is there.
    pub(super) fn read(top: &Keys<'_, '_>) -> Result<Words, Wrong> {
        let Some(keys) = top.table("words", "[words]", &[])? else { return Ok(Words::default()) };
        let mut words: Vec<(usize, Word)> = Vec::new();
        for (key, value) in keys.all() {
            match value.get_ref().as_table() {
                Some(table) => {
                    let of = Keys::new(top.source, table, value.span().start, "[words]", &[])?;
                    for (word, value) in of.all() {
                        add(&of, key.text, word, value, &mut words)?;
                    }
                }
                None => add(&keys, "", key, value, &mut words)?,
            }
        }
        words.sort_by_key(|(at, _)| *at);
        Ok(Words(words.into_iter().map(|(_, word)| word).collect()))
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Word> {
        self.0.iter()
    }

    /// Meaning of a word of a group.
    pub(crate) fn find(&self, group: &str, word: &str) -> Option<&Goal> {
        self.0.iter().find(|known| known.group == group && known.word == word).map(|known| &known.goal)
    }
}

fn add(
    keys: &Keys<'_, '_>,
    group: &str,
    word: Said<'_>,
    value: &Spanned<DeValue<'_>>,
    words: &mut Vec<(usize, Word)>,
) -> Result<(), Wrong> {
    for said in report::said(keys, word, value)? {
        let wrong = |why| keys.source.wrong(said.at, format!("`{}`: {why}", word.text));
        let goal = Goal::read(said.text).map_err(wrong)?;
        words.push((said.at, Word { group: group.to_owned(), word: word.text.to_owned(), goal }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of words beside descriptions.
    fn files() -> Vec<std::path::PathBuf> {
        let folders = fs_err::read_dir("../../formats").unwrap().map(|folder| folder.unwrap().path());
        let files = folders.flat_map(|folder| fs_err::read_dir(folder).unwrap().map(|file| file.unwrap().path()));
        let is_format = |text: String| text.lines().any(|line| line.starts_with("summary = ") || line == "[[section]]");
        files.filter(|file| !is_format(fs_err::read_to_string(file).unwrap())).collect()
    }

    #[test]
    fn every_shipped_word_is_right() {
        for file in files() {
            let text = fs_err::read_to_string(&file).unwrap();
            if let Err(wrong) = Words::of(&text) {
                panic!("{}{wrong}", file.display());
            }
        }
    }
}
