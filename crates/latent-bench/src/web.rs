//! HTTP services side by side, as whole processes: a node with all its limits, `wasmtime serve` with its own, and a bare
//! hyper server, under the load of `wrk` in turns.
//!
//! Invariant: all servers of a comparison are there for all of it and idle while another one is measured; the order of
//! turns is reversed in every other round, so that none always follows the same one.

pub mod bare;
mod load;
mod servers;
mod table;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use load::{Load, Sample};
use servers::Server;
use table::Row;

/// What to compare, and how long.
#[derive(Debug, Clone)]
pub struct Options {
    /// `latent`.
    pub latent: PathBuf,
    /// The command line of Wasmtime.
    pub wasmtime: PathBuf,
    /// `wrk`.
    pub wrk: PathBuf,
    /// The program that is the bare server with `--bare`: this one.
    pub bare: PathBuf,
    /// Components by name; each answers `GET /`.
    pub components: Vec<(String, PathBuf)>,
    /// Connections at once.
    pub connections: Vec<u32>,
    /// Turns of each server.
    pub rounds: u32,
    /// How long a turn is measured.
    pub turn: Duration,
    /// How much more than that of `wasmtime serve` a node's throughput is to be, by name of the component.
    pub aims: Vec<(String, f64)>,
}

/// Measures every component, prints the table and a last line; whether nothing failed and every aim was reached.
///
/// # Errors
/// A sentence: which server did not start or answer, or what `wrk` said.
pub fn run(options: &Options, out: &mut impl Write) -> Result<bool, String> {
    let told = |error: io::Error| format!("cannot write the table: {error}");
    let (mut passed, mut failed) = (0, 0);
    writeln!(out, "{}", table::HEAD).map_err(told)?;
    for (name, component) in &options.components {
        let rows = of_component(options, name, component)?;
        for row in &rows {
            writeln!(out, "{row}").map_err(told)?;
        }
        let aim = options.aims.iter().find(|(aimed, _)| aimed == name).map(|(_, aim)| *aim);
        for verdict in table::verdicts(name, &rows, aim) {
            *(if verdict.reached { &mut passed } else { &mut failed }) += 1;
            writeln!(out, "{verdict}").map_err(told)?;
        }
    }
    writeln!(out, "{passed} passed, {failed} failed").map_err(told)?;
    Ok(failed == 0)
}

fn of_component(options: &Options, name: &str, component: &std::path::Path) -> Result<Vec<Row>, String> {
    let servers = Server::all(options, component)?;
    let mut rows = Vec::new();
    for &connections in &options.connections {
        let mut samples: Vec<Vec<Sample>> = servers.iter().map(|_| Vec::new()).collect();
        for round in 0..options.rounds {
            let mut turns: Vec<usize> = (0..servers.len()).collect();
            if round % 2 == 1 {
                turns.reverse();
            }
            for turn in turns {
                let load = Load { wrk: &options.wrk, connections, time: options.turn };
                samples[turn].push(load.on(&servers[turn])?);
            }
        }
        for (server, samples) in servers.iter().zip(&samples) {
            rows.push(Row::of(name, server, connections, samples)?);
        }
    }
    Ok(rows)
}
