//! Enums whose variants are words that people write and read.

/// Declares an enum with a word for each variant: `ALL` and `WORDS` in order, `word`, `parse`, and [`std::fmt::Display`].
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// All of them, in order.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// Their words, in the same order.
            pub const WORDS: &[&str] = &[$($word),+];

            /// Its word.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// Variant whose word is `text`; None for any other text.
            pub fn parse(text: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|v| v.word() == text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}
