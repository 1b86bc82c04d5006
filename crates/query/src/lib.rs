//! SQL over runs: views, questions; the only crate that knows the engine.
