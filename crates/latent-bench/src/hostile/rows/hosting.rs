//! The process and its machine: kills, signals, descriptors, disks, memory, and files that are not what they were.

use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::crash::Plan;
use crate::hostile::Options;
use crate::hostile::case::Outcome;
use crate::hostile::expect::holds;
use crate::nodes;
use crate::nodes::fixtures::{deploy, echo};
use crate::nodes::program::Home;
use crate::nodes::verdict::Trial;

/// Kills, and ends by a signal: each kind of the latter occurs.
const KILLS: u64 = 8;
const TERMS: u64 = 8;
/// Bits that are flipped, one at a time, in each file.
const BITS: usize = 16;

fn trials(options: &Options) -> nodes::Options {
    let Options { program, seed, .. } = options.clone();
    nodes::Options { program, kill: KILLS, term: TERMS, spin: false, faults: false, seed }
}

/// What a trial came to, whose failures it printed into `said`.
fn judged(trial: io::Result<Trial>, said: &[u8]) -> Outcome {
    let trial = trial.map_err(|error| format!("the trial: {error}"))?;
    if trial.passed() { Ok(trial.told) } else { Err(format!("{}; {trial}", String::from_utf8_lossy(said).trim())) }
}

/// Row 105.
pub async fn descriptors(options: &Options) -> Outcome {
    nodes::descriptors::trial(&trials(options)).await
}

/// Row 120.
pub async fn kills(options: &Options) -> Outcome {
    let mut said = Vec::new();
    judged(nodes::kill::trial(&trials(options), &mut said).await, &said)
}

/// Row 121.
pub async fn disk_full(options: &Options) -> Outcome {
    nodes::disk::full(&trials(options)).await
}

/// Row 121.
pub async fn unwritable(options: &Options) -> Outcome {
    nodes::disk::unwritable(&trials(options)).await
}

/// Row 121.
pub async fn read_only(options: &Options) -> Outcome {
    nodes::disk::read_only(&trials(options)).await
}

/// Row 122.
pub async fn shared(options: &Options) -> Outcome {
    nodes::shared::trial(&trials(options)).await
}

/// Row 124.
pub async fn told_to_end(options: &Options) -> Outcome {
    let mut said = Vec::new();
    judged(nodes::term::trial(&trials(options), TERMS, &mut said).await, &said)
}

/// Row 126.
pub async fn address_space(options: &Options) -> Outcome {
    nodes::memory::address_space(&trials(options)).await
}

/// Row 126.
pub async fn container(options: &Options) -> Outcome {
    nodes::memory::container(&trials(options)).await
}

/// Row 126.
pub async fn pressure(options: &Options) -> Outcome {
    nodes::memory::pressure(&trials(options)).await
}

/// Row 123.
pub async fn flipped(options: &Options) -> Outcome {
    let dir = tempfile::tempdir().map_err(|error| format!("no directory: {error}"))?;
    let home = Home::new(&options.program, dir.path(), "").map_err(|error| format!("no configuration: {error}"))?;
    let mut served = home.serve().await?;
    let client = served.client()?;
    deploy(&client, "echo").await?;
    echo(&client).await?;
    drop(client);
    served.signal(Signal::TERM);
    served.ended().await?;
    let mut plan = Plan::new(options.seed);
    let image = only(&home.data().join("images"), ".image")?;
    let catalog = home.data().join("store").join("database.redb");
    let images = flips(&home, &image, &mut plan).await?;
    holds("a damaged image costs nothing but the image", images.refused.is_empty())?;
    let catalogs = flips(&home, &catalog, &mut plan).await?;
    Ok(format!(
        "{BITS} bits of an image: served each time; {BITS} of the catalog: {} times served, {} times refused with \
         a sentence{}",
        catalogs.served,
        catalogs.refused.len(),
        catalogs.refused.first().map(|said| format!(" ({said})")).unwrap_or_default()
    ))
}

/// The one file in a directory with this end of its name.
fn only(directory: &Path, suffix: &str) -> Result<PathBuf, String> {
    let listed = std::fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut found = listed.flatten().map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(suffix));
    match (found.next(), found.next()) {
        (Some(file), None) => Ok(file),
        other => Err(format!("expected one {suffix} in {}, found {other:?}", directory.display())),
    }
}

#[derive(Debug, Default)]
struct Flips {
    served: usize,
    /// What was said.
    refused: Vec<String>,
}

/// Flips one bit of a file after the other. Each time a node starts and serves what it did before, or refuses to start
/// and says which file of which directory is damaged; and each time the file is made whole again.
async fn flips(home: &Home, file: &Path, plan: &mut Plan) -> Result<Flips, String> {
    let io = |error: io::Error| format!("{}: {error}", file.display());
    let whole = std::fs::read(file).map_err(io)?;
    let mut flips = Flips::default();
    for _ in 0..BITS {
        let mut changed = whole.clone();
        let bit = usize::try_from(plan.number() % (changed.len() as u64 * 8)).map_err(|error| error.to_string())?;
        changed[bit / 8] ^= 1 << (bit % 8);
        rewritten(file, &changed).map_err(io)?;
        let name = format!("bit {bit} of {}", file.display());
        match home.start().await.map_err(|wrong| format!("{name}: {wrong}"))? {
            Ok(mut served) => {
                echo(&served.client()?).await.map_err(|wrong| format!("{name}: {wrong}; it said {}", served.said()))?;
                flips.served += 1;
                served.signal(Signal::TERM);
                let ended = served.ended().await?;
                holds(
                    &format!("{name}: it ended with {}: {}", ended.status, ended.stderr),
                    ended.status.code() == Some(0),
                )?;
            }
            Err(ended) => {
                let said = ended.stderr.trim().to_owned();
                let a_sentence = ended.status.code() == Some(1) && !said.contains("panicked");
                let names = said.contains(&home.data().display().to_string());
                holds(
                    &format!("{name}: {} is a refusal that names the directory: {said}", ended.status),
                    a_sentence && names,
                )?;
                flips.refused.push(said);
            }
        }
        rewritten(file, &whole).map_err(io)?;
    }
    Ok(flips)
}

/// Puts another file in the place of one: what is mapped or open stays as it was.
fn rewritten(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let permissions = std::fs::metadata(file).map(|metadata| metadata.permissions());
    let staged = file.with_extension("changed");
    std::fs::write(&staged, bytes)?;
    if let Ok(permissions) = permissions {
        std::fs::set_permissions(&staged, permissions)?;
    }
    std::fs::rename(staged, file)
}
