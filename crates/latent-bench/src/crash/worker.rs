//! The process that is killed: it makes one change after the other, and says so before and after.

use std::io::{self, Write};
use std::path::Path;

use latent_catalog::Delete;
use latent_core::PlatformError;
use latent_storage::Storage;

use super::plan::{Change, Plan};

/// Makes changes in `directory` until it is killed, or `out` is lost. Before each it writes a line `>`, and once it is
/// acknowledged or refused a line `< done` or `< refused`.
///
/// # Errors
/// When `out` is lost, or the storage cannot be opened.
pub fn work(directory: &Path, seed: u64, out: &mut impl Write) -> io::Result<()> {
    let storage = super::open(directory).map_err(|error| io::Error::other(error.message().to_owned()))?;
    let mut plan = Plan::new(seed);
    loop {
        let change = plan.change();
        out.write_all(b">\n")?;
        out.flush()?;
        let said: &[u8] = if make(&storage, change).is_ok() { b"< done\n" } else { b"< refused\n" };
        out.write_all(said)?;
        out.flush()?;
    }
}

fn make(storage: &Storage, change: Change) -> Result<(), PlatformError> {
    match change {
        Change::Publish(tenant, component) => storage.publish(&tenant, b"{}", &component).map(drop),
        Change::Apply(manifest) => storage.apply(*manifest, None).map(drop),
        Change::Delete(tenant, service, deployment) => {
            storage.delete(&Delete { tenant, service, deployment, expected_generation: None }).map(drop)
        }
        Change::DeleteRelease(tenant, digest) => storage.delete_release(&tenant, digest),
        Change::Collect => storage.collect().map(drop),
    }
}
