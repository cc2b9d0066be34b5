//! What is done to handles: polls, cancels, interruptions, drops.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use latent_activation::CancelDisposition;
use latent_core::{ActivationId, ActivationOutcome};
use latent_node::{ActivationReceipt, ActivationTransportInterruption as Interruption};

use crate::backend::now;
use crate::board::Index;
use crate::ends;
use crate::trace::What;
use crate::world::{Checked, TENANTS, World};

impl World {
    /// Polls somebody who was woken or is new, or anybody at all.
    pub fn poll_somebody(&mut self, woken: bool) -> Checked {
        let able: Vec<_> = self.open().filter(|index| !woken || self.activations[*index].flag.is_set()).collect();
        if able.is_empty() {
            return Ok(());
        }
        let index = self.random.pick(&able);
        self.poll(index)
    }

    pub fn poll(&mut self, index: Index) -> Checked {
        let before = (!self.activations[index].polled).then(|| self.conditions(index));
        // An executor may poll with another waker each time; wakes of the former one reach nobody.
        let another_waker = self.random.percent(25);
        let activation = &mut self.activations[index];
        let mut handle = activation.handle.take().expect("only whoever is open is polled");
        let woken = activation.flag.is_set();
        activation.flag.clear();
        activation.polled = true;
        activation.polled_at = Some(now());
        if another_waker {
            activation.flag = Arc::default();
        }
        let waker = Waker::from(Arc::clone(&activation.flag));
        self.board.lock().current = Some(index);
        let polled = Pin::new(&mut handle).poll(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            self.activations[index].handle = Some(handle);
        } else {
            drop(handle);
        }
        if let Some(before) = before {
            self.first_polled(index, &before)?;
        }
        self.note_hand_over(index);
        self.note_place(index);
        self.check_promises(index)?;
        match polled {
            Poll::Pending => {
                self.note(What::Polled { index, woken, ended: None });
                Ok(())
            }
            Poll::Ready(receipt) => {
                let ended = Some(receipt.outcome.terminal_state());
                self.note(What::Polled { index, woken, ended });
                self.ended(index, &receipt)
            }
        }
    }

    fn note_hand_over(&mut self, index: Index) {
        let facts = self.board.facts(index);
        let activation = &mut self.activations[index];
        if facts.cancelled_inside && !activation.cancelled {
            activation.cancelled = true;
            activation.stop_at.get_or_insert_with(now);
        } else if activation.stopped_at().is_some_and(|stopped| stopped <= now()) {
            activation.stop_seen_at.get_or_insert_with(now);
        }
        if activation.handed_over.is_none() && (facts.run_over_at.is_some() || !activation.is_open()) {
            activation.handed_over = Some(activation.evidence(now()));
        }
    }

    fn ended(&mut self, index: Index, receipt: &ActivationReceipt) -> Checked {
        let facts = self.board.facts(index);
        let state = receipt.outcome.terminal_state();
        let wrong = |what: String| format!("activation {index}: {what}; {facts:?}");
        self.meet(index, &receipt.outcome);
        self.close(index, state);
        ends::check(&self.activations[index], &facts, &receipt.outcome).map_err(wrong)?;
        if receipt.consumption.fuel != facts.fuel_used {
            return Err(wrong(format!("it used {} and is charged {:?}", facts.fuel_used, receipt.consumption)));
        }
        if receipt.activation_id != self.activations[index].id {
            return Err(wrong(format!("its receipt is that of {}", receipt.activation_id)));
        }
        if receipt.resolved.is_some() != self.activations[index].resolved {
            return Err(wrong("its receipt and its record differ in the revision".to_owned()));
        }
        self.check_record(index, &receipt.outcome).map_err(wrong)
    }

    fn meet(&self, index: Index, outcome: &ActivationOutcome) {
        let cases = crate::seen::cases(&self.activations[index], &self.board.facts(index), outcome);
        for case in cases {
            self.trace.met(case);
        }
    }

    /// The model's side of an end.
    pub fn close(&mut self, index: Index, state: latent_core::TerminalState) {
        let activation = &mut self.activations[index];
        activation.ended = Some(state);
        activation.waits_since = None;
        activation.promised_at = None;
        let named = (self.tenants[activation.tenant].clone(), activation.id.clone());
        self.board.lock().open.remove(&named);
        self.continuations.retain(|continuing| *continuing != index);
        self.retained.push_back((now(), index));
        let retention = self.node.rules.retention;
        self.retained.retain(|(at, _)| now() - *at < retention);
        while self.retained.len() > self.node.rules.terminal_max {
            let place = self.gives_way();
            self.retained.remove(place);
        }
    }

    /// Which record goes when there are too many: the oldest of the tenant that has most, and of equals the oldest.
    fn gives_way(&self) -> usize {
        let tenant = |index: Index| self.activations[index].tenant;
        let held = |of| self.retained.iter().filter(|(_, index)| tenant(*index) == of).count();
        let most = (0..TENANTS).map(held).max().unwrap_or(0);
        let oldest = self.retained.iter().position(|(_, index)| held(tenant(*index)) == most);
        oldest.expect("somebody holds most")
    }

    pub fn cancel(&mut self) -> Checked {
        let tenant = self.random.index(TENANTS);
        if self.activations.is_empty() || self.random.percent(5) {
            let unknown = ActivationId::new("nobody").expect("a word is an id");
            let disposition = self.node.manager.cancel_for(&self.tenants[tenant], &unknown, "unknown");
            return match disposition {
                CancelDisposition::NotFound => Ok(()),
                other => Err(format!("an unknown activation was cancelled: {other:?}")),
            };
        }
        let recent = self.activations.len().saturating_sub(30);
        let some = recent + self.random.index(self.activations.len() - recent);
        let own = self.activations[some].tenant;
        let tenant = if self.random.percent(85) { own } else { tenant };
        let id = self.activations[some].id.clone();
        let index = self.names.get(&(tenant, id.clone())).copied();
        let expected = match index {
            Some(index) if self.activations[index].is_open() => CancelDisposition::Accepted,
            Some(index) if self.is_retained(index) => {
                let state = self.activations[index].ended.expect("whoever is not open has ended");
                CancelDisposition::AlreadyTerminal(state)
            }
            _ => CancelDisposition::NotFound,
        };
        let disposition = self.node.manager.cancel_for(&self.tenants[tenant], &id, "simulated");
        self.note(What::Cancelled { index: some, tenant, disposition });
        if disposition != expected {
            return Err(format!("a cancel of {index:?} was {disposition:?}; expected {expected:?}"));
        }
        if let (Some(index), CancelDisposition::Accepted) = (index, disposition) {
            self.activations[index].cancelled = true;
            self.activations[index].stop_at.get_or_insert_with(now);
        }
        Ok(())
    }

    pub fn interrupt_somebody(&mut self) {
        let open: Vec<_> = self.open().collect();
        if open.is_empty() {
            return;
        }
        let index = self.random.pick(&open);
        let how = self.random.pick(&[Interruption::Disconnected, Interruption::DeadlineExceeded]);
        self.note(What::Interrupted { index, how });
        let activation = &mut self.activations[index];
        let handle = activation.handle.take().expect("it is open");
        activation.handle = Some(handle.interrupt_for_cleanup(how));
        activation.interrupted.get_or_insert(how);
        activation.stop_at.get_or_insert_with(now);
        if !self.continuations.contains(&index) {
            self.continuations.push(index);
        }
    }

    pub fn drop_somebody(&mut self) {
        let open: Vec<_> = self.open().collect();
        if open.is_empty() {
            return;
        }
        let index = self.random.pick(&open);
        self.board.lock().current = Some(index);
        let activation = &mut self.activations[index];
        activation.dropped = true;
        activation.handed_over = Some(activation.evidence(now()));
        drop(activation.handle.take());
    }

    /// The end that a drop published.
    pub fn ended_by_drop(&mut self) -> Checked {
        let current = self.board.lock().current;
        let Some(index) = current else { return Ok(()) };
        let (tenant, id) = self.name(index);
        let status = self.node.manager.status(tenant, id).found();
        let terminal = status.and_then(|status| status.terminal);
        let terminal = terminal.ok_or_else(|| format!("activation {index} was dropped and has not ended"))?;
        let facts = self.board.facts(index);
        let outcome = match terminal.outcome {
            latent_activation::journal::RetainedOutcome::Failed(error) => {
                ActivationOutcome::Failed { terminal_state: terminal.state, error }
            }
            other => return Err(format!("activation {index} was dropped and ended as {other:?}")),
        };
        self.meet(index, &outcome);
        self.close(index, terminal.state);
        self.note(What::Dropped { index, ended: terminal.state });
        let wrong = |what: String| format!("activation {index}, dropped: {what}; {facts:?}");
        ends::check(&self.activations[index], &facts, &outcome).map_err(wrong)?;
        if terminal.consumption.fuel != facts.fuel_used {
            return Err(wrong(format!("it used {} and is charged {:?}", facts.fuel_used, terminal.consumption)));
        }
        self.check_record(index, &outcome).map_err(wrong)
    }
}
