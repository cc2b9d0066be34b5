//! A node whose disk is full, whose writes all fail, or whose directory is read-only; and then not any more.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use latent_core::PlatformErrorCode;
use latent_wire::client::{CallError, Client};
use latent_wire::proto::{CreateCredentialRequest, DeleteDeploymentRequest, ListCredentialsRequest};
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};

use super::Options;
use super::fixtures::{self, deploy, digest, echo, variant};
use super::mount::Mount;
use super::program::Home;

/// Size of the file system that is filled.
const MEBIBYTES: u64 = 64;
/// A block of what it is filled with, in bytes.
const BLOCK: usize = 64 << 10;

/// Fills a file system, and makes room again.
pub async fn full(options: &Options) -> Result<String, String> {
    let dir = tempfile::tempdir().map_err(no_directory)?;
    let mount = match Mount::new(dir.path(), MEBIBYTES) {
        Ok(mount) => mount,
        Err(reason) => return Ok(format!("not tried, a file system cannot be mounted here: {reason}")),
    };
    let home = Home::new(&options.program, dir.path(), "").map_err(no_directory)?;
    let served = home.serve().await?;
    let client = served.client()?;
    ready(&client).await?;
    let filler = dir.path().join("filler");
    fill(&filler)?;
    let refused = changes_without_room(&client, true).await?;
    std::fs::remove_file(&filler).map_err(no_directory)?;
    every_change_works(&client).await?;
    drop((served, mount));
    Ok(format!("{refused}; calls go on; everything works once there is room"))
}

/// Lets the system refuse every write to a file of the node, and then none.
pub async fn unwritable(options: &Options) -> Result<String, String> {
    let dir = tempfile::tempdir().map_err(no_directory)?;
    // The signal that tells a process of such a write would end it, as a full disk does not.
    let home = Home::new(&options.program, dir.path(), "").map_err(no_directory)?.after("trap '' XFSZ");
    let served = home.serve().await?;
    let client = served.client()?;
    ready(&client).await?;
    let Rlimit { current: before, maximum } = getrlimit(Resource::Fsize);
    let limit = |current| {
        let limits = prlimit(Some(served.id), Resource::Fsize, Rlimit { current, maximum });
        limits.map(drop).map_err(|error| format!("cannot limit the node's files: {error}"))
    };
    limit(Some(0))?;
    let refused = changes_without_room(&client, false).await?;
    limit(before)?;
    every_change_works(&client).await?;
    Ok(format!("{refused}; calls go on; everything works afterwards"))
}

/// Starts a node in a directory that it cannot write to, and again when it can.
pub async fn read_only(options: &Options) -> Result<String, String> {
    let dir = tempfile::tempdir().map_err(no_directory)?;
    let mount = Mount::new(dir.path(), MEBIBYTES);
    let home = Home::new(&options.program, dir.path(), "").map_err(no_directory)?;
    std::fs::create_dir(home.data()).map_err(no_directory)?;
    close(&home.data(), 0o500)?;
    if let Ok(mount) = &mount {
        mount.read_only(true)?;
    } else if rustix::process::geteuid().is_root() {
        return Ok("not tried: whoever may write everywhere cannot be kept from it".to_owned());
    }
    let ended = home.begin()?.ended().await?;
    let told = ended.stderr.trim().to_owned();
    if ended.status.code() != Some(1) || !told.contains(&home.data().display().to_string()) {
        return Err(format!("expected exit code 1 and the directory's name; {}: {told}", ended.status));
    }
    if let Ok(mount) = &mount {
        mount.read_only(false)?;
    }
    close(&home.data(), 0o700)?;
    let served = home.serve().await?;
    served.healthz().await?;
    Ok(format!("refused: {told}; starts once it may write"))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn no_directory(error: io::Error) -> String {
    format!("a directory of the trial: {error}")
}

fn close(dir: &Path, mode: u32) -> Result<(), String> {
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode)).map_err(no_directory)
}

/// Deploys what is called and what is deleted later, and calls it.
async fn ready(client: &Client) -> Result<(), String> {
    deploy(client, "echo").await?;
    let release = digest(latent_guests::component("echo"));
    let spare = fixtures::apply(client, "echo", "spare", &release, 1).await;
    spare.map_err(|error| format!("cannot deploy the spare: {error}"))?;
    echo(client).await
}

/// Writes to `file` until there is no room.
fn fill(file: &Path) -> Result<(), String> {
    let mut file = File::create(file).map_err(no_directory)?;
    // The last block goes in part by part.
    let mut size = BLOCK;
    while size > 0 {
        match file.write(&vec![0; size]) {
            Ok(_) => (),
            Err(error) if error.kind() == io::ErrorKind::StorageFull => size /= 2,
            Err(error) => return Err(no_directory(error)),
        }
    }
    Ok(())
}

/// Tries every kind of change, with a call after each; what came of them. A change that fits into room which the storage
/// has already may be taken on a full disk; a component never.
async fn changes_without_room(client: &Client, may_be_taken: bool) -> Result<String, String> {
    let existing = digest(latent_guests::component("echo"));
    let mut told = vec![refused("publish", false, fixtures::publish(client, variant("echo", 1)).await)?];
    echo(client).await?;
    let applied = fixtures::apply(client, "echo", "other", &existing, 1).await;
    told.push(refused("apply", may_be_taken, applied)?);
    echo(client).await?;
    told.push(refused("delete", may_be_taken, delete(client, "spare").await)?);
    echo(client).await?;
    told.push(refused("a credential", may_be_taken, credential(client).await)?);
    echo(client).await?;
    Ok(told.join(", "))
}

/// The same changes are taken.
async fn every_change_works(client: &Client) -> Result<(), String> {
    let component = variant("echo", 1);
    let release = digest(&component);
    let changes = async {
        fixtures::publish(client, component).await?;
        fixtures::apply(client, "echo", "other", &release, 1).await?;
        delete(client, "other").await?;
        credential(client).await
    };
    changes.await.map_err(|error| format!("with room again: {error}"))?;
    echo(client).await
}

async fn delete(client: &Client, deployment: &str) -> Result<(), CallError> {
    let (service, deployment) = ("echo".to_owned(), deployment.to_owned());
    let request = DeleteDeploymentRequest { service, deployment, expected_generation: None };
    client.delete_deployment(request).await.map(drop)
}

async fn credential(client: &Client) -> Result<(), CallError> {
    let tenants = client.list_credentials(ListCredentialsRequest::default()).await?;
    let tenant = tenants.credentials.first().map(|credential| credential.tenant.clone()).unwrap_or_default();
    let request = CreateCredentialRequest {
        tenant,
        subject: "trial".to_owned(),
        roles: vec!["invoke".to_owned()],
        ..CreateCredentialRequest::default()
    };
    client.create_credential(request).await.map(drop)
}

/// What came of a change: a refusal by a code that is no defect, or, where that may be, success.
fn refused(what: &str, may_be_taken: bool, outcome: Result<(), CallError>) -> Result<String, String> {
    match outcome {
        Ok(()) if may_be_taken => Ok(format!("{what} taken")),
        Err(CallError::Node(node)) if node.error.code() != PlatformErrorCode::Internal => {
            Ok(format!("{what} {}", node.error.code().as_str()))
        }
        other => Err(format!("{what}: expected a refusal that is no defect, got {other:?}")),
    }
}
