//! The load: one run of `wrk`, and what it and the system say of it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::servers::Server;

/// How long each turn warms up before it is measured.
const WARM_UP: Duration = Duration::from_secs(1);

/// One load.
pub struct Load<'a> {
    /// `wrk`.
    pub wrk: &'a Path,
    /// Connections at once.
    pub connections: u32,
    /// How long.
    pub time: Duration,
}

/// What one turn came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The median in microseconds.
    pub p50: f64,
    /// What 99 of 100 requests took, in microseconds.
    pub p99: f64,
    /// Requests per second.
    pub per_second: f64,
    /// Processor time of the server for each request, in microseconds.
    pub cpu: f64,
}

impl Load<'_> {
    /// Warms `server` up, then measures it.
    ///
    /// # Errors
    /// What `wrk` said when it did not run, or when an answer was not a success.
    pub fn on(&self, server: &Server) -> Result<Sample, String> {
        self.wrk(server, WARM_UP)?;
        let before = server.processor_time()?;
        let said = self.wrk(server, self.time)?;
        let used = server.processor_time()?.saturating_sub(before);
        let said = Said::parse(&said).map_err(|missing| format!("wrk did not tell {missing}: {said}"))?;
        let cpu = used.as_secs_f64() * 1e6 / said.requests;
        Ok(Sample { p50: said.p50, p99: said.p99, per_second: said.per_second, cpu })
    }

    fn wrk(&self, server: &Server, time: Duration) -> Result<String, String> {
        let mut command = Command::new(self.wrk);
        command.args(["--threads", "1", "--latency", "--connections", &self.connections.to_string()]);
        command.args(["--duration", &format!("{}s", time.as_secs().max(1)), &server.url]);
        let output = command.output().map_err(|error| format!("cannot start {}: {error}", self.wrk.display()))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let wrong = ["Non-2xx", "Socket errors"].iter().any(|words| said.contains(words));
        if !output.status.success() || wrong {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} under {} connections: {said}{error}", server.name, self.connections));
        }
        Ok(said)
    }
}

/// The figures in what `wrk` prints.
#[derive(Debug, PartialEq)]
struct Said {
    p50: f64,
    p99: f64,
    requests: f64,
    per_second: f64,
}

impl Said {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let after = |word: &str| text.lines().find_map(|line| line.trim().strip_prefix(word).map(str::trim));
        let latency = |word: &'static str| after(word).and_then(micros).ok_or(word);
        let requests = text.lines().find_map(|line| line.trim().split_once(" requests in ")).map(|(count, _)| count);
        Ok(Self {
            p50: latency("50%")?,
            p99: latency("99%")?,
            requests: requests.and_then(|count| count.parse().ok()).ok_or("requests in")?,
            per_second: after("Requests/sec:").and_then(|rate| rate.parse().ok()).ok_or("Requests/sec:")?,
        })
    }
}

/// Microseconds of a time as `wrk` writes it: `12.00us`, `1.50ms`, `2.00s`, `1.10m`.
fn micros(text: &str) -> Option<f64> {
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("m", 6e7)];
    units.into_iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * factor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_report_are_read() {
        let text = "Running 2s test @ http://127.0.0.1:1/\n  1 threads and 8 connections\n  Thread Stats   Avg  Stdev\n    \
                    Latency   146.65us   63.29us   2.40ms   88.05%\n  Latency Distribution\n     50%  137.00us\n     \
                    75%  165.00us\n     90%  201.00us\n     99%    1.25ms\n  107104 requests in 2.10s, 11.85MB read\n\
                    Requests/sec:  51004.32\nTransfer/sec:      5.64MB\n";
        let said = Said::parse(text).unwrap();
        assert_eq!(said, Said { p50: 137.0, p99: 1250.0, requests: 107_104.0, per_second: 51_004.32 });
        assert_eq!(Said::parse("50% 1.00us"), Err("99%"));
    }

    #[test]
    fn times_have_four_units() {
        for (text, expected) in [("12.00us", 12.0), ("1.50ms", 1500.0), ("2.00s", 2e6), ("1.00m", 6e7)] {
            assert_eq!(micros(text), Some(expected), "{text}");
        }
        assert_eq!(micros("12"), None);
    }
}
