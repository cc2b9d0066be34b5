//! The command line: what can be asked for, how it is written, and the help that needs no other page.
//!
//! Invariant: a value that has been parsed is usable; what is refused here never reaches a node.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use latent_core::MediaType;
use latent_scheduler::POOL_CAPACITY_MAX;
use latent_scheduler::fair::QUEUE_CAPACITY_MAX;

use crate::config::ConfigCommandArgs;
use crate::new::{NEW_AFTER_LONG_HELP, NEW_LONG_ABOUT, NewArgs};
use crate::preparing::CacheArgs;
use crate::quantities::{parse_duration, parse_fuel, parse_memory, parse_size};
use crate::recover::{RECOVER_EXAMPLES, RecoverArgs};
use crate::serve::ServeArgs;
use crate::up::UpArgs;

/// The most activations in flight: as many as a queue has places. Each that waits costs a few kilobytes.
const CONCURRENCY_MAX: u64 = QUEUE_CAPACITY_MAX as u64;

/// Runs WebAssembly components as short activations in a fixed number of cells.
#[derive(Debug, Parser)]
#[command(name = "latent", version, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Calls one exported function of a component, in a cell of a node that lives as long as the command
    #[command(long_about = LONG_ABOUT, after_long_help = AFTER_LONG_HELP)]
    Run(RunArgs),
    /// Says of each component whether a node would take it, what it exports and imports, and what it costs
    #[command(long_about = CHECK_LONG_ABOUT, after_long_help = CHECK_AFTER_LONG_HELP)]
    Check(CheckArgs),
    /// Runs a node until it is told to stop by SIGTERM or Ctrl-C
    #[command(after_long_help = SERVE_AFTER_LONG_HELP)]
    Serve(ServeArgs),
    /// Runs a development node in .latent, with the components deployed, and again whenever they change
    #[command(long_about = UP_LONG_ABOUT, after_long_help = UP_AFTER_LONG_HELP)]
    Up(UpArgs),
    /// Writes a small HTTP service into a new directory, with what builds it
    #[command(long_about = NEW_LONG_ABOUT, after_long_help = NEW_AFTER_LONG_HELP)]
    New(NewArgs),
    /// Says what a node is told: each value in force, and where it comes from
    #[command(after_long_help = CONFIG_AFTER_LONG_HELP)]
    Config(ConfigCommandArgs),
    /// Makes a credential for an operator who has none, while no node runs
    #[command(after_long_help = RECOVER_EXAMPLES)]
    Recover(RecoverArgs),

    /// What is asked of a node that runs elsewhere.
    #[command(flatten)]
    Client(Box<crate::client::ClientCommand>),

    /// The compiler's half of this program; only another latent can make use of it
    #[command(name = latent_wasmtime::COMPILE_COMMAND, hide = true)]
    CompileComponent,
}

/// What `latent run` takes.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The component: a `.wasm` file, or a `.wat` file with component text
    pub component: PathBuf,

    /// The function to call; without this the only exported one
    ///
    /// Written CONTRACT#FUNCTION, such as `example:text-stats/analyze@1.0.0#reverse`. The contract may be shortened
    /// while one function remains: `example:text-stats/analyze#reverse`, `analyze#reverse`, `reverse`.
    #[arg(long, value_name = "CONTRACT#FUNCTION")]
    pub call: Option<String>,

    /// The arguments: JSON, `@FILE`, or `-` for standard input [default: none]
    ///
    /// An array of the parameters in order, or an object by parameter name. With media type application/octet-stream
    /// these are the bytes of the only parameter: the text as it stands, or the content of the file.
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub args: Option<String>,

    /// How the arguments are to be read and the result to be written
    ///
    /// `application/json`, or `application/octet-stream` for a function from `list<u8>` to `list<u8>`.
    #[arg(long, value_name = "TYPE", default_value = "application/json", value_parser = parse_media_type)]
    pub media_type: MediaType,

    /// Fuel of one activation, about one unit an instruction
    #[arg(long, value_name = "N", default_value_t = 100_000_000, value_parser = parse_fuel)]
    pub fuel: u64,

    /// Linear memory of one activation, over all its memories
    #[arg(long, value_name = "SIZE", default_value = "64Mi", value_parser = parse_memory)]
    pub memory: u64,

    /// How long an activation may take, its wait for a cell included [default: 366 days, the longest there is]
    ///
    /// A number with its unit: `500ms`, `2s`, `1h 30m`. Compiling the component is not part of it.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub deadline: Option<Duration>,

    /// Log records of one activation, in bytes of their canonical encoding; later ones are dropped
    #[arg(long, value_name = "SIZE", default_value = "256Ki", value_parser = parse_size)]
    pub log_bytes: u64,

    /// Cells: how many activations run at once
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = RangedU64ValueParser::<u32>::new().range(1..=POOL_CAPACITY_MAX as u64))]
    pub cells: u32,

    /// How often to make the call; a rejection that would repeat ends the load
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub repeat: u64,

    /// How many calls to keep in flight; more than there are cells wait for one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<u32>::new().range(1..=CONCURRENCY_MAX))]
    pub concurrency: u32,

    #[command(flatten)]
    pub cache: CacheArgs,

    /// How to print what happened
    #[arg(long, value_name = "FORM", value_enum, default_value_t = OutputForm::Text)]
    pub output: OutputForm,
}

/// What `latent check` takes.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The components: `.wasm` files, or `.wat` files with component text of at most 2 MiB
    #[arg(required = true, value_name = "COMPONENT")]
    pub components: Vec<PathBuf>,

    /// Linear memory of one activation that the node would allow: one memory that begins with more is refused
    #[arg(long, value_name = "SIZE", default_value = "64Mi", value_parser = parse_memory)]
    pub memory: u64,

    #[command(flatten)]
    pub cache: CacheArgs,

    /// How to print what was found
    #[arg(long, value_name = "FORM", value_enum, default_value_t = OutputForm::Text)]
    pub output: OutputForm,
}

/// How a command prints what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputForm {
    /// Text for people
    Text,
    /// One JSON object a line
    Json,
}

const CONFIG_AFTER_LONG_HELP: &str = "\
Nothing is started, and no directory is made: what is wrong with a file is told as `latent serve` would tell it.

Examples:
  latent config --example > latent.toml
  latent config --config latent.toml --output json";

const SERVE_AFTER_LONG_HELP: &str = "\
Prints where it listens, then `ready`. A node that only its own machine can reach and that has no credential yet makes one, \
in `dev-credential` in its data directory. The first signal lets activations end within shutdown.grace, the second cancels \
them. Exit codes: 0 when nothing was left, 1 otherwise and when it cannot start.

Examples:
  latent serve
  latent serve --config latent.toml --log-format json
  latent config --example > latent.toml";

const UP_LONG_ABOUT: &str = "\
Runs a development node, deploys the components that are named, and deploys each again whenever its file changes.

The node is that of `latent serve`, with the same limits, in a directory of its own; only how busy the machine is does \
not matter to it. Each component is a service called \
as its file, with the deployment `main`. A file is taken once it has stopped changing and compiles; what does not is told, \
and the code before it goes on answering. Calls under way end on the code that they began with.";

const UP_AFTER_LONG_HELP: &str = "\
Standard output has the result of --call, and nothing else. Standard error has where the node listens, for each service \
its functions and a command that calls one, `ready`, and a line for each activation that ends: when (UTC), what was \
called, how it ended, time, fuel, peak memory, which limit stopped it and why.

In the directory and below it, client commands find the node without a flag: `latent invoke text-stats#reverse`.

The first Ctrl-C or SIGTERM lets activations end, the second cancels them. Exit codes: 0 when nothing was left, 1 \
otherwise and when it cannot start, 2 for wrong usage. What --call comes to changes nothing of that.

Examples:
  latent up text-stats.wasm
  latent up text-stats.wasm --call reverse --args '[\"abc\"]'
  latent up --data /tmp/node --invoke 127.0.0.1:0 --control 127.0.0.1:0 one.wasm two.wasm";

/// The media type called `text`.
///
/// # Errors
/// Both that there are.
pub fn parse_media_type(text: &str) -> Result<MediaType, String> {
    MediaType::parse(text)
        .ok_or_else(|| format!("expected {} or {}", MediaType::Json.as_str(), MediaType::OctetStream.as_str()))
}

const LONG_ABOUT: &str = "\
Calls one exported function of a component and prints what came of it.

The command is a node of its own: it compiles the component in a process under limits, unless it has done so before, opens a pool of cells and runs every call as an \
activation, in a fresh instance and under the same enforcement as on any node. Its flags set an activation's grant and \
the node's ceiling together; fuel, memory, log bytes and cells have a node's defaults, and time has none.";

const AFTER_LONG_HELP: &str = "\
Sizes:
  Bytes, or a whole number with a unit: Ki, Mi, Gi, Ti, Pi, Ei (powers of 1024) or k, M, G, T, P, E (powers of 1000).

Values in JSON:
  numbers            integers up to 32 bits and floats as numbers; 64-bit integers as strings, numbers are taken too;
                     \"NaN\", \"Infinity\", \"-Infinity\"
  string, char       strings
  list<u8>           a base64 string; an array of numbers is taken too
  list, tuple        arrays
  record             an object with the names as in WIT
  enum, variant      the case's name, or {\"case\": payload}
  flags              an array of names
  option             null or the value; {\"some\": …} for an option inside an option
  result             {\"ok\": …} or {\"err\": …}
  The err of a function's own result is a declared error: the activation is completed, the payload is the error.

Text output:
  Standard output has the result or the declared error as JSON, or the bytes themselves for octet-stream. Standard error
  has the guest's log lines (its standard output and error too), then one line with outcome, time, fuel, peak memory.

JSON output, one object for each activation in the order in which they end:
  activation_id      the activation
  outcome            succeeded, declared-error or failed
  terminal_state     completed, cancelled, deadline-exceeded, resource-exhausted, guest-trap, rejected, platform-failed,
                     dependency-failed or state-conflict
  media_type         only with application/octet-stream: the result is the base64 string of the bytes
  result | declared_error | error {code, message, retryable, details [{kind, fields}]}
  consumption        {fuel, peak_memory_bytes, wall_time_micros, log_bytes, outbound_requests}; the time is that in the
                     cell, without the wait, and the fuel of a guest that was stopped may fall short by up to 1000000
  revision           what was called: a digest of the component and its service, which has the name of the file
  release            the component's SHA-256, which latent check prints as digest
  phases             [{sequence, phase, terminal, at_micros, at}]: received, resolved, admitted, queued, materializing,
                     running, as far as it came; the last one repeats the phase in which it ended, and its terminal is
                     the terminal_state. at_micros is the time since it was received, at the time of day
  logs               [{level, message, fields}]
  A component that cannot be prepared has one such object too, without revision, release and phases: nothing was called.
  A file that cannot be read and wrong usage have a sentence on standard error and no object.
and one last line:
  pool               {capacity, available, active_leases, quarantined, queue_depth}
  runtime            what the engine still holds, what it keeps compiled, its allocator and whether it scans for dirty pages

Exit codes, the worst of all activations:
  0    success
  1    local failure: unreadable, not a component, or refused before it ran
  2    wrong usage
  3    the guest returned a declared error
  4    an activation failed, or was rejected because it would hardly have got a cell before its deadline
  130  Ctrl-C or SIGTERM: live activations are cancelled and cleaned up, their records printed; those not begun have none

Examples:
  latent run text-stats.wasm --call analyze#reverse --args '[\"abc\"]'
  latent run text-stats.wasm --call top-words --args '{\"text\": \"a b a\", \"order\": \"by-count\", \"limit\": 5}'
  latent run capsule.wasm --call spin --fuel 1000000000000 --deadline 200ms --output json
  latent run echo.wasm --call echo-bytes --media-type application/octet-stream --args @picture.png > copy.png
  latent run service.wasm --args @args.json --repeat 1000 --concurrency 32 --cells 4 --output json";

const CHECK_LONG_ABOUT: &str = "\
Says of each component whether a node would take it, and what it is.

Each is read, inspected, compiled in a process under limits and linked, as a node does before the first call; nothing of \
it runs. What is compiled is kept, so that `latent run` starts at once.";

const CHECK_AFTER_LONG_HELP: &str = "\
JSON output, one object for each component:
  component          the file as it was named
  taken              whether a node would take it; null when that could not be found out here
  digest, bytes      the component's SHA-256 and size
  exports            [{contract, function, signature}]; the contract is empty for a function of the world itself
  not_callable       [{contract, function, reason}]: exported, but with types that cannot cross the boundary
  imports            names as declared, optional ones included
  memory_bytes       what its largest memory begins with; every activation has as much, or more
  image_bytes        compiled code and data, mapped once for all activations
  compile_millis     only when it was compiled now
  error              why it is not taken, or why nobody can tell: {message}, or {code, message, retryable, details [{kind, fields}]}

Exit codes:
  0    a node would take every component
  1    at least one is refused, cannot be read, or cannot be judged here
  2    wrong usage
  130  Ctrl-C or SIGTERM

Examples:
  latent check service.wasm
  latent check --output json *.wasm";

/// Tells what the parser of arguments has to say: help where it was asked for, or what is wrong, without the control
/// characters that an argument may hold.
pub fn explain(told: &clap::Error) -> ExitCode {
    if told.use_stderr() {
        return crate::terminal::usage(&told.render().to_string()).into();
    }
    // Help goes to standard output; a reader that is gone needs none.
    let _lost = told.print();
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;
    use latent_core::ResourceBudget;
    use latent_wasmtime::EngineSettings;

    fn parse(line: &[&str]) -> Result<RunArgs, clap::Error> {
        let parsed = Cli::try_parse_from([&["latent", "run", "c.wasm"], line].concat())?;
        let Command::Run(args) = parsed.command else { panic!("parsed as {:?}", parsed.command) };
        Ok(args)
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_explains_itself_at_length() {
        for (name, begins) in [("run", LONG_ABOUT), ("check", CHECK_LONG_ABOUT)] {
            let mut cli = Cli::command();
            let command = cli.find_subcommand_mut(name).expect("it is a command");
            let help = command.render_long_help().to_string();
            assert!(help.starts_with(begins), "{help}");
        }
    }

    #[test]
    fn defaults_are_the_nodes() {
        let (args, budget, engine) = (parse(&[]).unwrap(), ResourceBudget::default(), EngineSettings::default());
        assert_eq!((args.fuel, args.memory, args.log_bytes), (budget.fuel, budget.memory_bytes, budget.log_bytes));
        assert_eq!((args.cells, args.memory), (engine.cells, engine.memory_bytes_max));
        assert_eq!((args.deadline, args.repeat, args.concurrency), (None, 1, 1));
        assert_eq!((args.media_type, args.output), (MediaType::Json, OutputForm::Text));
    }

    #[test]
    fn zero_is_refused_where_nothing_could_run() {
        for flag in ["--fuel", "--memory", "--cells", "--repeat", "--concurrency"] {
            let message = parse(&[flag, "0"]).unwrap_err().to_string();
            assert!(message.contains(flag) && message.contains('0'), "{message}");
        }
        assert_eq!(parse(&["--log-bytes", "0"]).unwrap().log_bytes, 0);
        assert_eq!(parse(&["--deadline", "0ms"]).unwrap().deadline, Some(Duration::ZERO));
    }

    #[test]
    fn an_unknown_media_type_is_told_both_known_ones() {
        let message = parse(&["--media-type", "text/plain"]).unwrap_err().to_string();
        assert!(message.contains("application/json") && message.contains("application/octet-stream"), "{message}");
    }
}
