//! Facts in words: what the system was, what happened, what could not be read.

table! {
    /// System facts as text: kernel, mount options, sysctls, file contents. One row per fact and reading.
    text [topic, name] is (Facts, Facts, Lasting) {
        /// Group of facts: `kernel`, `cpu`, `mount`, `sysctl` and so on.
        topic: label(),
        /// Name of the fact within its group.
        name: label(),
        /// `start` or `end` of the run, or NULL if read only once.
        phase: label(),
        /// Value of the fact.
        value: text(),
    }
}

table! {
    /// An event at one point in time.
    event [kind] is (Facts, Events, Lasting) {
        /// Kind: `mark`, `counter reset`, `missed tick`, `clock step`, `fact changed`, `appeared`, `gone`, `log` and so on.
        kind: label(),
        /// Subject of the event: a device, a source, a fact, the program that logged a line.
        subject: label(),
        /// How urgent a line of a log is: `emerg`, `alert`, `crit`, `err`, `warning`, `notice`, `info`, `debug`; NULL if unknown.
        priority: label(),
        /// Description of the event.
        message: text(),
    }
}

table! {
    /// Something that could not be read; nothing is dropped silently.
    note [source, file] is (Facts, Facts, Lasting) {
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
