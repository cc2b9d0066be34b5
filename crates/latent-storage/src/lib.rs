//! Releases and deployments on disk.
//!
//! A [`Storage`] is one directory with one owner. Components are files named by their SHA-256; everything else that must
//! last is one database, whose commit is the acknowledgement. What is asked often is answered from memory: who owns
//! which release, and the [catalog](latent_catalog) of deployments.
//!
//! ```text
//! lock              locked by the owner for as long as it lives
//! format            "latent storage, format 2"; in a copy, written last
//! database.redb      releases, deployments, quotas, documents, and a summary of them
//! latest            which summary was acknowledged last
//! components/<hex>  components; tenants who published the same share a file and know nothing of one another
//! staged/<number>   what is being written; emptied at every start
//! ```
//!
//! What always holds:
//!
//! - **Acknowledged is durable.** A publication is staged, synced, renamed, its directory synced, and only then committed to
//!   the database. A change to deployments is decided on a view, committed, and only then shown. A stop anywhere leaves the
//!   state before or the state after, and perhaps a file that nobody owns, which [`Storage::collect`] removes.
//! - **Failed is not done.** When a commit fails, the database is closed and opened again, by itself; should the change be in
//!   it nevertheless, it is taken out before anything else is written. So a full disk costs the changes that met it and nothing else.
//! - **Damage is noticed.** Components are hashed whenever they are read. Every record of the database has a fingerprint, the
//!   summary has the sum of all of them, and `latest` says how far the database must have come. The database's own page
//!   checksums are verified at the start too; alone they would miss a header that leads back to an earlier state.
//! - **Names never become paths.** Files are named by digests and our own numbers. Keys of records are the bytes of ids with
//!   their lengths before them.
//! - **Tenants see their own.** Each uploads its own bytes, even if they are there already, and is charged for them; the
//!   work done, the errors and the quota are the same whether or not another tenant has the component.
//!
//! One lock is held by whoever changes something, across the disk's work; readers never meet it. Changes to deployments that
//! come meanwhile are written by one transaction after it. All effects on files go
//! through the port [`disk`]. Secrets are no part of it: a [`SecretDirectory`] reads them where their operator put them. Nothing here knows an engine: what a component exports is read by a
//! [`ComponentInspector`](latent_executor::ComponentInspector).
//!
//! Specification: reference, sections 3 and 6; `activation-lifecycle.md`, "Preparation and capability binding".

mod backup;
mod codec;
mod directory;
pub mod disk;
mod index;
mod limits;
mod record;
mod records;
mod refusal;
mod repository;
mod secrets;
mod storage;
mod writer;

pub use backup::{Verified, restore, restore_on, verify, verify_on};
pub use limits::{StorageLimits, StorageOptions};
pub use record::ReleaseRecord;
pub use secrets::{SecretDirectory, SecretRefusal, secret_directory_name};
pub use storage::{
    Collected, DOCUMENT_NAME_BYTES_MAX, DocumentEdit, Published, ReleasePage, Storage, StorageInventory, Usage,
};
