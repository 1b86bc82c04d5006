//! The shipped questions: each is one file in `questions/` and one line here.

macro_rules! shipped {
    ($($name:literal,)+) => {
        /// Name and text of every shipped question.
        pub const SHIPPED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../questions/", $name, ".sql")))),+];
    };
}

shipped! {
    "cpu-time",
}
