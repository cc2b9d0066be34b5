//! `latent invoke`: one activation of a deployed function, and what came of it.
//!
//! Invariant: the command knows the activation's id before it asks, so that Ctrl-C cancels what it started.

pub mod report;
pub mod target;

use std::time::Duration;

use clap::Args;
use latent_activation::{ActivationIdSource as _, RandomActivationIdSource};
use latent_core::MediaType;
use latent_wire::client::CallError;
use latent_wire::client::times::to_duration;
use latent_wire::proto::{Budget, CancelRequest, InvokeRequest, InvokeResponse};
use tokio::time::timeout;

use super::finding::NodeArgs;
use super::session::{Ended, Session};
use crate::cli::parse_media_type;
use crate::ending::{Exit, Failure};
use crate::input::{self, Arguments};
use crate::quantities::{parse_duration, parse_fuel, parse_memory, parse_size};
use crate::signals::StopSwitch;
use crate::terminal::{error_line, to_stderr, to_stdout, warn};
use target::Called;

/// The most arguments that are read, in bytes; the node has its own bound, which may be lower.
const ARGUMENTS_BYTES_MAX: usize = 64 << 20;
/// How long a cancelled activation may take to end before the command does: the node stops what nobody waits for.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

pub const ABOUT: &str = "\
Runs one function of a deployed service and prints what came of it.

The node chooses the deployment by the route, waits for a cell, runs the function in a fresh instance under the limits \
of the deployment, and answers when it has ended.";

pub const EXAMPLES: &str = "\
The function is written SERVICE[/CONTRACT]#FUNCTION, or named with --service and --call, as `latent run` has it. The \
contract may be shortened while one function remains.

Text output:
  Standard output has the result or the declared error as JSON, or the bytes themselves for octet-stream. Standard error
  has one line with the activation and what it used; of one that failed, what happened and which limit ended it.

JSON output, one line:
  activation_id      the activation, once there was one
  outcome            succeeded, declared-error or failed
  terminal_state     completed, cancelled, deadline-exceeded, resource-exhausted, guest-trap, rejected or another
  media_type         only with application/octet-stream: the result is the base64 string of the bytes
  result | declared_error | error {code, message, retryable, details [{kind, fields}]}
  limit              one sentence, if a limit ended it
  consumption        {fuel, peak_memory_bytes, wall_time_micros, log_bytes, outbound_requests}
  revision, deployment, release

Exit codes:
  0    success
  1    local failure, or refused before it ran
  2    wrong usage
  3    the guest returned a declared error
  4    the activation failed, or was refused for now only
  5    the node did not answer
  6    no such service, deployment or route
  130  Ctrl-C or SIGTERM: the activation is cancelled first

Examples:
  latent invoke text-stats/analyze#reverse --args '[\"abc\"]'
  latent invoke text-stats#top-words --args @request.json --deadline 2s --output json
  latent invoke --service text-stats --call analyze#reverse --args '[\"abc\"]' --route green --id order-4711
  latent invoke images#thumbnail --media-type application/octet-stream --args - < picture.png > small.png";

/// What `latent invoke` takes.
#[derive(Debug, Args)]
pub struct InvokeArgs {
    /// What to call
    #[arg(value_name = "SERVICE[/CONTRACT]#FUNCTION", value_parser = Called::parse)]
    #[arg(required_unless_present = "service", conflicts_with = "service")]
    called: Option<Called>,
    /// The service, where its name has a `/` or `#` in it; needs --call
    #[arg(long, value_name = "SERVICE", requires = "call")]
    service: Option<String>,
    /// The function of --service
    #[arg(long, value_name = "CONTRACT#FUNCTION", requires = "service")]
    call: Option<String>,
    /// The arguments: JSON, `@FILE`, or `-` for standard input [default: none]
    #[arg(long, value_name = "JSON|@FILE|-")]
    args: Option<String>,
    /// How the arguments are to be read and the result to be written
    #[arg(long, value_name = "TYPE", default_value = "application/json", value_parser = parse_media_type)]
    media_type: MediaType,
    /// How long it may take, from its arrival at the node, the wait for a cell included [default: as deployed]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    deadline: Option<Duration>,
    /// The activation's id [default: one that the command makes]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Kept with the record; the node does not deduplicate by it
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// `default`, which chooses by weight, or the name of one deployment
    #[arg(long, value_name = "ROUTE", default_value = "default")]
    route: String,
    /// Higher goes first among the tenant's own
    #[arg(long, value_name = "N", default_value_t = 0)]
    priority: u8,
    /// The most fuel that it is to have [default: as deployed]
    #[arg(long, value_name = "N", value_parser = parse_fuel)]
    fuel: Option<u64>,
    /// The most memory that it is to have [default: as deployed]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    memory: Option<u64>,
    /// The most log records that it is to have, in bytes [default: as deployed]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    log_bytes: Option<u64>,
    /// Kept with the record; the guest sees names that begin with `guest.`
    #[arg(long = "metadata", value_name = "NAME=VALUE", value_parser = super::deploy::wanted::pair)]
    metadata: Vec<(String, String)>,
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Invokes, unless `stop` comes first, which cancels.
pub async fn run(args: &InvokeArgs, session: &Session, stop: &StopSwitch) -> Result<Exit, Ended> {
    let arguments = input::arguments(args.args.as_deref(), args.media_type, ARGUMENTS_BYTES_MAX)?;
    let request = request(args, arguments)?;
    let activation_id = request.activation_id.clone();
    let mut invoking = std::pin::pin!(session.client.invoke(request));
    // Biased: an activation that has ended is not cancelled any more.
    tokio::select! {
        biased;
        ended = &mut invoking => told(session, ended),
        () = stop.on() => {
            if let Some(ended) = cancelled(session, activation_id, invoking).await {
                told(session, ended)?;
            }
            Ok(Exit::Interrupted)
        }
    }
}

fn request(args: &InvokeArgs, arguments: Arguments) -> Result<InvokeRequest, Failure> {
    let called = match (&args.called, &args.service, &args.call) {
        (Some(called), _, _) => called.clone(),
        (None, Some(service), Some(call)) => {
            Called::of(service, call).map_err(|reason| Failure::usage(format!("--call {call}: {reason}")))?
        }
        (None, _, _) => {
            return Err(Failure::usage("name what to call: SERVICE[/CONTRACT]#FUNCTION, or --service and --call"));
        }
    };
    if arguments.payload.bytes.len() > ARGUMENTS_BYTES_MAX {
        return Err(Failure::local(format!("{} has more than {ARGUMENTS_BYTES_MAX} bytes", arguments.named)));
    }
    let activation_id = match &args.id {
        Some(id) => id.clone(),
        None => new_id()?,
    };
    Ok(InvokeRequest {
        service: called.service,
        route: args.route.clone(),
        contract: called.contract,
        function: called.function,
        media_type: args.media_type.as_str().to_owned(),
        payload: arguments.payload.bytes,
        activation_id,
        timeout: args.deadline.map(to_duration),
        budget: Some(Budget { fuel: args.fuel, memory_bytes: args.memory, log_bytes: args.log_bytes }),
        priority: u32::from(args.priority),
        idempotency_key: args.idempotency_key.clone().unwrap_or_default(),
        metadata: args.metadata.iter().cloned().collect(),
        ..Default::default()
    })
}

fn new_id() -> Result<String, Failure> {
    let id = RandomActivationIdSource::new().next_id();
    id.map(|id| id.to_string()).map_err(|exhausted| Failure::local(format!("cannot make an id: {exhausted}")))
}

/// Cancels the activation and waits a while for its end. `None` when that does not come, or nobody has heard of it.
async fn cancelled(
    session: &Session,
    activation_id: String,
    invoking: impl Future<Output = Result<InvokeResponse, CallError>>,
) -> Option<Result<InvokeResponse, CallError>> {
    let reason = "the command that invoked it was interrupted".to_owned();
    let asked = async {
        let answer = session.client.cancel(CancelRequest { activation_id, reason }).await;
        if let Err(error) = answer {
            warn(&format!("the activation could not be cancelled by its id, and is left to the node to stop: {error}"));
            return None;
        }
        Some(invoking.await)
    };
    timeout(CANCEL_WAIT, asked).await.ok().flatten()
}

/// Prints what came of it.
fn told(session: &Session, ended: Result<InvokeResponse, CallError>) -> Result<Exit, Ended> {
    match ended {
        Ok(answer) => {
            to_stdout(&if session.is_json() { report::line(&answer) } else { report::result_text(&answer) })?;
            session.note(&report::note(&answer));
            Ok(report::exit(&answer))
        }
        Err(CallError::Node(node)) => {
            if session.is_json() {
                to_stdout(&report::failed_line(&node))?;
            }
            let mut lines = report::failure(&node).into_iter();
            error_line(&lines.next().unwrap_or_default());
            lines.for_each(|line| to_stderr(&format!("{line}\n")));
            Ok(super::failing::invocation_exit(&node.error))
        }
        Err(other) => Err(session.invocation_ended(other)),
    }
}
