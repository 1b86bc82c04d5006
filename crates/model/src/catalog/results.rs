//! Results of a load generator or a benchmark, and anything numeric without its own table.

table! {
    /// One reporting interval of a load generator.
    load [generator, operation] is (Result, Series, Lasting) {
        /// Load generator, and which of several.
        generator: label(),
        /// Kind of operation; NULL for all together.
        operation: label(),
        /// Connections, threads or users that generate load.
        clients: gauge(Count, Neither),
        /// Offered rate in transactions per second; NULL in a closed loop.
        offered_per_s: rate(PerS, Neither),
        /// Transactions completed per second.
        transactions_per_s: rate(PerS, Higher),
        /// Statements or requests completed per second.
        requests_per_s: rate(PerS, Higher),
        /// Reads per second.
        reads_per_s: rate(PerS, Neither),
        /// Writes per second.
        writes_per_s: rate(PerS, Neither),
        /// Other statements per second.
        others_per_s: rate(PerS, Neither),
        /// Errors per second.
        errors_per_s: rate(PerS, Lower),
        /// Retries per second.
        retries_per_s: rate(PerS, Lower),
        /// Reconnections per second.
        reconnects_per_s: rate(PerS, Lower),
        /// Bytes moved per second.
        transfer_bytes_per_s: rate(BytesPerS, Higher),
        /// Mean latency.
        latency_mean_ms: gauge(Milliseconds, Lower).mean_of("transactions_per_s"),
        /// Standard deviation of the latency.
        latency_sd_ms: gauge(Milliseconds, Lower),
        /// Minimum latency.
        latency_min_ms: gauge(Milliseconds, Lower).minimum(),
        /// Median latency.
        latency_p50_ms: gauge(Milliseconds, Lower).percentile(),
        /// 90th percentile of the latency.
        latency_p90_ms: gauge(Milliseconds, Lower).percentile(),
        /// 95th percentile of the latency.
        latency_p95_ms: gauge(Milliseconds, Lower).percentile(),
        /// 99th percentile of the latency.
        latency_p99_ms: gauge(Milliseconds, Lower).percentile(),
        /// 99.9th percentile of the latency.
        latency_p999_ms: gauge(Milliseconds, Lower).percentile(),
        /// Maximum latency.
        latency_max_ms: gauge(Milliseconds, Lower).maximum(),
        /// Mean lag of transactions behind their intended start.
        lag_ms: gauge(Milliseconds, Lower).mean_of("transactions_per_s"),
        /// Transactions queued, waiting to start.
        queue_length: gauge(Count, Lower),
    }
}

table! {
    /// One bucket of a histogram. Histograms merge by adding counts; percentiles are never averaged.
    histogram [name, labels, lo, hi] is (Result, Distribution, Passing) {
        /// Measured quantity, with its unit.
        name: label(),
        /// Further labels, `key=value` separated by commas.
        labels: label(),
        /// Lower bound of the bucket, inclusive.
        lo: gauge(None, Neither).as_key(),
        /// Upper bound of the bucket, exclusive; NULL for no bound.
        hi: gauge(None, Neither).as_key(),
        /// Unit of the bounds.
        unit: label(),
        /// Number of values in the bucket.
        count: count(Neither),
    }
}

table! {
    /// Numbers without their own table: from CSV, .xan, Prometheus text and the like.
    metric [name, labels] is (Facts, Series, Lasting) {
        /// Name of the metric.
        name: label(),
        /// Further labels, `key=value` separated by commas.
        labels: label(),
        /// Value of the metric.
        value: gauge(None, Neither),
        /// Unit of the value.
        unit: label(),
    }
}

table! {
    /// Results of the run, one number each: throughput, p95, elapsed time and so on.
    result [name] is (Result, Facts, Lasting) {
        /// Name of the result.
        name: label(),
        /// Value of the result.
        value: gauge(None, Neither),
        /// Unit of the value.
        unit: label(),
        /// Better direction: `higher`, `lower` or `neither`.
        better: label(),
        /// Command, tool or phase of the run that it comes from.
        source: label(),
    }
}
