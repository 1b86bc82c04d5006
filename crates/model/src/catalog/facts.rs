//! Facts in words: what the system was, what happened, what could not be read.

table! {
    /// A fact in words: kernel, mount options, a sysctl, a file's content. One row per item and time of reading.
    text [topic, name] {
        /// Group of facts: `kernel`, `cpu`, `mount`, `sysctl` and so on.
        topic: label(),
        /// Name of the fact within its group.
        name: label(),
        /// `start` or `end` of the run, or NULL where only one reading was made.
        phase: label(),
        /// The fact itself.
        value: text(),
    }
}

table! {
    /// Something that happened at a moment.
    event [kind] {
        /// Kind: `mark`, `counter reset`, `missed tick`, `clock step`, `fact changed`, `appeared`, `gone`, `log` and so on.
        kind: label(),
        /// What it happened to: a device, a source, a fact.
        subject: label(),
        /// What happened, in words.
        message: text(),
    }
}

table! {
    /// Something that could not be read; nothing is dropped silently.
    note [source, file] {
        /// Collector or importer that noted it.
        source: label(),
        /// File it was reading.
        file: label(),
        /// Line in the file, from 1; NULL where there is none.
        line: id(),
        /// What could not be read, and why.
        message: text(),
    }
}
