//! `WatchActivation`: the events of an activation, those that happened and then each as it happens.
//!
//! Invariant: events come in order, each once, and the stream ends after the terminal one. Who reads slowly gets the same
//! events later, because they are kept with the record and not for the reader.

use std::collections::VecDeque;

use futures_util::{StreamExt, stream};
use latent_activation::LifecycleEvent;
use latent_activation::journal::{ActivationWatch, Lookup};
use latent_node::access::Role;

use super::activations::{activation_id, missing};
use super::{Api, CallContext, EventStream, Refused};
use crate::convert::activation as convert;
use crate::proto;

/// Where a watcher is.
struct Watcher {
    watch: ActivationWatch,
    /// The last event that was looked at.
    seen: u64,
    /// Looked at and not yet told.
    waiting: VecDeque<LifecycleEvent>,
}

impl Api {
    /// `WatchActivation`. Dropping the stream ends the watching, and nothing else.
    ///
    /// # Errors
    /// As [`Api`] says; retryable `resource-exhausted`, detail `activation.watchers-exhausted`, when as many watch as may.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn watch_activation(
        &self,
        caller: &CallContext,
        request: proto::WatchActivationRequest,
    ) -> Result<EventStream, Refused> {
        caller.require(Role::Invoke)?;
        let id = activation_id(request.activation_id)?;
        let watch = match self.ports.manager.watch(caller.tenant(), &id)? {
            Lookup::Found(watch) => watch,
            gone => return Err(missing(&gone, &id).into()),
        };
        let watcher = Watcher { watch, seen: request.after_sequence, waiting: VecDeque::new() };
        let events = stream::unfold(watcher, |mut watcher| async move {
            let event = watcher.next().await?;
            Some((Ok(convert::event(&event)), watcher))
        });
        Ok(events.boxed())
    }
}

impl Watcher {
    /// The next event; `None` after the terminal one.
    async fn next(&mut self) -> Option<LifecycleEvent> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            self.waiting.extend(self.watch.events_after(self.seen));
            match self.waiting.back() {
                Some(last) => self.seen = last.sequence,
                None if self.watch.changed().await => {}
                None => return None,
            }
        }
    }
}
