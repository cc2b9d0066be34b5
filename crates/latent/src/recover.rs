//! `latent recover`: a credential for an operator who has none, made in the data directory while no node runs on it.
//!
//! Invariant: whoever can do this could read everything in the directory anyway; nothing is opened over the network.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use latent_catalog::CatalogLimits;
use latent_core::{PlatformError, SystemWallClock, TenantId};
use latent_node::access::{CredentialFile, TenantRegistry, TenantRegistryConfig, TenantRegistryParts};
use latent_storage::{Storage, StorageOptions};
use latent_wasmtime::WasmtimeInspector;

use crate::config::{self, Config, ConfigArgs};
use crate::ending::{Exit, Failure};
use crate::printable::Printable;
use crate::serve::{Places, Stores, engine, make_private, storage};
use crate::terminal;

pub const RECOVER_EXAMPLES: &str = "\
The first credential of a node that other machines can reach is made like this too, before it is started. The credential is \
called `recovery` and has all roles; make those that are wanted with `latent credential create`, then revoke it. Run again, it \
makes another token, and the former one stops to hold.

Exit codes: 0 done; 1 the data directory is in use or the file is there; 2 wrong usage.

Examples:
  latent recover --config latent.toml --tenant operations --token-file operator-token
  latent recover --data-dir /var/lib/latent --tenant operations --token-file operator-token";

/// What `latent recover` takes.
#[derive(Debug, Args)]
pub struct RecoverArgs {
    #[command(flatten)]
    pub config: ConfigArgs,

    /// Whose credential it is; the tenant is made if it is not there
    #[arg(long, value_name = "TENANT", value_parser = tenant)]
    pub tenant: TenantId,

    /// The file to write the token into, readable by its owner alone; it must not be there yet, or be that of the
    /// credential
    #[arg(long, value_name = "FILE")]
    pub token_file: PathBuf,
}

fn tenant(text: &str) -> Result<TenantId, String> {
    TenantId::new(text).map_err(|error| format!("the name {error}"))
}

/// `latent recover`.
pub fn recover(args: &RecoverArgs) -> Exit {
    let made = config::load(&args.config).and_then(|effective| make(&effective.config, args));
    let (file, tenant) = (args.token_file.display().to_string(), args.tenant.as_str());
    match made {
        Ok(CredentialFile { credential, is_new }) => {
            let what = if is_new { "made" } else { "there already:" };
            let line = format!(
                "{what} credential {} of tenant {}, its token is in {}\n",
                credential.id,
                Printable(tenant),
                Printable(&file)
            );
            terminal::to_stdout(line.as_bytes())
                .map_or_else(|lost| terminal::lost_output(&lost, Exit::Success), |()| Exit::Success)
        }
        Err(failure) => terminal::failure(&failure),
    }
}

fn make(config: &Config, args: &RecoverArgs) -> Result<CredentialFile, Failure> {
    make_private(&config.data_dir).map_err(Failure::local)?;
    in_storage(config, args).map_err(|error| Failure::local(error.message().to_owned()))
}

fn in_storage(config: &Config, args: &RecoverArgs) -> Result<CredentialFile, PlatformError> {
    let options = StorageOptions {
        limits: storage(config),
        catalog: CatalogLimits::default(),
        inspector: Arc::new(WasmtimeInspector::new(&engine(config))?),
    };
    let opened = Arc::new(Storage::open(Places::of(config).store, options)?);
    let store = Arc::new(Stores::new(opened, config.limits.component.0));
    // Nobody is admitted here.
    let parts = TenantRegistryParts { store, clock: Arc::new(SystemWallClock), sink: Arc::new(|_tenants| {}) };
    TenantRegistry::open(parts, TenantRegistryConfig::default())?.recover(&args.tenant, &args.token_file)
}
