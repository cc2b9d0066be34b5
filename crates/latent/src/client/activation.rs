//! `latent activation`: how activations stand, and how to stop one.

use clap::{Args, Subcommand};
use latent_wire::client::NodeError;
use latent_wire::proto::{
    Activation, ActivationEvent, ActivationSummary, CancelDisposition, CancelRequest, CancelResponse,
    GetActivationRequest, ListActivationsRequest, Terminal, WatchActivationRequest,
};

use super::failing::LimitText;
use super::finding::NodeArgs;
use super::listing::{self, LimitArgs, PageAsk, Rows};
use super::session::{Ended, Session};
use super::shown;
use super::table::{Facts, Table};
use crate::ending::Exit;
use crate::printable::Printable;

pub const EXAMPLES: &str = "\
JSON output: of get one activation {activation_id, root_activation_id, parent_activation_id, phase, received_at,
revision, cancel_reason, terminal {state, limit, error, declared_error, media_type, output_bytes, consumption, at,
since_received}, events}; of list {activation_id, phase, terminal, received_at, cancel_accepted} a line; of watch one
event a line {sequence, phase, at, since_received, terminal}; of cancel {disposition, terminal}. A key that is absent
is 0, false or empty.

Examples:
  latent activation list
  latent activation get order-4711
  latent activation watch order-4711 --output json
  latent activation cancel order-4711 --reason \"it is not needed any more\"";

/// What `latent activation` takes.
#[derive(Debug, Args)]
pub struct ActivationArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub node: NodeArgs,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Shows one activation: where it is, or how it ended and which limit ended it
    Get {
        /// Its id
        id: String,
    },
    /// Lists the tenant's activations, the newest first, as far as the node remembers them
    List {
        #[command(flatten)]
        limit: LimitArgs,
    },
    /// Prints the events of an activation as they happen, until it ends
    Watch {
        /// Its id
        id: String,
        /// Only events after this one
        #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
        after: u64,
    },
    /// Asks an activation to stop; one that has ended stays as it ended
    Cancel {
        /// Its id
        id: String,
        /// Why; kept with the record
        #[arg(long, value_name = "TEXT", default_value = "cancelled from the command line")]
        reason: String,
    },
}

/// Does what the verb says.
pub async fn run(args: &ActivationArgs, session: &Session) -> Result<Exit, Ended> {
    match &args.verb {
        Verb::Get { id } => {
            let request = GetActivationRequest { activation_id: id.clone() };
            let found = session.client.get_activation(request).await.map_err(|error| session.ended(error))?;
            session.done(&found, || shown_activation(&found))
        }
        Verb::List { limit } => list(limit, session).await,
        Verb::Watch { id, after } => watch(id, *after, session).await,
        Verb::Cancel { id, reason } => {
            let request = CancelRequest { activation_id: id.clone(), reason: reason.clone() };
            let answer = session.client.cancel(request).await.map_err(|error| session.ended(error))?;
            session.done(&answer, || cancelled(&answer))
        }
    }
}

async fn list(limit: &LimitArgs, session: &Session) -> Result<Exit, Ended> {
    let mut rows = Rows::new(limit);
    while let Some(PageAsk { page_size, page_token }) = rows.next() {
        let request = ListActivationsRequest { page_size, page_token };
        let page = session.client.list_activations(request).await.map_err(|error| session.ended(error))?;
        rows.take(page.activations, page.next_page_token);
    }
    listing::print(session, rows, table)?;
    Ok(Exit::Success)
}

async fn watch(id: &str, after_sequence: u64, session: &Session) -> Result<Exit, Ended> {
    let request = WatchActivationRequest { activation_id: id.to_owned(), after_sequence };
    let mut events = session.client.watch_activation(request).await.map_err(|error| session.ended(error))?;
    while let Some(event) = events.next().await.map_err(|error| session.ended(error))? {
        session.print(&event, || event_line(&event))?;
    }
    Ok(Exit::Success)
}

fn table(activations: &[ActivationSummary]) -> Table {
    let mut table = Table::new(&["ACTIVATION", "SERVICE", "RECEIVED", "PHASE", "ENDED", "CANCEL"]);
    for row in activations {
        table.row([
            row.activation_id.clone(),
            row.service.clone(),
            shown::time(row.received_at.as_ref()),
            row.phase.clone(),
            row.terminal.clone(),
            if row.cancel_accepted { "accepted" } else { "" }.to_owned(),
        ]);
    }
    table
}

fn cancelled(answer: &CancelResponse) -> String {
    match answer.disposition() {
        CancelDisposition::Accepted => "accepted: it will end as cancelled\n".to_owned(),
        CancelDisposition::AlreadyTerminal => format!("it had ended: {}\n", Printable(&answer.terminal)),
        CancelDisposition::Unspecified => "the node did not say what came of it\n".to_owned(),
    }
}

fn event_line(event: &ActivationEvent) -> String {
    let end = if event.terminal.is_empty() { String::new() } else { format!(" {}", Printable(&event.terminal)) };
    let (at, since) = (shown::time(event.at.as_ref()), shown::span(event.since_received.as_ref()));
    format!("{:>3}  {at}  +{since:<9} {}{end}\n", event.sequence, Printable(&event.phase))
}

fn shown_activation(activation: &Activation) -> String {
    let facts = Facts::default()
        .with("activation", &activation.activation_id)
        .with("root", &activation.root_activation_id)
        .with("parent", &activation.parent_activation_id)
        .with("received", shown::time(activation.received_at.as_ref()))
        .with("phase", &activation.phase)
        .with("cancel", &activation.cancel_reason);
    let facts = match &activation.revision {
        Some(revision) => facts
            .with("service", &revision.service)
            .with("route", &revision.route)
            .with("deployment", &revision.deployment)
            .with("revision", &revision.id)
            .with("release", &revision.release),
        None => facts,
    };
    let facts = match &activation.terminal {
        Some(terminal) => ended(facts, terminal),
        None => facts,
    };
    activation.events.iter().fold(facts.to_string(), |text, event| text + &event_line(event))
}

fn ended(facts: Facts, terminal: &Terminal) -> Facts {
    let known = terminal.error.clone().and_then(NodeError::of);
    facts
        .with("ended", &terminal.state)
        .with("at", shown::time(terminal.at.as_ref()))
        .with("limit", &terminal.limit)
        .with("why", known.map(|node| LimitText(&node.error).to_string()).unwrap_or_default())
        .with("error", terminal.error.as_ref().map(shown::error).unwrap_or_default())
        .with("declared", String::from_utf8_lossy(&terminal.declared_error))
        .with("used", terminal.consumption.as_ref().map(shown::used).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_wire::proto::{Error, ErrorDetail, Revision};

    #[test]
    fn an_activation_that_ended_says_which_limit_ended_it() {
        let error = Error {
            code: "resource-exhausted".to_owned(),
            message: "fuel is used up".to_owned(),
            details: vec![ErrorDetail { kind: "activation.fuel-exhausted".to_owned(), fields: vec![] }],
            ..Default::default()
        };
        let terminal = Terminal {
            state: "resource-exhausted".to_owned(),
            limit: "fuel".to_owned(),
            error: Some(error),
            ..Default::default()
        };
        let events = vec![ActivationEvent { sequence: 1, phase: "received".to_owned(), ..Default::default() }];
        let activation =
            Activation { activation_id: "a".to_owned(), terminal: Some(terminal), events, ..Default::default() };
        let text = shown_activation(&activation);
        for part in
            ["ended       resource-exhausted\n", "limit       fuel\n", "stopped by its limit of fuel", "received\n"]
        {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    }

    #[test]
    fn an_activation_says_what_it_runs_where_that_is_known() {
        let revision = Revision {
            service: "s".to_owned(),
            route: "blue".to_owned(),
            deployment: "d".to_owned(),
            ..Revision::default()
        };
        let text = shown_activation(&Activation { revision: Some(revision), ..Default::default() });
        assert!(text.contains("service     s\n") && text.contains("route       blue\n"), "{text}");
        assert!(!shown_activation(&Activation::default()).contains("service"));
        let row = ActivationSummary {
            activation_id: "a".to_owned(),
            service: "s".to_owned(),
            phase: "running".to_owned(),
            ..Default::default()
        };
        let table = table(&[row]).to_string();
        assert!(table.lines().last().is_some_and(|line| line.starts_with("a ") && line.contains(" s ")), "{table}");
    }

    #[test]
    fn what_came_of_a_cancel_is_told() {
        let mut answer = CancelResponse::default();
        answer.set_disposition(CancelDisposition::Accepted);
        assert!(cancelled(&answer).starts_with("accepted"));
        answer.set_disposition(CancelDisposition::AlreadyTerminal);
        answer.terminal = "completed\u{1b}".to_owned();
        assert_eq!(cancelled(&answer), "it had ended: completed\\u{1b}\n");
    }

    #[test]
    fn the_last_event_has_the_end() {
        let event = ActivationEvent {
            sequence: 7,
            phase: "running".to_owned(),
            terminal: "completed".to_owned(),
            ..Default::default()
        };
        assert!(event_line(&event).ends_with("running completed\n"), "{}", event_line(&event));
    }
}
