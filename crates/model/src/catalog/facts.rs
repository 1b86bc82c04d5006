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
        /// Kind: `mark`, `counter reset`, `missed tick`, `clock step`, `fact changed`, `appeared`, `gone`, `log`, `host lost`, `host back` and so on.
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
    /// Of a host that is recorded from another one: its clock against the recorder's, and the link to its agent. All rows of the run are stamped by the recorder's clock.
    agent [] is (Facts, Series, Lasting) {
        /// Offset of this host's wall clock from the recorder's; a host whose clock is ahead has a positive one. Stamps of the run are corrected by it; the host's own logs are not.
        clock_offset_s: gauge(Seconds, Neither),
        /// Uncertainty of the stamps of this host's rows: half of the shortest round trip, and what the clocks may have drifted since. Moments of two hosts that are closer than both uncertainties have no known order.
        clock_uncertainty_s: gauge(Seconds, Lower),
        /// Drift of this host's monotonic clock against the recorder's.
        clock_drift_s_per_s: gauge(SecondsPerS, Neither),
        /// Round trip of a message over the link, the shortest of the last ones.
        round_trip_s: gauge(Seconds, Lower),
        /// Bytes sent over the link per second, compressed.
        sent_bytes_per_s: rate(BytesPerS, Lower),
        /// Samples that wait for the link at the end of the interval. The agent keeps them in memory, then on its disk.
        waiting: gauge(Count, Lower),
        /// Samples that were dropped, as too many waited.
        dropped: count(Lower),
        /// CPU time that the agent used, in percent of one CPU.
        cpu_pct: percent(Lower).beyond_100(),
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
