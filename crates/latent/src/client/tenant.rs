//! `latent tenant`: who may use the node, and how much of it.

use clap::{Args, Subcommand};
use latent_wire::proto::{
    ApplyTenantRequest, DeleteTenantRequest, GetTenantRequest, ListTenantsRequest, Quota, Tenant,
};

use super::finding::NodeArgs;
use super::listing::{self, LimitArgs, PageAsk, Rows};
use super::session::{Ended, Session};
use super::shown::{number, size};
use super::table::{Facts, Table};
use crate::ending::Exit;
use crate::printable::Printable;
use crate::quantities::{Size, parse_size};

pub const EXAMPLES: &str = "\
Needs a credential with the role operate.

JSON output: one tenant a line {name, quota {live, queued, fuel, memory_bytes, payload_bytes, priority, disk_bytes},
use {live, queued, releases, disk_bytes}}. A key that is absent from quota restricts nothing; 64-bit numbers are
strings.

Examples:
  latent tenant apply acme --live 32 --queued 16 --memory 1Gi --disk 10Gi
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
    /// Makes a tenant, or gives it another quota; what is left out restricts nothing
    Apply {
        /// Its name
        name: String,
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
    fn quota(&self) -> Quota {
        Quota {
            live: self.live,
            queued: self.queued,
            fuel: self.fuel,
            memory_bytes: self.memory,
            payload_bytes: self.payload,
            priority: self.priority.map(u32::from),
            disk_bytes: self.disk,
        }
    }
}

/// Does what the verb says.
pub async fn run(args: &TenantArgs, session: &Session) -> Result<Exit, Ended> {
    match &args.verb {
        Verb::Apply { name, quota } => {
            let request = ApplyTenantRequest { name: name.clone(), quota: Some(quota.quota()) };
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
    fn a_quota_that_is_left_out_restricts_nothing() {
        let none =
            QuotaArgs { live: None, queued: None, fuel: None, memory: None, payload: None, priority: None, disk: None };
        assert_eq!(none.quota(), Quota::default());
        let zero = QuotaArgs { live: Some(0), ..none };
        assert_eq!(zero.quota().live, Some(0));
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
