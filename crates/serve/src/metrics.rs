//! Prometheus metrics of the server itself.

mod get;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use fenxi_procfs::{Root, USER_HZ, stat};

pub(crate) use get::get;

/// Upper ends of the latency classes in seconds.
const CLASSES: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Counters since the server began.
#[derive(Default)]
pub(crate) struct Metrics {
    endpoints: Mutex<BTreeMap<String, Endpoint>>,
    /// Listeners of live values.
    pub(crate) listeners: AtomicI64,
}

#[derive(Default)]
struct Endpoint {
    by_status: BTreeMap<u16, u64>,
    classes: [u64; CLASSES.len()],
    count: u64,
    sum_s: f64,
}

impl Metrics {
    /// Counts an answer.
    pub(crate) fn answered(&self, endpoint: &str, status: u16, took: Duration) {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if !endpoints.contains_key(endpoint) {
            endpoints.insert(endpoint.to_owned(), Endpoint::default());
        }
        let Some(of) = endpoints.get_mut(endpoint) else { return };
        let took = took.as_secs_f64();
        *of.by_status.entry(status).or_default() += 1;
        of.count += 1;
        of.sum_s += took;
        for (class, end) in of.classes.iter_mut().zip(CLASSES) {
            *class += u64::from(took <= end);
        }
    }

    fn text(
        &self,
        (waiting, busy): (usize, usize),
        engines: usize,
        (open, requests, away): (usize, usize, u64),
    ) -> String {
        let mut out = String::new();
        let endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        head(&mut out, "fenxi_http_requests_total", "counter", "Requests answered");
        for (name, of) in endpoints.iter() {
            for (status, n) in &of.by_status {
                let _ = writeln!(out, "fenxi_http_requests_total{{endpoint=\"{name}\",status=\"{status}\"}} {n}");
            }
        }
        let histogram = "fenxi_http_request_duration_seconds";
        head(&mut out, histogram, "histogram", "Time until the head of the answer");
        for (name, of) in endpoints.iter() {
            for (n, end) in of.classes.iter().zip(CLASSES) {
                let _ = writeln!(out, "{histogram}_bucket{{endpoint=\"{name}\",le=\"{end}\"}} {n}");
            }
            let _ = writeln!(out, "{histogram}_bucket{{endpoint=\"{name}\",le=\"+Inf\"}} {}", of.count);
            let _ = writeln!(out, "{histogram}_sum{{endpoint=\"{name}\"}} {:.6}", of.sum_s);
            let _ = writeln!(out, "{histogram}_count{{endpoint=\"{name}\"}} {}", of.count);
        }
        let listeners = self.listeners.load(Ordering::Relaxed) as f64;
        gauge(&mut out, "fenxi_engines", "Engines there may be", engines as f64);
        gauge(&mut out, "fenxi_engines_busy", "Engines at work", busy as f64);
        gauge(&mut out, "fenxi_queue", "Requests that wait for an engine", waiting as f64);
        gauge(&mut out, "fenxi_live_listeners", "Open streams of live values", listeners);
        gauge(&mut out, "fenxi_connections", "Open connections", open as f64);
        gauge(&mut out, "fenxi_requests", "Requests at work, their answers included", requests as f64);
        let turned_away = "fenxi_turned_away_total";
        head(&mut out, turned_away, "counter", "Connections and requests that were refused or made room for others");
        let _ = writeln!(out, "{turned_away} {away}");
        if let Some((cpu_s, bytes)) = process() {
            head(&mut out, "process_cpu_seconds_total", "counter", "CPU time of the server");
            let _ = writeln!(out, "process_cpu_seconds_total {cpu_s}");
            gauge(&mut out, "process_resident_memory_bytes", "Memory of the server", bytes);
        }
        out
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}.\n# TYPE {name} {kind}");
}

fn gauge(out: &mut String, name: &str, help: &str, value: f64) {
    head(out, name, "gauge", help);
    let _ = writeln!(out, "{name} {value}");
}

/// CPU seconds and resident bytes of this process; None when /proc does not say.
fn process() -> Option<(f64, f64)> {
    let (stat, _) = stat::of_process(&Root::live(), std::process::id())?;
    Some((stat.ticks() as f64 / USER_HZ as f64, stat.rss_bytes as f64))
}

/// Resident bytes of this process; None when /proc does not say.
pub(crate) fn resident_bytes() -> Option<u64> {
    Some(stat::of_process(&Root::live(), std::process::id())?.0.rss_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_latency_add_up() {
        let metrics = Metrics::default();
        metrics.answered("/a", 200, Duration::from_millis(2));
        metrics.answered("/a", 404, Duration::from_secs(40));
        let text = metrics.text((1, 2), 3, (4, 5, 6));
        for line in [
            "fenxi_http_requests_total{endpoint=\"/a\",status=\"404\"} 1",
            "fenxi_http_request_duration_seconds_bucket{endpoint=\"/a\",le=\"0.001\"} 0",
            "fenxi_http_request_duration_seconds_bucket{endpoint=\"/a\",le=\"0.0025\"} 1",
            "fenxi_http_request_duration_seconds_bucket{endpoint=\"/a\",le=\"+Inf\"} 2",
            "fenxi_engines_busy 2",
            "fenxi_queue 1",
            "fenxi_connections 4",
            "fenxi_requests 5",
            "fenxi_turned_away_total 6",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in\n{text}");
        }
        assert!(process().is_some_and(|(cpu_s, bytes)| cpu_s >= 0.0 && bytes > 1e6));
    }
}
