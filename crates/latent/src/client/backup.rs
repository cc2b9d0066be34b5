//! `latent backup` and `latent restore`: copies of what a node keeps.

use std::path::{Path, PathBuf};

use clap::Args;
use latent_storage::{StorageLimits, Verified};
use latent_wire::proto::{BackupRequest, BackupResponse};
use serde::Serialize;

use super::failing;
use super::finding::NodeArgs;
use super::session::{Ended, Session, json_line};
use crate::cli::OutputForm;
use crate::config::Config;
use crate::ending::{Exit, Failure};
use crate::printable::Printable;
use crate::quantities::Size;
use crate::serve::{Places, make_private};
use crate::terminal::{self, lost_output, to_stdout};

pub const BACKUP_EXAMPLES: &str = "\
Releases, deployments, tenants and credentials are copied as they are at one moment; the node goes on meanwhile.
Secrets, logs and usage are not among them. Needs a credential with the role operate.

JSON output: {generation, releases, deployments, component_bytes}. A key that is absent is 0; 64-bit numbers are
strings.

Examples:
  latent backup /var/backups/latent-2026-11-30";

pub const RESTORE_EXAMPLES: &str = "\
No node may run on either directory. Everything is verified while it is copied; a failure leaves nothing in DATA_DIR.

JSON output: {generation, releases, deployments, components, component_bytes}.

Exit codes: 0 done; 1 the backup is damaged, or DATA_DIR has a storage; 2 wrong usage.

Examples:
  latent restore /var/backups/latent-2026-11-30 /var/lib/latent";

/// What `latent backup` takes.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// The directory to make, as the node's machine has it: absolute, and empty if it is there
    directory: PathBuf,
    #[command(flatten)]
    pub node: NodeArgs,
}

/// What `latent restore` takes.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// What `latent backup` made
    backup: PathBuf,
    /// The data directory; it must not hold a storage yet
    data_dir: PathBuf,
    /// How to print what was restored
    #[arg(long, value_name = "FORM", value_enum, default_value_t = OutputForm::Text)]
    output: OutputForm,
}

/// Has the node copy itself.
pub async fn run(args: &BackupArgs, session: &Session) -> Result<Exit, Ended> {
    let directory = absolute(&args.directory)?;
    let request = BackupRequest { directory: directory.clone() };
    let answer = session.client.backup(request).await.map_err(|error| session.ended(error))?;
    session.done(&answer, || backed_up(&directory, &answer))
}

/// The path as text. One that is not absolute would be taken as the node's, which has another working directory.
fn absolute(directory: &Path) -> Result<String, Failure> {
    if !directory.is_absolute() {
        return Err(Failure::usage(format!(
            "{} is not absolute: expected a directory as the node's machine has it, such as /var/backups/latent",
            directory.display()
        )));
    }
    directory.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::usage(format!("{} cannot be sent to a node: expected a path in UTF-8", directory.display()))
    })
}

fn backed_up(directory: &str, answer: &BackupResponse) -> String {
    format!(
        "backed up to {}: generation {}, {} releases, {} deployments, {} of components\n",
        Printable(directory),
        answer.generation,
        answer.releases,
        answer.deployments,
        Size(answer.component_bytes)
    )
}

/// Restores, and says how that ended. All failures have been printed.
pub fn restore(args: &RestoreArgs) -> Exit {
    let restored = match restored(args) {
        Ok(restored) => restored,
        Err(failure) => return terminal::failure(&failure),
    };
    let written = match args.output {
        OutputForm::Json => to_stdout(&json_line(&RestoredLine::of(&restored))),
        OutputForm::Text => to_stdout(told(&restored, &args.data_dir).as_bytes()),
    };
    written.map_or_else(|lost| lost_output(&lost, Exit::Success), |()| Exit::Success)
}

fn restored(args: &RestoreArgs) -> Result<Verified, Failure> {
    let is_new = !args.data_dir.exists();
    make_private(&args.data_dir).map_err(Failure::local)?;
    let config = Config { data_dir: args.data_dir.clone(), ..Config::default() };
    let restored = latent_storage::restore(&args.backup, Places::of(&config).store, &StorageLimits::default());
    if restored.is_err() && is_new {
        // It stays where something else has been put into it meanwhile.
        let _stays = std::fs::remove_dir(&args.data_dir);
    }
    restored.map_err(|error| Failure::local(failing::refusal(&error).to_string()))
}

fn told(restored: &Verified, data_dir: &Path) -> String {
    format!(
        "restored to {}: generation {}, {} releases, {} deployments, {} of components, all verified\n",
        Printable(&data_dir.to_string_lossy()),
        restored.generation,
        restored.releases,
        restored.deployments,
        Size(restored.component_bytes)
    )
}

#[derive(Serialize)]
struct RestoredLine {
    generation: u64,
    releases: u64,
    deployments: usize,
    components: u64,
    component_bytes: u64,
}

impl RestoredLine {
    fn of(restored: &Verified) -> Self {
        Self {
            generation: restored.generation,
            releases: restored.releases,
            deployments: restored.deployments,
            components: restored.components,
            component_bytes: restored.component_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_absolute_is_wrong_usage() {
        let failure = absolute(Path::new("backup")).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(failure.to_string().starts_with("backup is not absolute"), "{failure}");
        assert_eq!(absolute(Path::new("/b")).unwrap(), "/b");
    }

    #[test]
    fn what_was_backed_up_is_told() {
        let answer = BackupResponse { generation: 7, releases: 2, deployments: 3, component_bytes: 2048 };
        let wanted = "backed up to /b: generation 7, 2 releases, 3 deployments, 2.0 KiB of components\n";
        assert_eq!(backed_up("/b", &answer), wanted);
    }
}
