//! `latent node`: the node itself.

use std::time::Duration;

use clap::{Args, Subcommand};
use latent_wire::client::times::to_duration;
use latent_wire::proto::{DrainRequest, GetInventoryRequest, Inventory, ResumeRequest};

use super::finding::NodeArgs;
use super::session::{Ended, Session};
use super::shown;
use super::table::{Facts, Table};
use crate::ending::Exit;
use crate::quantities::parse_duration;

pub const EXAMPLES: &str = "\
JSON output: of inventory {state, version, started_at, cells [{class, capacity, available, leased, quarantined,
queued}], counts [{name, value}]}; of drain {drained, live}. A key that is absent is 0, false or empty; 64-bit
numbers are strings.

Exit codes: 0 done; 1 refused, or a drain that left activations under way; 2 wrong usage; 5 the node did not answer.

Examples:
  latent node
  latent node drain --wait 30s
  latent node resume";

/// What `latent node` takes.
#[derive(Debug, Args)]
pub struct NodeCommandArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    pub node: NodeArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Shows what the node holds; also what is shown without a verb
    Inventory,
    /// Takes no activation any more, and waits for those under way
    Drain {
        /// How long to wait for them [default: the node's grace]
        #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
        wait: Option<Duration>,
    },
    /// Takes activations again after a drain
    Resume,
}

/// Does what the verb says.
pub async fn run(args: &NodeCommandArgs, session: &Session) -> Result<Exit, Ended> {
    match &args.verb {
        None | Some(Verb::Inventory) => {
            let request = GetInventoryRequest {};
            let found = session.client.get_inventory(request).await.map_err(|error| session.ended(error))?;
            session.done(&found, || inventory(&found))
        }
        Some(Verb::Drain { wait }) => {
            let request = DrainRequest { wait: wait.map(to_duration) };
            let answer = session.client.drain(request).await.map_err(|error| session.ended(error))?;
            session.print(&answer, || drained(answer.drained, answer.live))?;
            Ok(if answer.drained { Exit::Success } else { Exit::LocalFailure })
        }
        Some(Verb::Resume) => {
            let answer = session.client.resume(ResumeRequest {}).await.map_err(|error| session.ended(error))?;
            session.done(&answer, || "it takes activations again\n".to_owned())
        }
    }
}

fn drained(is_drained: bool, live: u64) -> String {
    if is_drained {
        "drained: nothing is under way, and nothing new is taken\n".to_owned()
    } else {
        format!("not drained: {live} activations are still under way; nothing new is taken\n")
    }
}

fn inventory(found: &Inventory) -> String {
    let facts = Facts::default()
        .with("state", &found.state)
        .with("version", &found.version)
        .with("started", shown::time(found.started_at.as_ref()));
    let mut cells = Table::new(&["CELLS", "CAPACITY", "AVAILABLE", "LEASED", "QUARANTINED", "QUEUED"]);
    for class in &found.cells {
        let counts = [class.capacity, class.available, class.leased, class.quarantined, class.queued];
        cells.row(std::iter::once(class.class.clone()).chain(counts.map(|count| count.to_string())));
    }
    let mut counts = Table::new(&["COUNT", "VALUE"]);
    for count in &found.counts {
        counts.row([count.name.clone(), count.value.to_string()]);
    }
    format!("{facts}\n{cells}\n{counts}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_wire::proto::{Cells, Count};

    #[test]
    fn an_inventory_shows_state_cells_and_counts() {
        let found = Inventory {
            state: "ready".to_owned(),
            cells: vec![Cells {
                class: "standard".to_owned(),
                capacity: 16,
                available: 15,
                leased: 1,
                ..Default::default()
            }],
            counts: vec![Count { name: "stores".to_owned(), value: 1 }],
            ..Default::default()
        };
        let text = inventory(&found);
        assert!(text.starts_with("state  ready\n"), "{text}");
        let row = text.lines().find(|line| line.starts_with("standard")).unwrap();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["standard", "16", "15", "1", "0", "0"]);
        assert!(text.ends_with("stores  1\n"), "{text}");
    }

    #[test]
    fn a_drain_says_what_it_left() {
        assert!(drained(true, 0).starts_with("drained"));
        assert!(drained(false, 3).contains("3 activations"));
    }
}
