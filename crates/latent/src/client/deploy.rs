//! `latent deploy`: makes or changes one deployment.

mod changes;
pub mod wanted;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use latent_core::PlatformErrorCode;
use latent_wire::client::CallError;
use latent_wire::proto::{ApplyRequest, Deployment, GetDeploymentRequest};

use super::finding::NodeArgs;
use super::session::{Ended, Session};
use super::upload;
use crate::ending::{Exit, Failure};
use crate::quantities::{parse_duration, parse_fuel, parse_memory, parse_size};
use wanted::{Wanted, pair};

pub const ABOUT: &str = "\
Makes or changes a deployment, and prints what changes, old and new.

A manifest describes the whole deployment: what it leaves out has its default. Flags change what they name of the \
deployment as it is, and only if nobody else has changed it in between; where there is none they make one, which needs \
--release or --component.";

pub const EXAMPLES: &str = "\
JSON output: one line {deployment {service, deployment, release, weight, revision, generation, manifest}, replaced},
without replaced when there was none. A key that is absent is 0, false or empty; 64-bit numbers are strings.

Exit codes: 0 done; 1 refused, such as for a stale --expected-generation; 2 wrong usage; 5 the node did not answer; 6
there is no such release or deployment; 130 interrupted.

Examples:
  latent deploy deployment.json --dry-run
  latent deploy --service text-stats --deployment blue --component text-stats.wasm
  latent deploy --service text-stats --deployment green --component new.wasm --weight 10 --fuel 50000000 --env MODE=fast
  latent deploy --service text-stats --deployment green --weight 100
  latent deploy --service web --deployment main --component web.wasm --http www.example.com/
  latent deploy --service web --deployment main --outgoing https://api.example.com --outgoing https://*.example.org";

/// The flags that describe a deployment, which a manifest does alone.
const DESCRIBING: [&str; 15] = [
    "service",
    "deployment",
    "release",
    "component",
    "weight",
    "fuel",
    "memory",
    "log_bytes",
    "deadline",
    "environment",
    "secrets",
    "imports",
    "http",
    "http_authentication",
    "outgoing",
];

/// What `latent deploy` takes.
#[derive(Debug, Args)]
pub struct DeployArgs {
    /// The deployment manifest
    #[arg(value_name = "MANIFEST.json", conflicts_with_all = DESCRIBING)]
    manifest: Option<PathBuf>,
    /// The service
    #[arg(long, value_name = "SERVICE", requires = "deployment")]
    service: Option<String>,
    /// The name of the deployment
    #[arg(long, value_name = "DEPLOYMENT", requires = "service")]
    deployment: Option<String>,
    /// The digest of a component that is published
    #[arg(long, value_name = "DIGEST", conflicts_with = "component")]
    release: Option<String>,
    /// A component to be published first
    #[arg(long, value_name = "FILE")]
    component: Option<PathBuf>,
    /// Share of the default route, against the weights of the service's other deployments [default: 100]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u16>::new().range(1..=10_000))]
    weight: Option<u16>,
    /// The most fuel of one activation [default: the node's]
    #[arg(long, value_name = "N", value_parser = parse_fuel)]
    fuel: Option<u64>,
    /// The most memory of one activation [default: the node's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    memory: Option<u64>,
    /// The most log records of one activation, in bytes [default: the node's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    log_bytes: Option<u64>,
    /// How long one activation may take, from its admission on [default: the node's]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    deadline: Option<Duration>,
    /// A variable of the guest's environment
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = pair)]
    environment: Vec<(String, String)>,
    /// A variable of the guest's environment that has the value of a secret of the node
    #[arg(long = "secret", value_name = "NAME=SECRET", value_parser = pair)]
    secrets: Vec<(String, String)>,
    /// An interface, without its version, to which the guest is to be bound [default: what the node offers to all]
    #[arg(long = "import", value_name = "INTERFACE")]
    imports: Vec<String>,
    /// An HTTP route to the service: a host or *.DOMAIN and a path prefix; of any host without one. The routes given here
    /// take the place of those that the deployment has
    #[arg(long = "http", value_name = "HOST/PATH")]
    http: Vec<String>,
    /// Who may make requests by the HTTP routes: anybody, or who has a token of the tenant with role invoke
    /// [default: open]
    #[arg(long = "http-auth", value_name = "WHO", value_parser = ["open", "bearer"])]
    http_authentication: Option<String>,
    /// HTTP requests that the guest may make, at http or https; with *. at the beginning of the host to every host of a
    /// domain. The grants given here take the place of those that the deployment has
    #[arg(long, value_name = "https://HOST[:PORT]")]
    outgoing: Vec<String>,
    /// Only if the deployment's generation is this one; 0: only if there is none
    #[arg(long, value_name = "N")]
    expected_generation: Option<u64>,
    /// Say what would change, and change nothing; a --component is published all the same
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Applies what the arguments describe.
pub async fn run(args: &DeployArgs, session: &Session) -> Result<Exit, Ended> {
    let (manifest, expected_generation) = match (&args.manifest, &args.service, &args.deployment) {
        (Some(path), _, _) => (upload::text(path)?, args.expected_generation),
        (None, Some(service), Some(deployment)) => described(args, service, deployment, session).await?,
        (None, _, _) => {
            let sentence =
                "say what to deploy: MANIFEST.json, or --service and --deployment with --component or --release";
            return Err(Failure::usage(sentence).into());
        }
    };
    let request = ApplyRequest { manifest, expected_generation, dry_run: args.dry_run };
    let answer = session.client.apply(request).await.map_err(|error| session.ended(error))?;
    session.done(&answer, || changes::told(&answer, args.dry_run))
}

/// The manifest that the flags describe, and which generation it is to replace.
async fn described(
    args: &DeployArgs,
    service: &str,
    deployment: &str,
    session: &Session,
) -> Result<(String, Option<u64>), Ended> {
    let release = match (&args.release, &args.component) {
        (Some(digest), _) => Some(digest.clone()),
        (None, Some(file)) => Some(published(upload::publish(session, file, None).await?.release)?),
        (None, None) => None,
    };
    let wanted = wanted(args, release);
    let request = GetDeploymentRequest { service: service.to_owned(), deployment: deployment.to_owned() };
    let Deployment { manifest, generation, .. } = match session.client.get_deployment(request).await {
        Ok(there) => there,
        // Somebody who makes it in between is not replaced.
        Err(error) if wanted.release.is_some() && is_missing(&error) => {
            let expected = args.expected_generation.unwrap_or(0);
            return Ok((wanted.manifest(service, deployment, None)?, Some(expected)));
        }
        Err(error) => return Err(session.ended(error)),
    };
    let expected = args.expected_generation.unwrap_or(generation);
    Ok((wanted.manifest(service, deployment, Some(&manifest))?, Some(expected)))
}

/// Whether the node has no such object.
pub fn is_missing(error: &CallError) -> bool {
    matches!(error, CallError::Node(node) if node.error.code() == PlatformErrorCode::NotFound)
}

fn published(release: Option<latent_wire::proto::Release>) -> Result<String, Failure> {
    let digest = release.map(|release| release.digest);
    digest
        .ok_or_else(|| Failure::with(Exit::Transport, "the node did not say under which digest it keeps the component"))
}

fn wanted(args: &DeployArgs, release: Option<String>) -> Wanted {
    Wanted {
        release,
        weight: args.weight,
        fuel: args.fuel,
        memory: args.memory,
        log_bytes: args.log_bytes,
        deadline: args.deadline,
        environment: args.environment.clone(),
        secrets: args.secrets.clone(),
        imports: args.imports.clone(),
        http: args.http.clone(),
        http_authentication: args.http_authentication.clone(),
        outgoing: args.outgoing.clone(),
    }
}
