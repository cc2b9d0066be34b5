//! `latent credential`: what callers prove with who they are.
//!
//! Invariant: a token is printed once, when it is made, and by nothing else.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use latent_wire::client::times::to_duration;
use latent_wire::proto::{
    CreateCredentialRequest, CreateCredentialResponse, Credential, ListCredentialsRequest, RevokeCredentialRequest,
};

use super::finding::NodeArgs;
use super::listing::{self, LimitArgs, PageAsk, Rows};
use super::session::{Ended, Session};
use super::shown::time;
use super::table::Table;
use crate::ending::Exit;
use crate::printable::Printable;
use crate::quantities::parse_duration;

pub const EXAMPLES: &str = "\
Needs a credential with the role operate.

JSON output: of create {credential {id, tenant, subject, roles, created_at, expires_at}, token}; of list one
credential a line. A key that is absent is empty; without expires_at a credential holds until it is revoked.

Examples:
  latent credential create --tenant acme --subject ci --role deploy --role invoke > ci.token
  latent credential create --tenant acme --subject web --role invoke --lifetime 90d > web.token
  latent credential list --tenant acme
  latent credential revoke c-81c3";

/// What `latent credential` takes.
#[derive(Debug, Args)]
pub struct CredentialArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub node: NodeArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Makes a credential and prints its token, which cannot be shown again
    Create {
        /// Its one tenant
        #[arg(long, value_name = "TENANT")]
        tenant: String,
        /// Who the caller is, for guests and records
        #[arg(long, value_name = "SUBJECT")]
        subject: String,
        /// What it may be used for; may be given several times
        #[arg(long = "role", value_name = "ROLE", value_enum, required = true)]
        roles: Vec<Role>,
        /// How long it holds [default: until it is revoked]
        #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
        lifetime: Option<Duration>,
        /// For mutual TLS instead of a token: the SHA-256 of the client's certificate in DER
        #[arg(long, value_name = "DIGEST")]
        certificate_sha256: Option<String>,
    },
    /// Lists credentials, without their tokens
    List {
        /// Those of this tenant alone
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        #[command(flatten)]
        limit: LimitArgs,
    },
    /// Makes a credential worthless from now on
    Revoke {
        /// Its id
        id: String,
    },
}

/// What a credential may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Invoke, and see and cancel the tenant's activations and read their logs
    Invoke,
    /// Publish releases and change deployments of the tenant
    Deploy,
    /// Operate the node: tenants, credentials, inventory, drain, backup, everybody's usage
    Operate,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Invoke => "invoke",
            Self::Deploy => "deploy",
            Self::Operate => "operate",
        }
    }
}

/// Does what the verb says.
pub async fn run(args: &CredentialArgs, session: &Session) -> Result<Exit, Ended> {
    match &args.verb {
        Verb::Create { tenant, subject, roles, lifetime, certificate_sha256 } => {
            let request = CreateCredentialRequest {
                tenant: tenant.clone(),
                subject: subject.clone(),
                roles: roles.iter().map(|role| role.name().to_owned()).collect(),
                lifetime: lifetime.map(to_duration),
                certificate_sha256: certificate_sha256.clone().unwrap_or_default(),
            };
            let answer = session.client.create_credential(request).await.map_err(|error| session.ended(error))?;
            session.print(&answer, || token_text(&answer))?;
            session.note(&made(&answer));
            Ok(Exit::Success)
        }
        Verb::List { tenant, limit } => list(tenant.as_ref(), limit, session).await,
        Verb::Revoke { id } => {
            let request = RevokeCredentialRequest { id: id.clone() };
            let answer = session.client.revoke_credential(request).await.map_err(|error| session.ended(error))?;
            session.done(&answer, || format!("revoked {}\n", Printable(id)))
        }
    }
}

/// Standard output gets the token alone, so that it can be sent into a file.
fn token_text(answer: &CreateCredentialResponse) -> String {
    if answer.token.is_empty() { String::new() } else { format!("{}\n", Printable(&answer.token)) }
}

fn made(answer: &CreateCredentialResponse) -> String {
    let id = answer.credential.as_ref().map(|credential| credential.id.as_str()).unwrap_or_default();
    let how =
        if answer.token.is_empty() { "for a certificate" } else { "with the token above, which is shown only now" };
    format!("made credential {} {how}", Printable(id))
}

async fn list(tenant: Option<&String>, limit: &LimitArgs, session: &Session) -> Result<Exit, Ended> {
    let mut rows = Rows::new(limit);
    while let Some(PageAsk { page_size, page_token }) = rows.next() {
        let tenant = tenant.cloned().unwrap_or_default();
        let request = ListCredentialsRequest { tenant, page_size, page_token };
        let page = session.client.list_credentials(request).await.map_err(|error| session.ended(error))?;
        rows.take(page.credentials, page.next_page_token);
    }
    listing::print(session, rows, table)?;
    Ok(Exit::Success)
}

fn table(credentials: &[Credential]) -> Table {
    let mut table = Table::new(&["ID", "TENANT", "SUBJECT", "ROLES", "CREATED", "EXPIRES"]);
    for row in credentials {
        table.row([
            row.id.clone(),
            row.tenant.clone(),
            row.subject.clone(),
            row.roles.join(","),
            time(row.created_at.as_ref()),
            time(row.expires_at.as_ref()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_output_gets_the_token_alone() {
        let credential = Credential { id: "c-1".to_owned(), ..Default::default() };
        let mut answer = CreateCredentialResponse { credential: Some(credential), token: "latent_abc".to_owned() };
        assert_eq!(token_text(&answer), "latent_abc\n");
        assert!(!made(&answer).contains("latent_abc") && made(&answer).contains("c-1"), "{}", made(&answer));
        answer.token.clear();
        assert_eq!(token_text(&answer), "");
        assert!(made(&answer).contains("certificate"));
    }

    #[test]
    fn roles_are_called_as_on_the_wire() {
        let names: Vec<&str> = Role::value_variants().iter().map(|role| role.name()).collect();
        let wire: Vec<&str> = latent_node::access::Role::ALL.iter().map(|role| role.as_str()).collect();
        assert_eq!(names, wire);
    }
}
