//! Sums over the files of a usage log.
//!
//! Invariant: memory is bounded by one line and [`SUMS_MAX`] sums, however long the files are. A file that is deleted or
//! written meanwhile does no harm.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use latent_core::PlatformError;

use super::files::{file_name, numbers};
use super::line::{LINE_BYTES_MAX, Read, Said};
use super::unreadable;
use crate::operations::{UsageQuery, UsageSum};

/// The most pairs of tenant and service that are summed. Lines of others count as not taken.
pub const SUMS_MAX: usize = 65_536;

/// Sums the lines in `directory` that `query` asks for, by tenant and service, in order of both. Also says how many
/// activations are missing from the sums: lines that are damaged or beyond [`SUMS_MAX`], and ends that the log dropped.
/// The last line of a file is passed over while it is incomplete. Blocks.
///
/// # Errors
/// `unavailable`, detail `usage.io`, when the directory or a file in it cannot be read.
pub fn sum(directory: &Path, query: &UsageQuery) -> Result<(Vec<UsageSum>, u64), PlatformError> {
    let mut sums = Sums { query, services: BTreeMap::new(), missing: 0 };
    let failed = |error: io::Error| unreadable(directory, &error);
    for number in numbers(directory).map_err(failed)? {
        match File::open(directory.join(file_name(number))) {
            Ok(file) => sums.read(BufReader::new(file)).map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok((sums.services.into_values().map(OfService::done).collect(), sums.missing))
}

struct Sums<'q> {
    query: &'q UsageQuery,
    services: BTreeMap<(String, String), OfService>,
    missing: u64,
}

#[derive(Default)]
struct OfService {
    sum: UsageSum,
    ended: BTreeMap<String, u64>,
    limited: BTreeMap<String, u64>,
}

impl Sums<'_> {
    fn read(&mut self, mut file: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let limit = LINE_BYTES_MAX as u64;
            let taken = io::Read::take(&mut file, limit).read_until(b'\n', &mut line)?;
            match line.last() {
                Some(b'\n') => self.add(&line),
                Some(_) if taken >= LINE_BYTES_MAX => {
                    self.missing += 1;
                    if !skip_line(&mut file)? {
                        return Ok(());
                    }
                }
                // The end, or a line that is being written.
                Some(_) | None => return Ok(()),
            }
        }
    }

    fn add(&mut self, line: &[u8]) {
        match Said::parse(line) {
            Some(Said::Ended(read, ended)) => {
                let UsageQuery { tenant, since, until } = self.query;
                let asked = tenant.as_ref().is_none_or(|tenant| tenant.as_str() == read.tenant)
                    && since.is_none_or(|since| ended >= since)
                    && until.is_none_or(|until| ended < until);
                if asked {
                    self.add_to_sum(&read);
                }
            }
            Some(Said::Dropped(dropped)) => self.missing = self.missing.saturating_add(dropped),
            None => self.missing += 1,
        }
    }

    fn add_to_sum(&mut self, read: &Read<'_>) {
        let key = (read.tenant.to_string(), read.service.to_string());
        if self.services.len() >= SUMS_MAX && !self.services.contains_key(&key) {
            self.missing += 1;
            return;
        }
        let of = self.services.entry(key).or_default();
        if of.sum.activations == 0 {
            of.sum.tenant = read.tenant.to_string();
            of.sum.service = read.service.to_string();
        }
        of.add(read);
    }
}

impl OfService {
    fn add(&mut self, read: &Read<'_>) {
        let sum = &mut self.sum;
        sum.activations += 1;
        sum.fuel = sum.fuel.saturating_add(read.fuel);
        sum.wall_time = sum.wall_time.saturating_add(Duration::from_micros(read.wall_micros));
        sum.peak_memory_bytes = sum.peak_memory_bytes.max(read.peak_memory_bytes);
        sum.log_bytes = sum.log_bytes.saturating_add(read.log_bytes);
        sum.outbound_requests = sum.outbound_requests.saturating_add(read.outbound_requests);
        sum.bytes_in = sum.bytes_in.saturating_add(read.bytes_in);
        sum.bytes_out = sum.bytes_out.saturating_add(read.bytes_out);
        count(&mut self.ended, &read.state);
        if let Some(limit) = &read.limit {
            count(&mut self.limited, limit);
        }
    }

    fn done(self) -> UsageSum {
        UsageSum { ended: self.ended.into_iter().collect(), limited: self.limited.into_iter().collect(), ..self.sum }
    }
}

/// Names come from closed sets; a file that has been tampered with adds no more than this many.
const NAMES_MAX: usize = 64;

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
    } else if counts.len() < NAMES_MAX {
        counts.insert(name.to_owned(), 1);
    }
}

/// Passes over what is left of a line, and says whether it came to an end.
fn skip_line(file: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let piece = file.fill_buf()?;
        if piece.is_empty() {
            return Ok(false);
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(piece.len(), |end| end + 1);
        file.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}
