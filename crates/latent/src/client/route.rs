//! `latent route`: where calls go, and why.

use clap::{Args, Subcommand};
use latent_wire::proto::{Candidate, GetRouteRequest, ResolveRequest, ResolveResponse};

use super::finding::NodeArgs;
use super::http::Http;
use super::invoke::target::Called;
use super::session::{Ended, Session};
use super::shown::short;
use super::table::Table;
use crate::ending::Exit;
use crate::printable::Printable;

pub const EXAMPLES: &str = "\
JSON output: of get {service, route, candidates [{deployment, revision, release, weight, eligible, http_routes,
http_authentication}], catalog_generation}; of resolve {revision, candidates, why, total_weight, ticket}. A key that is
absent is 0, false or empty.

Examples:
  latent route get text-stats
  latent route resolve text-stats/analyze#reverse --id order-4711
  latent route resolve web/wasi:http/incoming-handler#handle --id order-4711";

/// What `latent route` takes.
#[derive(Debug, Args)]
pub struct RouteArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub node: NodeArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Shows the deployments that a route chooses among, and their weights
    Get {
        /// The service
        service: String,
        /// The route: `default`, or the name of one deployment
        #[arg(default_value = "default")]
        route: String,
    },
    /// Says which revision an activation of this id would get, and why
    Resolve {
        /// What would be called: SERVICE[/CONTRACT]#FUNCTION
        #[arg(value_name = "SERVICE[/CONTRACT]#FUNCTION", value_parser = Called::parse)]
        called: Called,
        /// The id that it would have; the choice depends on it
        #[arg(long, value_name = "ID")]
        id: String,
        /// The route: `default`, or the name of one deployment
        #[arg(long, value_name = "ROUTE", default_value = "default")]
        route: String,
    },
}

/// Does what the verb says.
pub async fn run(args: &RouteArgs, session: &Session) -> Result<Exit, Ended> {
    match &args.verb {
        Verb::Get { service, route } => {
            let request = GetRouteRequest { service: service.clone(), route: route.clone() };
            let found = session.client.get_route(request).await.map_err(|error| session.ended(error))?;
            session.done(&found, || candidates(&found.candidates, false))
        }
        Verb::Resolve { called, id, route } => {
            let request = ResolveRequest {
                service: called.service.clone(),
                route: route.clone(),
                contract: called.contract.clone(),
                function: called.function.clone(),
                activation_id: id.clone(),
            };
            let answer = session.client.resolve(request).await.map_err(|error| session.ended(error))?;
            session.done(&answer, || resolved(&answer))
        }
    }
}

/// A table of candidates; whether they are eligible is known for a call alone.
fn candidates(candidates: &[Candidate], is_for_call: bool) -> String {
    let routed = candidates.iter().any(|row| !row.http_routes.is_empty());
    let more = is_for_call.then_some("ELIGIBLE").into_iter().chain(routed.then_some("HTTP"));
    let head = ["DEPLOYMENT", "WEIGHT", "RELEASE", "REVISION"];
    let mut table = Table::new(&head.into_iter().chain(more).collect::<Vec<_>>());
    for row in candidates {
        let mut cells = vec![row.deployment.clone(), row.weight.to_string(), short(&row.release), short(&row.revision)];
        if is_for_call {
            cells.push(if row.eligible { "yes" } else { "no" }.to_owned());
        }
        if routed {
            cells.push(Http::routed(&row.http_routes, &row.http_authentication).routes());
        }
        table.row(cells);
    }
    table.to_string()
}

fn resolved(answer: &ResolveResponse) -> String {
    let chosen = answer.revision.as_ref().map(|revision| (revision.deployment.as_str(), short(&revision.id)));
    let (deployment, revision) = chosen.unwrap_or_default();
    let first = format!("{}, revision {}: {}\n", Printable(deployment), Printable(&revision), Printable(&answer.why));
    format!("{first}{}", candidates(&answer.candidates, true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_wire::proto::Revision;

    #[test]
    fn a_choice_is_told_with_its_reason_and_its_candidates() {
        let candidate = |deployment: &str, eligible| Candidate {
            deployment: deployment.to_owned(),
            weight: 100,
            eligible,
            ..Default::default()
        };
        let answer = ResolveResponse {
            revision: Some(Revision {
                deployment: "blue".to_owned(),
                id: "0123456789abcdef".to_owned(),
                ..Default::default()
            }),
            candidates: vec![candidate("blue", true), candidate("green", false)],
            why: "the only one".to_owned(),
            ..Default::default()
        };
        let text = resolved(&answer);
        assert!(text.starts_with("blue, revision 0123456789ab: the only one\n"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("green") && line.ends_with("no")), "{text}");
        assert!(!candidates(&answer.candidates, false).contains("ELIGIBLE") && !text.contains("HTTP"));
        let routes = vec!["a/b".to_owned()];
        let http =
            Candidate { http_routes: routes, http_authentication: "bearer".to_owned(), ..candidate("blue", true) };
        let text = candidates(&[http, candidate("green", true)], false);
        assert!(text.contains("REVISION  HTTP\n") && text.contains("a/b (bearer)\n"), "{text}");
    }
}
