//! The storage through its public face, on a real directory and on a disk in memory that fails and stops on demand.

mod backups;
mod collecting;
mod concurrency;
mod crashes;
mod damage;
mod deployments;
mod disk;
mod documents;
mod faults;
mod ids;
mod model;
mod nesting;
mod odd_files;
mod opening;
mod publishing;
mod quotas;
mod scale;
mod sources;
mod support;
