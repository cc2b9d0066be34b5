//! `latent release`: components of a tenant.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use latent_wire::proto::{DeleteReleaseRequest, GetReleaseRequest, ListReleasesRequest, Release};

use super::finding::NodeArgs;
use super::listing::{self, LimitArgs, PageAsk, Rows};
use super::session::{Ended, Session};
use super::table::{Facts, Table};
use super::upload;
use crate::ending::Exit;
use crate::printable::Printable;
use crate::quantities::Size;

pub const EXAMPLES: &str = "\
JSON output: one release a line {digest, component_bytes, manifest, functions [{contract, function, signature}],
imports, declared_memory_bytes, http_handler}; of publish {release, created}. A key that is absent is 0, false or empty; 64-bit
numbers are strings.

Examples:
  latent release publish text-stats.wasm
  latent release publish text-stats.wasm --manifest capsule.json
  latent release list
  latent release get 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  latent release delete 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// What `latent release` takes.
#[derive(Debug, Args)]
pub struct ReleaseArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub node: NodeArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Sends a component to the node, which checks and keeps it; prints its digest
    Publish {
        /// The component: a `.wasm` file, or a `.wat` file with component text
        file: PathBuf,
        /// The capsule manifest, which narrows what of the component is offered [default: all of it]
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
    },
    /// Shows one release and what it exports and imports
    Get {
        /// Its digest
        digest: String,
    },
    /// Lists the tenant's releases in order of digest
    List {
        #[command(flatten)]
        limit: LimitArgs,
    },
    /// Deletes a release that no deployment refers to
    Delete {
        /// Its digest
        digest: String,
    },
}

/// Does what the verb says.
pub async fn run(args: &ReleaseArgs, session: &Session) -> Result<Exit, Ended> {
    match &args.verb {
        Verb::Publish { file, manifest } => {
            let answer = upload::publish(session, file, manifest.as_deref()).await?;
            let release = answer.release.as_ref();
            session.print(&answer, || {
                release.map(|release| format!("{}\n", Printable(&release.digest))).unwrap_or_default()
            })?;
            if let Some(release) = release {
                let (known, bytes) =
                    (if answer.created { "published" } else { "was published before" }, release.component_bytes);
                session.note(&format!("{known}: {}, {}", Size(bytes), offered(release)));
            }
            Ok(Exit::Success)
        }
        Verb::Get { digest } => {
            let request = GetReleaseRequest { digest: digest.clone() };
            let release = session.client.get_release(request).await.map_err(|error| session.ended(error))?;
            session.done(&release, || shown(&release))
        }
        Verb::List { limit } => list(limit, session).await,
        Verb::Delete { digest } => {
            let request = DeleteReleaseRequest { digest: digest.clone() };
            let answer = session.client.delete_release(request).await.map_err(|error| session.ended(error))?;
            session.done(&answer, || format!("deleted {}\n", Printable(digest)))
        }
    }
}

async fn list(limit: &LimitArgs, session: &Session) -> Result<Exit, Ended> {
    let mut rows = Rows::new(limit);
    while let Some(PageAsk { page_size, page_token }) = rows.next() {
        let request = ListReleasesRequest { page_size, page_token };
        let page = session.client.list_releases(request).await.map_err(|error| session.ended(error))?;
        rows.take(page.releases, page.next_page_token);
    }
    listing::print(session, rows, table)?;
    Ok(Exit::Success)
}

fn table(releases: &[Release]) -> Table {
    let mut table = Table::new(&["DIGEST", "SIZE", "FUNCTIONS", "MEMORY"]);
    for release in releases {
        table.row([
            release.digest.clone(),
            Size(release.component_bytes).to_string(),
            release.functions.len().to_string(),
            Size(release.declared_memory_bytes).to_string(),
        ]);
    }
    table
}

fn shown(release: &Release) -> String {
    let facts = Facts::default()
        .with("digest", &release.digest)
        .with("size", Size(release.component_bytes))
        .with("memory", format!("begins with {}", Size(release.declared_memory_bytes)))
        .with("manifest", &release.manifest);
    let functions = release.functions.iter().fold(facts, |facts, function| {
        facts.with("function", format!("{}#{}: {}", function.contract, function.function, function.signature))
    });
    let served = if release.http_handler.is_empty() { "" } else { ", which is served over HTTP" };
    let functions = functions.with("http", format!("{}{served}", release.http_handler));
    release.imports.iter().fold(functions, |facts, import| facts.with("import", import)).to_string()
}

/// `2 functions and an HTTP handler`.
fn offered(release: &Release) -> String {
    let handler = if release.http_handler.is_empty() { "" } else { " and an HTTP handler" };
    match release.functions.len() {
        1 => format!("1 function{handler}"),
        functions => format!("{functions} functions{handler}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_wire::proto::Function;

    #[test]
    fn a_release_is_shown_with_what_it_exports() {
        let release = Release {
            digest: "beef".to_owned(),
            component_bytes: 2048,
            functions: vec![Function {
                contract: "a:b/c@1.0.0".to_owned(),
                function: "run".to_owned(),
                signature: "func() -> string".to_owned(),
            }],
            imports: vec!["wasi:cli/environment@0.2.0".to_owned()],
            declared_memory_bytes: 65_536,
            ..Default::default()
        };
        let text = shown(&release);
        assert!(text.contains("function  a:b/c@1.0.0#run: func() -> string\n"), "{text}");
        assert!(text.contains("import    wasi:cli/environment@0.2.0\n"), "{text}");
        assert!(!text.contains("http"), "{text}");
        let handler = "wasi:http/incoming-handler@0.2.3#handle".to_owned();
        let serving = Release { http_handler: handler, ..release.clone() };
        let line = "http      wasi:http/incoming-handler@0.2.3#handle, which is served over HTTP\n";
        assert!(shown(&serving).contains(line), "{}", shown(&serving));
        assert_eq!(
            (offered(&release), offered(&serving)),
            ("1 function".to_owned(), "1 function and an HTTP handler".to_owned())
        );
        let rows = "DIGEST  SIZE     FUNCTIONS  MEMORY\nbeef    2.0 KiB  1          64.0 KiB\n";
        assert_eq!(table(&[release]).to_string(), rows);
    }
}
