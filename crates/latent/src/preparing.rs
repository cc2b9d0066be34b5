//! How commands compile: in child processes of this program, with images and compiled functions kept in a cache directory.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use etcetera::BaseStrategy as _;
use latent_core::{SystemWallClock, TenantId};
use latent_wasmtime::{
    ChildOptions, CompileLimits, CompilerChoice, FunctionsOptions, ImageLimits, ImageStore, Preparation,
};

use crate::ending::Failure;
use crate::terminal::warn;

/// This program, even after its file was replaced by a newer one.
const THIS_PROGRAM: &str = "/proc/self/exe";

// Where compiled components are kept. No doc comment: it would take the place of the help of every command that has these.
#[derive(Debug, Clone, Args)]
pub struct CacheArgs {
    /// Keep compiled components in this directory [default: `latent` in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Keep no compiled components and use none
    #[arg(long, conflicts_with = "cache_dir")]
    pub no_cache: bool,
}

/// The preparation that the flags ask for. A default directory that cannot be used is told and done without.
///
/// # Errors
/// When the directory that was named cannot be used.
pub fn preparation(args: &CacheArgs) -> Result<Preparation, Failure> {
    let options = ChildOptions { program: program(), limits: CompileLimits::default(), functions: None };
    let without = Preparation { compiler: CompilerChoice::Child(options.clone()), images: None };
    if args.no_cache {
        return Ok(without);
    }
    match (&args.cache_dir, users_directory()) {
        (Some(named), _) => keeping(named, options).map_err(Failure::local),
        (None, Some(dir)) => Ok(keeping(&dir, options).unwrap_or_else(|reason| {
            warn(&format!("compiled components are not kept: {reason}"));
            without
        })),
        (None, None) => {
            warn("compiled components are not kept: there is no home directory; name one with --cache-dir");
            Ok(without)
        }
    }
}

/// For whom commands compile and run: the only tenant of a node that lives as long as a command.
pub fn tenant() -> TenantId {
    TenantId::new("local").expect("a literal without forbidden characters")
}

fn keeping(dir: &Path, options: ChildOptions) -> Result<Preparation, String> {
    let unusable =
        |error| format!("cannot use the cache directory {}: {error}; name another with --cache-dir", dir.display());
    private(dir).map_err(unusable)?;
    let images = ImageStore::open(&dir.join("images"), ImageLimits::default(), Arc::new(SystemWallClock));
    let images = images.map_err(unusable)?;
    let functions = dir.join("functions");
    std::fs::create_dir_all(&functions).map_err(unusable)?;
    let options = ChildOptions { functions: Some(FunctionsOptions::in_dir(functions)), ..options };
    Ok(Preparation { compiler: CompilerChoice::Child(options), images: Some(images) })
}

/// Makes `dir` if need be, and refuses one in which another user could put files: what is kept there is run.
pub fn private(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let about = dir.metadata()?;
    let refused = |what| Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    if about.uid() != rustix::process::geteuid().as_raw() {
        return refused("it belongs to another user, whose files would be run here");
    }
    if about.mode() & 0o022 != 0 {
        return refused("other users may write to it, and their files would be run here; close it with chmod go-w");
    }
    Ok(())
}

fn users_directory() -> Option<PathBuf> {
    etcetera::choose_base_strategy().ok().map(|user| user.cache_dir().join("latent"))
}

pub fn program() -> PathBuf {
    let this = Path::new(THIS_PROGRAM);
    if this.exists() {
        return this.to_owned();
    }
    std::env::current_exe().unwrap_or_else(|_unknown| this.to_owned())
}
