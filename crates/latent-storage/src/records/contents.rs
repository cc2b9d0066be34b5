//! Reading the database whole, and checking it against its summary.
//!
//! Invariant: nothing is handed out before its fingerprint was found right.

use latent_core::TenantId;
use redb::{ReadTransaction, ReadableTable as _, TableError};

use super::summary::fingerprint;
use super::{FINGERPRINT_BYTES, Failure, SUMMARY, SUMMARY_KEY, Summary, Table, guarded};
use crate::codec::Malformed;
use crate::record::{self, DeploymentRecord, Document, Names, ReleaseRecord};

/// Everything that was written down.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) summary: Summary,
    /// With the bytes of its record.
    pub(crate) releases: Vec<(TenantId, ReleaseRecord, u64)>,
    pub(crate) deployments: Vec<DeploymentRecord>,
    pub(crate) quotas: Vec<(TenantId, u64)>,
    pub(crate) documents: Vec<Document>,
}

impl Contents {
    /// Reads and verifies all records.
    pub(crate) fn read(snapshot: &ReadTransaction) -> Result<Self, Failure> {
        let (mut contents, mut names) = (Self::default(), Names::default());
        contents.summary = visit(snapshot, |table, key, value| {
            match table {
                Table::Releases => {
                    let (tenant, release) = record::read_release(&mut names, key, value)?;
                    contents.releases.push((tenant, release, value.len() as u64));
                }
                Table::Deployments => contents.deployments.push(record::read_deployment(&mut names, key, value)?),
                Table::Quotas => contents.quotas.push(record::read_quota(key, value)?),
                Table::Documents => contents.documents.push(record::read_document(key, value)?),
            }
            Ok(())
        })?;
        Ok(contents)
    }
}

/// Shows every record to `each`, and checks that together they are those of the summary.
pub(crate) fn visit(
    snapshot: &ReadTransaction,
    mut each: impl FnMut(Table, &[u8], &[u8]) -> Result<(), Malformed>,
) -> Result<Summary, Failure> {
    guarded(|| {
        let written = summary(snapshot)?;
        let mut found = Summary { records: 0, sum: 0, ..written };
        for table in Table::ALL {
            let records = match snapshot.open_table(table.definition()) {
                // A storage of an earlier format may lack a table. If one is gone, the summary tells.
                Err(TableError::TableDoesNotExist(_)) => continue,
                opened => opened?,
            };
            for record in records.iter()? {
                let (key, framed) = record?;
                let (key, framed) = (key.value(), framed.value());
                let (fingerprint, value) = unframed(table, key, framed)?;
                found.add(fingerprint);
                each(table, key, value).map_err(|malformed| damaged(table, malformed.0))?;
            }
        }
        if found == written {
            return Ok(written);
        }
        Err(Failure::Damaged(format!(
            "its {} records are not the {} that were written",
            found.records, written.records
        )))
    })
}

/// The summary that is written.
pub(super) fn summary(snapshot: &ReadTransaction) -> Result<Summary, Failure> {
    let table = snapshot.open_table(SUMMARY)?;
    let bytes = table.get(SUMMARY_KEY)?.ok_or_else(|| Failure::Damaged("it has no summary".to_owned()))?;
    Summary::from_bytes(bytes.value()).map_err(|Malformed(what)| Failure::Damaged(format!("in its summary, {what}")))
}

/// The fingerprint of a record, found right, and its value.
pub(super) fn unframed<'v>(table: Table, key: &[u8], framed: &'v [u8]) -> Result<(u128, &'v [u8]), Failure> {
    let (written, value) =
        framed.split_first_chunk::<FINGERPRINT_BYTES>().ok_or_else(|| damaged(table, "it ends too early"))?;
    let (written, found) = (u128::from_be_bytes(*written), fingerprint(table as u8, key, value));
    if written == found { Ok((found, value)) } else { Err(damaged(table, "its checksum is another")) }
}

fn damaged(table: Table, what: &str) -> Failure {
    Failure::Damaged(format!("in a record of its table {}, {what}", table.name()))
}
