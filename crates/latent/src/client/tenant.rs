//! `latent tenant`: who may use the node, and how much of it.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use latent_wire::proto::{
    ApplyTenantRequest, DeleteTenantRequest, GetTenantRequest, ListTenantsRequest, Quota, Tenant,
};

use super::deploy::is_missing;
use super::finding::NodeArgs;
use super::listing::{self, LimitArgs, PageAsk, Rows};
use super::session::{Ended, Session};
use super::shown::{number, size};
use super::table::{Facts, Table};
use crate::ending::{Exit, Failure};
use crate::input;
use crate::printable::Printable;
use crate::quantities::{Size, parse_size};

/// The largest file with a quota that is read, in bytes.
const QUOTA_BYTES_MAX: u64 = 64 << 10;

pub const EXAMPLES: &str = "\
Needs a credential with the role operate.

JSON output: one tenant a line {name, quota {live, queued, fuel, memory_bytes, payload_bytes, priority, disk_bytes},
use {live, queued, releases, disk_bytes}}. A key that is absent from quota restricts nothing; 64-bit numbers are
strings.

Examples:
  latent tenant apply acme --live 32 --queued 16 --memory 1Gi --disk 10Gi
  latent tenant apply acme quota.json
  latent tenant list
  latent tenant get acme --output json
  latent tenant delete acme";

/// What `latent tenant` takes.
#[derive(Debug, Args)]
pub struct TenantArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub node: NodeArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Makes a tenant, or changes its quota: flags change what they name, a file is the whole quota
    Apply {
        /// Its name
        name: String,
        /// The whole quota, in JSON as `tenant get` prints it; what it leaves out restricts nothing
        #[arg(value_name = "QUOTA.json", conflicts_with_all = QUOTA)]
        file: Option<PathBuf>,
        #[command(flatten)]
        quota: QuotaArgs,
    },
    /// Shows one tenant, its quota and what it uses now
    Get {
        /// Its name
        name: String,
    },
    /// Lists the tenants
    List {
        #[command(flatten)]
        limit: LimitArgs,
    },
    /// Deletes a tenant that has no releases and no deployments, and its credentials
    Delete {
        /// Its name
        name: String,
    },
}

/// The flags of [`QuotaArgs`], which a file describes alone.
const QUOTA: [&str; 7] = ["live", "queued", "fuel", "memory", "payload", "priority", "disk"];

#[derive(Debug, Clone, Args)]
struct QuotaArgs {
    /// Activations at once, waiting ones included
    #[arg(long, value_name = "N")]
    live: Option<u64>,
    /// Of those, activations that wait for a cell
    #[arg(long, value_name = "N")]
    queued: Option<u64>,
    /// Units of fuel that are reserved by activations under way
    #[arg(long, value_name = "N")]
    fuel: Option<u64>,
    /// Memory that is reserved by activations under way
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<u64>,
    /// One payload
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    payload: Option<u64>,
    /// The highest priority
    #[arg(long, value_name = "N")]
    priority: Option<u8>,
    /// Releases and their records on disk
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    disk: Option<u64>,
}

impl QuotaArgs {
    /// `quota`, with what the flags change.
    fn onto(&self, quota: Quota) -> Quota {
        Quota {
            live: self.live.or(quota.live),
            queued: self.queued.or(quota.queued),
            fuel: self.fuel.or(quota.fuel),
            memory_bytes: self.memory.or(quota.memory_bytes),
            payload_bytes: self.payload.or(quota.payload_bytes),
            priority: self.priority.map(u32::from).or(quota.priority),
            disk_bytes: self.disk.or(quota.disk_bytes),
        }
    }
}

/// Does what the verb says.
pub async fn run(args: &TenantArgs, session: &Session) -> Result<Exit, Ended> {
    match &args.verb {
        Verb::Apply { name, file, quota } => {
            let wanted = match file {
                Some(file) => whole(file)?,
                None => quota.onto(current(name, session).await?),
            };
            let request = ApplyTenantRequest { name: name.clone(), quota: Some(wanted) };
            let tenant = session.client.apply_tenant(request).await.map_err(|error| session.ended(error))?;
            session.done(&tenant, || shown(&tenant))
        }
        Verb::Get { name } => {
            let request = GetTenantRequest { name: name.clone() };
            let tenant = session.client.get_tenant(request).await.map_err(|error| session.ended(error))?;
            session.done(&tenant, || shown(&tenant))
        }
        Verb::List { limit } => list(limit, session).await,
        Verb::Delete { name } => {
            let request = DeleteTenantRequest { name: name.clone() };
            let answer = session.client.delete_tenant(request).await.map_err(|error| session.ended(error))?;
            session.done(&answer, || format!("deleted {}\n", Printable(name)))
        }
    }
}

/// The quota that a file describes.
fn whole(file: &Path) -> Result<Quota, Failure> {
    let bytes = input::file(file, QUOTA_BYTES_MAX)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let expected = "expected an object such as {\"live\": 32, \"memory_bytes\": \"1073741824\"}";
        Failure::local(format!("{} is no quota: {error}; {expected}", file.display()))
    })
}

/// The quota of a tenant as it is; of one that is not there yet, the one that restricts nothing.
async fn current(name: &str, session: &Session) -> Result<Quota, Ended> {
    match session.client.get_tenant(GetTenantRequest { name: name.to_owned() }).await {
        Ok(tenant) => Ok(tenant.quota.unwrap_or_default()),
        Err(error) if is_missing(&error) => Ok(Quota::default()),
        Err(error) => Err(session.ended(error)),
    }
}

async fn list(limit: &LimitArgs, session: &Session) -> Result<Exit, Ended> {
    let mut rows = Rows::new(limit);
    while let Some(PageAsk { page_size, page_token }) = rows.next() {
        let request = ListTenantsRequest { page_size, page_token };
        let page = session.client.list_tenants(request).await.map_err(|error| session.ended(error))?;
        rows.take(page.tenants, page.next_page_token);
    }
    listing::print(session, rows, table)?;
    Ok(Exit::Success)
}

fn table(tenants: &[Tenant]) -> Table {
    let mut table = Table::new(&["TENANT", "LIVE", "OF", "QUEUED", "OF", "RELEASES", "DISK", "OF"]);
    for tenant in tenants {
        let (used, quota) = (tenant.r#use.unwrap_or_default(), tenant.quota.unwrap_or_default());
        table.row([
            tenant.name.clone(),
            used.live.to_string(),
            number(quota.live),
            used.queued.to_string(),
            number(quota.queued),
            used.releases.to_string(),
            Size(used.disk_bytes).to_string(),
            size(quota.disk_bytes),
        ]);
    }
    table
}

fn shown(tenant: &Tenant) -> String {
    let quota = tenant.quota.unwrap_or_default();
    let facts = Facts::default()
        .with("tenant", &tenant.name)
        .with("live at most", number(quota.live))
        .with("queued at most", number(quota.queued))
        .with("fuel at most", number(quota.fuel))
        .with("memory at most", size(quota.memory_bytes))
        .with("payload at most", size(quota.payload_bytes))
        .with("priority at most", number(quota.priority))
        .with("disk at most", size(quota.disk_bytes));
    let Some(used) = &tenant.r#use else { return facts.to_string() };
    facts
        .with("live", used.live)
        .with("queued", used.queued)
        .with("releases", used.releases)
        .with("disk", Size(used.disk_bytes))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_wire::proto::TenantUse;

    #[test]
    fn flags_change_what_they_name_of_a_quota() {
        let none =
            QuotaArgs { live: None, queued: None, fuel: None, memory: None, payload: None, priority: None, disk: None };
        assert_eq!(none.onto(Quota::default()), Quota::default());
        let before = Quota { live: Some(3), fuel: Some(9), ..Quota::default() };
        assert_eq!(none.onto(before), before);
        let changed = QuotaArgs { live: Some(0), disk: Some(5), ..none };
        assert_eq!(changed.onto(before), Quota { live: Some(0), disk_bytes: Some(5), ..before });
    }

    #[test]
    fn a_file_is_the_whole_quota_and_says_what_is_wrong_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("quota.json");
        std::fs::write(&file, "{\"live\": \"4\", \"memory_bytes\": 7}").unwrap();
        assert_eq!(whole(&file).unwrap(), Quota { live: Some(4), memory_bytes: Some(7), ..Quota::default() });
        std::fs::write(&file, "{\"lives\": 4}").unwrap();
        let told = whole(&file).unwrap_err().to_string();
        assert!(told.contains("quota.json") && told.contains("lives"), "{told}");
        assert!(whole(&dir.path().join("none")).unwrap_err().to_string().contains("none"));
    }

    #[test]
    fn a_tenant_is_shown_with_its_quota_and_what_it_uses() {
        let tenant = Tenant {
            name: "acme".to_owned(),
            quota: Some(Quota { live: Some(32), ..Default::default() }),
            r#use: Some(TenantUse { live: 3, ..Default::default() }),
        };
        let text = shown(&tenant);
        assert!(text.contains("live at most  32\n") && text.contains("live          3\n"), "{text}");
        assert!(!text.contains("fuel"), "{text}");
        let row = table(&[tenant]).to_string();
        assert_eq!(
            row.lines().last().unwrap().split_whitespace().collect::<Vec<_>>(),
            ["acme", "3", "32", "0", "-", "0", "0", "B", "-"]
        );
    }
}
