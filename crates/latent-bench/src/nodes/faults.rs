//! What a node lacks, one thing after the other, and that it goes on once it has it again.

use std::io::{self, Write};

use super::verdict::Trial;
use super::{Options, descriptors, disk, end, memory, shared, term};

/// Cycles of the trial of signals, in which each kind occurs.
const SIGNALS: u64 = 4;

/// Runs all; whether none failed.
///
/// # Errors
/// When `out` is lost, or there is no directory.
pub async fn all(options: &Options, out: &mut impl Write) -> io::Result<bool> {
    let mut passed = true;
    let descriptors = descriptors::trial(options).await;
    passed &= end(&Trial::of("descriptors gone, then freed", descriptors), out)?;
    passed &= end(&Trial::of("disk full, then not", disk::full(options).await), out)?;
    passed &= end(&Trial::of("every write to a file fails, then none", disk::unwritable(options).await), out)?;
    passed &= end(&Trial::of("a directory that is read-only", disk::read_only(options).await), out)?;
    passed &= end(&Trial::of("two nodes on one directory", shared::trial(options).await), out)?;
    passed &= end(&term::trial(options, SIGNALS, out).await?, out)?;
    passed &= end(&Trial::of("little address space", memory::address_space(options).await), out)?;
    passed &= end(&Trial::of("1 GiB of memory", memory::container(options).await), out)?;
    passed &= end(&Trial::of("the machine's pressure", memory::pressure(options).await), out)?;
    Ok(passed)
}
