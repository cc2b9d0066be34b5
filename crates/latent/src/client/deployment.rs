//! `latent deployment`: what of a tenant is called.

use clap::{Args, Subcommand};
use latent_wire::proto::{DeleteDeploymentRequest, Deployment, GetDeploymentRequest, ListDeploymentsRequest};

use super::finding::NodeArgs;
use super::http::Http;
use super::listing::{self, LimitArgs, PageAsk, Rows};
use super::session::{Ended, Session};
use super::shown::short;
use super::table::{Facts, Table};
use crate::ending::Exit;
use crate::printable::Printable;

pub const EXAMPLES: &str = "\
JSON output: one deployment a line {service, deployment, release, weight, revision, generation, manifest}; of delete
{deployment, generation}. A key that is absent is 0, false or empty; 64-bit numbers are strings.

Examples:
  latent deployment list
  latent deployment list --service text-stats --output json
  latent deployment get text-stats blue
  latent deployment delete text-stats blue --expected-generation 7";

/// What `latent deployment` takes.
#[derive(Debug, Args)]
pub struct DeploymentArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub node: NodeArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Lists the tenant's deployments
    List {
        /// Those of this service alone
        #[arg(long, value_name = "SERVICE")]
        service: Option<String>,
        #[command(flatten)]
        limit: LimitArgs,
    },
    /// Shows one deployment and its manifest
    Get {
        /// Its service
        service: String,
        /// Its name
        deployment: String,
    },
    /// Deletes one deployment; its release stays
    Delete {
        /// Its service
        service: String,
        /// Its name
        deployment: String,
        /// Only if its generation is this one, which `get` shows
        #[arg(long, value_name = "N")]
        expected_generation: Option<u64>,
    },
}

/// Does what the verb says.
pub async fn run(args: &DeploymentArgs, session: &Session) -> Result<Exit, Ended> {
    match &args.verb {
        Verb::List { service, limit } => list(service.as_ref(), limit, session).await,
        Verb::Get { service, deployment } => {
            let request = GetDeploymentRequest { service: service.clone(), deployment: deployment.clone() };
            let found = session.client.get_deployment(request).await.map_err(|error| session.ended(error))?;
            session.done(&found, || shown(&found))
        }
        Verb::Delete { service, deployment, expected_generation } => {
            let request = DeleteDeploymentRequest {
                service: service.clone(),
                deployment: deployment.clone(),
                expected_generation: *expected_generation,
            };
            let answer = session.client.delete_deployment(request).await.map_err(|error| session.ended(error))?;
            session.done(&answer, || format!("deleted {}/{}\n", Printable(service), Printable(deployment)))
        }
    }
}

async fn list(service: Option<&String>, limit: &LimitArgs, session: &Session) -> Result<Exit, Ended> {
    let mut rows = Rows::new(limit);
    while let Some(PageAsk { page_size, page_token }) = rows.next() {
        let service = service.cloned().unwrap_or_default();
        let request = ListDeploymentsRequest { service, page_size, page_token };
        let page = session.client.list_deployments(request).await.map_err(|error| session.ended(error))?;
        rows.take(page.deployments, page.next_page_token);
    }
    listing::print(session, rows, table)?;
    Ok(Exit::Success)
}

/// A table of deployments; with their HTTP routes and grants where one has any.
fn table(deployments: &[Deployment]) -> Table {
    let https: Vec<Http> = deployments.iter().map(|row| Http::of(&row.manifest)).collect();
    let (routed, granted) = (https.iter().any(Http::is_routed), https.iter().any(Http::is_granted));
    let head = ["SERVICE", "DEPLOYMENT", "WEIGHT", "RELEASE", "REVISION", "GENERATION"];
    let more = routed.then_some("HTTP").into_iter().chain(granted.then_some("OUTGOING"));
    let mut table = Table::new(&head.into_iter().chain(more).collect::<Vec<_>>());
    for (row, http) in deployments.iter().zip(https) {
        let cells = [
            row.service.clone(),
            row.deployment.clone(),
            row.weight.to_string(),
            short(&row.release),
            short(&row.revision),
            row.generation.to_string(),
        ];
        let more = routed.then(|| http.routes()).into_iter().chain(granted.then(|| http.outgoing()));
        table.row(cells.into_iter().chain(more));
    }
    table
}

fn shown(deployment: &Deployment) -> String {
    let http = Http::of(&deployment.manifest);
    Facts::default()
        .with("service", &deployment.service)
        .with("deployment", &deployment.deployment)
        .with("weight", deployment.weight)
        .with("release", &deployment.release)
        .with("revision", &deployment.revision)
        .with("generation", deployment.generation)
        .with("http", http.routes())
        .with("outgoing", http.outgoing())
        .with("manifest", &deployment.manifest)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_tells_deployments_apart_and_one_is_shown_whole() {
        let deployment = Deployment {
            service: "s".to_owned(),
            deployment: "blue".to_owned(),
            release: "0123456789abcdef".to_owned(),
            weight: 20,
            revision: "fedcba9876543210".to_owned(),
            generation: 7,
            manifest: "{}".to_owned(),
        };
        let text = table(std::slice::from_ref(&deployment)).to_string();
        let row: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(row, ["s", "blue", "20", "0123456789ab", "fedcba987654", "7"]);
        let manifest = r#"{"http":{"routes":["a/b"]},"outgoing":["https://c"]}"#.to_owned();
        let http = Deployment { manifest, ..deployment.clone() };
        let text = table(&[deployment.clone(), http.clone()]).to_string();
        assert!(text.lines().next().unwrap().ends_with("GENERATION  HTTP  OUTGOING"), "{text}");
        assert!(text.lines().last().unwrap().ends_with("a/b   https://c"), "{text}");
        assert!(shown(&http).contains("http        a/b\noutgoing    https://c\n"), "{}", shown(&http));
        assert!(shown(&deployment).contains("revision    fedcba9876543210\n"), "{}", shown(&deployment));
    }
}
