//! A node with little address space or memory, and on a machine that tells no pressure: it serves, or says which setting
//! would let it.

use std::fs;
use std::path::{Path, PathBuf};

use super::Options;
use super::fixtures::{deploy, echo};
use super::program::{Home, Served};

/// Address spaces that are tried, in mebibytes.
const ADDRESS_SPACES: [u64; 8] = [64, 256, 512, 1024, 2048, 4096, 16_384, 1 << 20];
/// Memory of the container, in bytes.
const CONTAINER_BYTES: u64 = 1 << 30;
/// Where control groups for memory are, of the second and of the first version.
const GROUPS: [(&str, &str); 2] =
    [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];
/// Every setting that the refusal may name.
const SETTINGS: [&str; 6] = ["cells", "workers", "prepared.", "limits.", "RLIMIT_AS", "pressure.source"];

/// Starts a node under each `RLIMIT_AS`.
pub async fn address_space(options: &Options) -> Result<String, String> {
    let mut told = Vec::new();
    for mebibytes in ADDRESS_SPACES {
        let outcome = serves_or_says(options, &format!("ulimit -v {}", mebibytes << 10), "").await;
        told.push(
            outcome.map_or_else(
                |wrong| Err(format!("{mebibytes} MiB: {wrong}")),
                |end| Ok(format!("{mebibytes} MiB {end}")),
            ),
        );
    }
    let failed: Vec<_> = told.iter().filter_map(|end| end.as_ref().err().cloned()).collect();
    if !failed.is_empty() {
        return Err(failed.join("; "));
    }
    Ok(told.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Starts a node in a control group of 1 GiB.
pub async fn container(options: &Options) -> Result<String, String> {
    let Some(group) = Group::new() else {
        return Ok("not tried: there is no control group of memory to be made here".to_owned());
    };
    let enter = format!("echo $$ > {}", group.0.join("cgroup.procs").display());
    serves_or_says(options, &enter, "").await
}

/// Starts a node that is to look at the machine's pressure.
pub async fn pressure(options: &Options) -> Result<String, String> {
    let is_told = Path::new("/proc/pressure").is_dir();
    let end = serves_or_says(options, ":", "[pressure]\nsource = \"psi\"").await?;
    Ok(format!("/proc/pressure {}; the node {end}", if is_told { "is there" } else { "is not there" }))
}

/// Whether a node started after `before` serves, or refuses with a sentence that names a setting.
async fn serves_or_says(options: &Options, before: &str, config: &str) -> Result<String, String> {
    let dir = tempfile::tempdir().map_err(|error| format!("no directory: {error}"))?;
    let home = Home::new(&options.program, dir.path(), "").map_err(|error| error.to_string())?.after(before);
    if !config.is_empty() {
        home.configure(config).map_err(|error| error.to_string())?;
    }
    let ended = match home.start().await? {
        Ok(served) => return uses(&served).await,
        Err(ended) => ended,
    };
    let said = ended.stderr.trim();
    let names = SETTINGS.iter().any(|setting| said.contains(setting));
    if ended.status.code() != Some(1) || !names || said.contains("panicked") {
        return Err(format!("expected exit code 1 and a setting by its name; {}: {said}", ended.status));
    }
    Ok(format!("refuses ({said})"))
}

/// Deploys and calls. Compilation may be refused for want of memory, the node lives on.
async fn uses(served: &Served) -> Result<String, String> {
    let client = served.client()?;
    let called = match deploy(&client, "echo").await {
        Ok(()) => echo(&client).await,
        Err(refused) => Err(refused),
    };
    served.healthz().await?;
    Ok(called.map_or_else(|refused| format!("serves, and says: {refused}"), |()| "serves and runs".to_owned()))
}

/// A control group for this process's children.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        GROUPS.iter().find_map(|(root, limit)| {
            let group = Self(Path::new(root).join(format!("latent-trial-{}", std::process::id())));
            fs::create_dir(&group.0).ok()?;
            fs::write(group.0.join(limit), CONTAINER_BYTES.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Whoever is still in it was killed; without any process left the system takes it away with the next one.
        let _is_in_use = fs::remove_dir(&self.0);
    }
}
