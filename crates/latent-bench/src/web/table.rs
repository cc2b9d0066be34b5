//! The table and its verdicts. Invariant: nothing is printed that was not measured in one run.

use std::fmt;

use super::load::Sample;
use super::servers::Server;

/// The head of the table.
pub const HEAD: &str = "| component | connections | server | p50 µs | p99 µs | requests/s (least – most) | \
                        CPU µs/request | peak RSS MiB |\n|---|---|---|---|---|---|---|---|";

/// One server under one load: the medians of its turns.
pub struct Row {
    component: String,
    connections: u32,
    server: &'static str,
    median: Sample,
    least: f64,
    most: f64,
    peak_bytes: u64,
}

impl Row {
    /// Of the turns of `server`, at least one.
    ///
    /// # Errors
    /// When the server is gone.
    pub fn of(component: &str, server: &Server, connections: u32, samples: &[Sample]) -> Result<Self, String> {
        let of = |figure: fn(&Sample) -> f64| sorted(samples, figure);
        let rates = of(|sample| sample.per_second);
        let median = Sample {
            p50: middle(&of(|sample| sample.p50)),
            p99: middle(&of(|sample| sample.p99)),
            per_second: middle(&rates),
            cpu: middle(&of(|sample| sample.cpu)),
        };
        let (least, most) = (rates.first().copied(), rates.last().copied());
        Ok(Self {
            component: component.to_owned(),
            connections,
            server: server.name,
            median,
            least: least.unwrap_or_default(),
            most: most.unwrap_or_default(),
            peak_bytes: server.peak_resident_bytes()?,
        })
    }
}

fn sorted(samples: &[Sample], figure: fn(&Sample) -> f64) -> Vec<f64> {
    let mut figures: Vec<f64> = samples.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures
}

fn middle(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

impl fmt::Display for Row {
    #[expect(clippy::cast_precision_loss, reason = "a benchmark's figures need no more than 52 bits")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { component, connections, server, median, least, most, peak_bytes } = self;
        write!(
            f,
            "| {component} | {connections} | {server} | {:.0} | {:.0} | {:.0} ({least:.0} – {most:.0}) | {:.1} | {:.1} |",
            median.p50,
            median.p99,
            median.per_second,
            median.cpu,
            *peak_bytes as f64 / f64::from(1 << 20),
        )
    }
}

/// Whether one aim was reached.
pub struct Verdict {
    text: String,
    /// It was.
    pub reached: bool,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.text, if self.reached { "reached" } else { "missed" })
    }
}

/// How the node compares with `wasmtime serve` under each load: its throughput, where there is an `aim`, its p99 and its
/// peak of memory.
pub fn verdicts(component: &str, rows: &[Row], aim: Option<f64>) -> Vec<Verdict> {
    let of = |name: &'static str| rows.iter().filter(move |row| row.server == name);
    of("latent").zip(of("wasmtime serve")).flat_map(|(ours, theirs)| against(component, ours, theirs, aim)).collect()
}

fn against(component: &str, ours: &Row, theirs: &Row, aim: Option<f64>) -> Vec<Verdict> {
    let at = format!("{component}, {} connections", ours.connections);
    let factor = ours.median.per_second / theirs.median.per_second;
    let mut verdicts = Vec::new();
    if let Some(aim) = aim {
        let text = format!("{at}: {factor:.2} × the requests/s of wasmtime serve, aim {aim:.1}");
        verdicts.push(Verdict { text, reached: factor >= aim });
    }
    let (p99, their_p99) = (ours.median.p99, theirs.median.p99);
    verdicts
        .push(Verdict { text: format!("{at}: p99 {p99:.0} µs, not above {their_p99:.0}"), reached: p99 <= their_p99 });
    let mebibytes = |row: &Row| row.peak_bytes >> 20;
    let text = format!("{at}: peak RSS {} MiB, not above {}", mebibytes(ours), mebibytes(theirs));
    verdicts.push(Verdict { text, reached: ours.peak_bytes <= theirs.peak_bytes });
    verdicts
}
