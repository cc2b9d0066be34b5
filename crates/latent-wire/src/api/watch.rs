//! `WatchActivation`: the events of an activation, those that happened and then each as it happens.
//!
//! Invariant: events come in order, each once, and the stream ends after the terminal one. Who reads slowly gets the same
//! events later, because they are kept with the record and not for the reader.

mod source;

use std::collections::VecDeque;

use futures_util::StreamExt;
use futures_util::stream;
use latent_activation::LifecycleEvent;
use latent_node::access::Role;

use super::activations::{activation_id, missing};
use super::{Api, CallContext, EventStream, Refused};
use crate::convert::activation as convert;
use crate::proto;
use source::Source;

/// Where a watcher is.
struct Watcher {
    source: Source,
    /// The last event that was looked at.
    seen: u64,
    /// Looked at and not yet told.
    waiting: VecDeque<LifecycleEvent>,
    ended: bool,
}

impl Api {
    /// `WatchActivation`. The stream ends with an error when the record is evicted before its end was told.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn watch_activation(
        &self,
        caller: &CallContext,
        request: proto::WatchActivationRequest,
    ) -> Result<EventStream, Refused> {
        caller.require(Role::Invoke)?;
        let id = activation_id(request.activation_id)?;
        let source = Source::new(&self.ports.manager, caller.tenant(), &id).map_err(|gone| missing(&gone, &id))?;
        let watcher = Watcher { source, seen: request.after_sequence, waiting: VecDeque::new(), ended: false };
        let events = stream::unfold(watcher, |mut watcher| async move {
            let event = watcher.next().await?;
            Some((event.map(|event| convert::event(&event)), watcher))
        });
        Ok(events.boxed())
    }
}

impl Watcher {
    async fn next(&mut self) -> Option<Result<LifecycleEvent, Refused>> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(Ok(event));
            }
            if self.ended {
                return None;
            }
            match self.source.events_after(self.seen) {
                Ok(events) => {
                    self.ended = self.source.is_over();
                    self.seen = events.last().map_or(self.seen, |event| event.sequence);
                    self.waiting.extend(events);
                }
                Err(gone) => {
                    self.ended = true;
                    return Some(Err(missing(&gone, self.source.id()).into()));
                }
            }
            if self.waiting.is_empty() && !self.ended {
                self.source.changed().await;
            }
        }
    }
}
