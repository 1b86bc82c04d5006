//! Runs on disk: open, append, seal, recover, verify, labels, selectors.
