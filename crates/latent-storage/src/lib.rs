//! Releases and deployments on disk: content-addressed files, one database, one owner of the directory.
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
mod storage;
mod writer;

pub use backup::{Verified, restore, restore_on, verify, verify_on};
pub use limits::{StorageLimits, StorageOptions};
pub use record::ReleaseRecord;
pub use storage::{Collected, Published, ReleasePage, Storage, StorageInventory, Usage};
