//! The node of the trial and its tenants: what is deployed, what their quotas are, and how much two milliseconds are.

use std::path::Path;
use std::time::Duration;

use latent_wire::client::Client;
use latent_wire::client::times::from_duration;
use latent_wire::proto::Quota;
use tempfile::TempDir;

use super::hostile::burn;
use super::kind::{DEEP, JOB, Kind, LIVE};
use super::orders::{Order, Party};
use crate::nodes::fixtures::deploy;
use crate::nodes::program::{Home, Served};
use crate::nodes::tenants::{quota, tenant};

/// What a call of the victim computes.
pub const WORK: Duration = Duration::from_millis(2);
/// Cells of the node with quotas: for all hostile tenants together, and sixteen calls of the victim.
pub const CELLS: usize = 16 * LIVE + 16;
/// The node whose tenants have quotas: cells for all of those that keep within them, and a queue that is never full. Nothing
/// but deadlines, quotas and log budgets ends a guest.
const WITH_QUOTAS: &str = "[cells.standard]\ncount = 48\nqueue = 4096\n[journal]\nretained = 4096\ndeclared_error = \"1Ki\"\n[prepared]\n\
                           entries = 256\n[limits]\nfuel = 1000000000000000";
/// A node as it comes, but for the fuel.
const AS_IT_COMES: &str = "[limits]\nfuel = 1000000000000000";
/// Iterations with which the guest's speed is measured, and how often.
const PROBE: u64 = 1_000_000;
const PROBES: usize = 20;
/// What each tenant deploys.
const FIXTURES: [&str; 3] = ["containment-capsule", "memory-fill", "stdout"];

/// A node with tenants.
pub struct Ground {
    /// Its process.
    pub served: Served,
    /// Who may see and change everything.
    pub operator: Client,
    /// The tenant that is to be treated fairly.
    pub victim: Client,
    /// The others, by name and token.
    others: Vec<(String, String)>,
    /// Iterations that take [`WORK`] when nobody else computes.
    pub iterations: u64,
    _dir: TempDir,
}

impl Ground {
    /// A node whose tenants will have quotas, with so many others.
    ///
    /// # Errors
    /// What went wrong with it.
    pub async fn with_quotas(program: &Path, others: usize) -> Result<Self, String> {
        Self::new(program, WITH_QUOTAS, others).await
    }

    /// A node as it comes.
    ///
    /// # Errors
    /// What went wrong with it.
    pub async fn as_it_comes(program: &Path, others: usize) -> Result<Self, String> {
        Self::new(program, AS_IT_COMES, others).await
    }

    async fn new(program: &Path, config: &str, others: usize) -> Result<Self, String> {
        let dir = tempfile::tempdir().map_err(|error| format!("no directory: {error}"))?;
        let home = Home::new(program, dir.path(), config).map_err(|error| format!("no configuration: {error}"))?;
        let served = home.serve().await?;
        let operator = served.client()?;
        let victim = made(&served, &operator, "victim").await?.0;
        let mut made_others = Vec::with_capacity(others);
        for other in 0..others {
            let name = format!("other-{other}");
            let (_client, token) = made(&served, &operator, &name).await?;
            made_others.push((name, token));
        }
        let iterations = calibrated(&victim).await?;
        Ok(Self { served, operator, victim, others: made_others, iterations, _dir: dir })
    }

    /// Gives the first tenants the quotas of their kinds, and the order to be so.
    ///
    /// # Errors
    /// What the node said to a quota.
    pub async fn order(&self, kinds: &[Kind]) -> Result<Order, String> {
        let mut parties = Vec::with_capacity(kinds.len());
        for (kind, (name, token)) in kinds.iter().zip(&self.others) {
            let live = match kind {
                Kind::Queue => Some(DEEP as u64),
                Kind::Equal => None,
                Kind::Spinner | Kind::Memory | Kind::Logs | Kind::Leaver => Some(LIVE as u64),
            };
            let quota = quota(&self.operator, name, Quota { live, ..Quota::default() }).await;
            quota.map_err(|error| format!("the quota of {name}: {error}"))?;
            let iterations = if *kind == Kind::Queue { self.within(JOB) } else { self.iterations };
            parties.push(Party { token: token.clone(), kind: *kind, iterations });
        }
        Ok(Order { addresses: [self.served.invoke, self.served.control], parties })
    }

    fn within(&self, time: Duration) -> u64 {
        let iterations = u128::from(self.iterations) * time.as_nanos() / WORK.as_nanos();
        u64::try_from(iterations).unwrap_or(u64::MAX)
    }
}

async fn made(served: &Served, operator: &Client, name: &str) -> Result<(Client, String), String> {
    let token = tenant(operator, name).await?;
    let client = served.client_with(&token)?;
    for fixture in FIXTURES {
        deploy(&client, fixture).await?;
    }
    Ok((client, token))
}

/// How many iterations take [`WORK`], by the fastest of some calls.
async fn calibrated(client: &Client) -> Result<u64, String> {
    let mut fastest = Duration::MAX;
    for _ in 0..PROBES {
        let answer = client.invoke(burn(PROBE)).await.map_err(|error| format!("the probe: {error}"))?;
        let used = answer.consumption.and_then(|used| used.wall_time).ok_or("an answer without its consumption")?;
        fastest = fastest.min(from_duration(&used));
    }
    let iterations = u128::from(PROBE) * WORK.as_nanos() / fastest.as_nanos().max(1);
    Ok(u64::try_from(iterations).unwrap_or(u64::MAX))
}
