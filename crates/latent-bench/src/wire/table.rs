//! The rows of a comparison, and whether the aim is reached. Invariant: nothing is printed that was not measured in one run.

use super::load::Measured;

/// One row: what was called, by how many, and what it took.
#[derive(Debug)]
pub struct Row<'a> {
    /// What was called.
    pub what: &'a str,
    /// Callers at once.
    pub clients: usize,
    /// What was measured.
    pub measured: &'a Measured,
}

/// The head of the table.
pub const HEAD: &str = "| what | clients | p50 µs | p99 µs | requests/s | server CPU µs/request | caller CPU µs/request | \
                        p50 − bare µs | throughput ÷ bare |\n|---|---|---|---|---|---|---|---|---|";

impl Measured {
    /// The median in microseconds.
    #[must_use]
    pub fn p50(&self) -> f64 {
        self.calls.quantile_micros(500)
    }

    /// Requests per second of all callers together.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a benchmark's figures need no more than 52 bits")]
    pub fn per_second(&self) -> f64 {
        self.calls.len() as f64 / self.wall.as_secs_f64()
    }

    #[expect(clippy::cast_precision_loss, reason = "a benchmark's figures need no more than 52 bits")]
    fn micros_each(&self, of: std::time::Duration) -> f64 {
        of.as_secs_f64() * 1e6 / self.calls.len() as f64
    }
}

impl Row<'_> {
    /// Prints the row beside the floor.
    pub fn print(&self, bare: &Measured) {
        let Self { what, clients, measured } = self;
        println!(
            "| {what} | {clients} | {:.1} | {:.1} | {:.0} | {:.1} | {:.1} | {:.1} | {:.2} |",
            measured.p50(),
            measured.calls.quantile_micros(990),
            measured.per_second(),
            measured.micros_each(measured.served_in),
            measured.micros_each(measured.called_in),
            measured.p50() - bare.p50(),
            measured.per_second() / bare.per_second(),
        );
    }
}

/// Prints whether `node` is as near to `bare` as it is to be: within two lifecycles of its median, and half its throughput.
pub fn aim(clients: usize, bare: &Measured, node: &Measured, lifecycle_p50_micros: f64) {
    let (most, found) = (bare.p50() + 2.0 * lifecycle_p50_micros, node.p50());
    let share = node.per_second() / bare.per_second();
    let said = |met| if met { "met" } else { "missed" };
    println!(
        "{clients} clients: p50 {found:.1} µs, aim {most:.1} µs (bare + 2 × {lifecycle_p50_micros:.1}): {}; throughput \
         {share:.2} of bare, aim 0.50: {}",
        said(found <= most),
        said(share >= 0.5),
    );
}
