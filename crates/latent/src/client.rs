//! The client commands: what is asked of a node that runs elsewhere, and what came of it.
//!
//! Invariant: a command makes the calls that its help says, prints what the node answered, and ends with one of the
//! listed exit codes. Each verb is a module with its flags, its help and its calls; what an answer means is decided in
//! pure functions beside it.

mod activation;
mod backup;
mod completions;
mod credential;
mod deploy;
mod deployment;
pub mod failing;
mod finding;
mod http;
pub mod invoke;
mod listing;
mod logs;
mod node;
mod release;
mod route;
mod session;
pub mod shown;
mod table;
mod tenant;
mod upload;
mod usage;

use clap::Subcommand;
use latent_node::runtime::data_runtime;

use crate::ending::{Exit, Failure};
use crate::signals::StopSwitch;
use crate::terminal;
use finding::NodeArgs;
use session::{Ended, Session};

/// The client commands.
#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    /// Publishes components, and shows and deletes those that are published
    #[command(after_long_help = release::EXAMPLES)]
    Release(release::ReleaseArgs),
    /// Makes or changes a deployment, and prints what changes
    #[command(long_about = deploy::ABOUT, after_long_help = deploy::EXAMPLES)]
    Deploy(deploy::DeployArgs),
    /// Shows and deletes deployments
    #[command(after_long_help = deployment::EXAMPLES)]
    Deployment(deployment::DeploymentArgs),
    /// Shows where calls of a service go, and why
    #[command(after_long_help = route::EXAMPLES)]
    Route(route::RouteArgs),
    /// Runs one function of a deployed service and prints what came of it
    #[command(long_about = invoke::ABOUT, after_long_help = invoke::EXAMPLES)]
    Invoke(Box<invoke::InvokeArgs>),
    /// Shows, watches and cancels activations
    #[command(after_long_help = activation::EXAMPLES)]
    Activation(activation::ActivationArgs),
    /// Prints what guests wrote: of one activation, or of a service as it is written
    #[command(after_long_help = logs::EXAMPLES)]
    Logs(logs::LogsArgs),
    /// Shows what a node holds, drains it, and lets it take activations again
    #[command(after_long_help = node::EXAMPLES)]
    Node(node::NodeCommandArgs),
    /// Sums what activations used, by tenant and service
    #[command(after_long_help = usage::EXAMPLES)]
    Usage(usage::UsageArgs),
    /// Makes tenants, gives them quotas, shows and deletes them
    #[command(after_long_help = tenant::EXAMPLES)]
    Tenant(tenant::TenantArgs),
    /// Makes, lists and revokes what callers prove with who they are
    #[command(after_long_help = credential::EXAMPLES)]
    Credential(credential::CredentialArgs),
    /// Copies what a running node keeps into a directory on the node's machine
    #[command(after_long_help = backup::BACKUP_EXAMPLES)]
    Backup(backup::BackupArgs),
    /// Makes the data directory of a node that does not run out of a backup
    #[command(after_long_help = backup::RESTORE_EXAMPLES)]
    Restore(backup::RestoreArgs),
    /// Prints what lets a shell complete the commands of this program
    #[command(after_long_help = completions::EXAMPLES)]
    Completions(completions::CompletionsArgs),
}

impl ClientCommand {
    /// How the node is found; `None` for a command that asks none.
    fn node(&self) -> Option<&NodeArgs> {
        match self {
            Self::Release(args) => Some(&args.node),
            Self::Deploy(args) => Some(&args.node),
            Self::Deployment(args) => Some(&args.node),
            Self::Route(args) => Some(&args.node),
            Self::Invoke(args) => Some(&args.node),
            Self::Activation(args) => Some(&args.node),
            Self::Logs(args) => Some(&args.node),
            Self::Node(args) => Some(&args.node),
            Self::Usage(args) => Some(&args.node),
            Self::Tenant(args) => Some(&args.node),
            Self::Credential(args) => Some(&args.node),
            Self::Backup(args) => Some(&args.node),
            Self::Restore(_) | Self::Completions(_) => None,
        }
    }
}

/// Runs the command and says how it ended. All failures have been printed.
pub fn run(command: &ClientCommand) -> Exit {
    match (command, command.node()) {
        (ClientCommand::Restore(args), _) => backup::restore(args),
        (ClientCommand::Completions(args), _) => completions::print(args),
        (_, Some(node)) => ask(command, node).unwrap_or_else(|failure| terminal::failure(&failure)),
        // Every other command has the flags by which a node is found.
        (_, None) => Exit::Usage,
    }
}

fn ask(command: &ClientCommand, node: &NodeArgs) -> Result<Exit, Failure> {
    let runtime =
        data_runtime(1).map_err(|error| Failure::local(format!("cannot start the runtime's thread: {error}")))?;
    let exit = runtime.block_on(async {
        let stop = StopSwitch::new();
        stop.flip_on_signal().map_err(|error| Failure::local(format!("cannot catch signals: {error}")))?;
        let session = Session::open(node)?;
        let ended = if let ClientCommand::Invoke(args) = command {
            // It has more to do at a signal than to end.
            invoke::run(args, &session, &stop).await
        } else {
            tokio::select! {
                biased;
                () = stop.on() => Ok(Exit::Interrupted),
                ended = perform(command, &session) => ended,
            }
        };
        Ok(ended.unwrap_or_else(|ended| tell(&session, &ended)))
    });
    runtime.shutdown_background();
    exit
}

async fn perform(command: &ClientCommand, session: &Session) -> Result<Exit, Ended> {
    match command {
        ClientCommand::Release(args) => release::run(args, session).await,
        ClientCommand::Deploy(args) => deploy::run(args, session).await,
        ClientCommand::Deployment(args) => deployment::run(args, session).await,
        ClientCommand::Route(args) => route::run(args, session).await,
        ClientCommand::Activation(args) => activation::run(args, session).await,
        ClientCommand::Logs(args) => logs::run(args, session).await,
        ClientCommand::Node(args) => node::run(args, session).await,
        ClientCommand::Usage(args) => usage::run(args, session).await,
        ClientCommand::Tenant(args) => tenant::run(args, session).await,
        ClientCommand::Credential(args) => credential::run(args, session).await,
        ClientCommand::Backup(args) => backup::run(args, session).await,
        ClientCommand::Invoke(_) | ClientCommand::Restore(_) | ClientCommand::Completions(_) => Ok(Exit::Usage),
    }
}

/// Prints why the command ends early.
fn tell(session: &Session, ended: &Ended) -> Exit {
    match ended {
        Ended::Failed(failure) => terminal::failure(failure),
        Ended::Lost(error) => terminal::lost_output(error, Exit::Success),
        Ended::Refused(node) => {
            let failure = failing::refusal(&node.error);
            let exit = terminal::failure(&failure);
            match session.print_refusal(node) {
                Ok(()) => exit,
                Err(lost) => terminal::lost_output(&lost, exit),
            }
        }
    }
}

#[cfg(test)]
mod tests;
