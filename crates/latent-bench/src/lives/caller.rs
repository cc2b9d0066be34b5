//! How one activation is lived: accepted, polled until it is where it is to be stopped, stopped, and entered.
//!
//! Invariant: a handle is dropped only where it was seen to be, so that a cell is lost only to a planned drop.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use latent_activation::{CancelDisposition, LifecyclePhase};
use latent_core::{PlatformError, SystemWallClock, TerminalState, WallClock as _};
use latent_node::{ActivationArrival, ActivationHandle, ActivationReceipt};

use super::filed::{Filed, Part};
use super::house::{House, name_of};
use super::plan::{Column, DropOneIn, Place, Plan, Stop};
use crate::endurance::judge::{End, Expected, judge, judge_outcome};
use crate::endurance::mix::{Call, Endless};

/// Lives the activations of one run.
pub struct Caller {
    /// Where.
    pub house: Arc<House>,
    /// What the plans follow from.
    pub seed: u64,
    /// Which are dropped while they run.
    pub drop_one_in: DropOneIn,
}

/// Where an activation was seen.
enum Seen {
    At(Place),
    Ended(Box<ActivationReceipt>),
}

/// What came of one activation, as far as its caller saw it.
struct Lived {
    /// The end that its record has to show.
    expected: Expected,
    /// Whether its guest was seen running.
    granted: bool,
    judged: Result<(), String>,
}

/// The end of an activation whose deadline would pass in the queue, as far as can be told from those that wait.
const INFEASIBLE: Expected = Expected::Failed(TerminalState::Rejected, "admission.limit");

impl Caller {
    /// Lives the activation of this number, and enters it with whatever was wrong about it.
    pub async fn live(&self, number: u64, part: &mut Part) {
        let (column, plan) = Plan::of(self.seed, number, self.drop_one_in);
        let lived = match plan {
            Plan::Left(call) => self.left(number, call, part).await,
            Plan::Stopped { stop: stop @ (Stop::Cancel | Stop::Drop), place, guest } => {
                self.stopped(number, (stop, place, guest), part).await
            }
            Plan::Stopped { stop, place, guest } => self.interrupted(number, (stop, place, guest), part).await,
        };
        let told = |wrong| format!("activation {number}, {plan:?}: {wrong}");
        match lived {
            Ok(Lived { expected, granted, judged }) => {
                part.file(Filed::new(number, &expected));
                part.tally.enter(column as usize, granted, judged.map_err(told));
            }
            Err(refused) => part.tally.enter(column as usize, false, Err(told(format!("refused: {refused}")))),
        }
        debug_assert!(column != Column::DropRunning || self.drop_one_in.is_some());
    }

    async fn left(&self, number: u64, call: Call, part: &mut Part) -> Result<Lived, PlatformError> {
        let (house, guests) = (&self.house, &self.house.guests);
        let mut expected = guests.expected(call);
        let mut request = house.request(number, guests.target(call));
        match call {
            Call::Fuel { granted } => request.budget.fuel = Some(granted),
            Call::Memory { granted_bytes, .. } => request.budget.memory_bytes = Some(granted_bytes),
            Call::Deadline { millis, .. } => {
                request.deadline = Some(SystemWallClock.now() + Duration::from_millis(millis));
            }
            _ => {}
        }
        let receipt = house.manager.start(request)?.await;
        if matches!(call, Call::Deadline { .. }) && judge_outcome(&INFEASIBLE, &receipt.outcome).is_ok() {
            expected = INFEASIBLE;
            part.infeasible += 1;
        }
        let used = &receipt.consumption;
        let sink = &house.node.sink;
        let logs =
            if used.log_bytes == 0 { Vec::new() } else { sink.take(house.tenant(number), &receipt.activation_id) };
        let granted = receipt.progress.phase() == LifecyclePhase::Running;
        let judged = judge(call, &expected, End { outcome: &receipt.outcome, used, granted }, &logs);
        Ok(Lived { expected, granted, judged })
    }

    /// Cancels it or drops its handle.
    async fn stopped(
        &self,
        number: u64,
        (stop, place, guest): (Stop, Place, Endless),
        part: &mut Part,
    ) -> Result<Lived, PlatformError> {
        let mut handle = self.house.manager.start(self.request(number, place, guest))?;
        let seen = match self.reach(&mut handle, number, place).await {
            Seen::At(seen) => seen,
            Seen::Ended(receipt) => return Ok(ended_early(&receipt)),
        };
        part.overtaken += u64::from(seen != place);
        // One that was to be dropped in the queue, and got a cell at once, is cancelled instead.
        if stop == Stop::Drop && seen == place {
            drop(handle);
            if seen == Place::Running {
                self.house.spares.replace_one();
            }
            return Ok(Lived { expected: Expected::abandoned(), granted: seen == Place::Running, judged: Ok(()) });
        }
        Ok(self.cancelled(handle, number, seen).await)
    }

    /// Loses its transport, under the supervisor. What comes of it shows in its record.
    async fn interrupted(
        &self,
        number: u64,
        (stop, place, guest): (Stop, Place, Endless),
        part: &mut Part,
    ) -> Result<Lived, PlatformError> {
        let house = &self.house;
        let slot = loop {
            match house.supervisor.reserve() {
                Ok(slot) => break slot,
                Err(full) if full.is_retryable() => tokio::task::yield_now().await,
                Err(refused) => return Err(refused),
            }
        };
        let request = self.request(number, place, guest);
        let mut activation = slot.start(&house.manager, request, ActivationArrival::default())?;
        let seen = match self.reach(&mut activation, number, place).await {
            Seen::At(seen) => seen,
            Seen::Ended(receipt) => return Ok(ended_early(&receipt)),
        };
        part.overtaken += u64::from(seen != place);
        part.transferred += 1;
        let expected = if stop == Stop::Disconnect {
            drop(activation);
            Expected::disconnected()
        } else {
            activation.transport_deadline_exceeded();
            Expected::deadline()
        };
        Ok(Lived { expected, granted: seen == Place::Running, judged: Ok(()) })
    }

    fn request(&self, number: u64, place: Place, guest: Endless) -> latent_activation::ActivationRequest {
        let house = &self.house;
        if place == Place::Preparing {
            return house.stalled(number);
        }
        house.request(number, house.guests.target(Call::Cancel { guest }))
    }

    /// Polls until it is at `place`, or beyond: whoever wants it queued may find it running.
    async fn reach<F>(&self, activation: &mut F, number: u64, place: Place) -> Seen
    where
        F: Future<Output = ActivationReceipt> + Unpin,
    {
        if place == Place::New {
            return Seen::At(Place::New);
        }
        let (journal, tenant, name) = (&self.house.manager, self.house.tenant(number), name_of(number));
        poll_fn(|cx| {
            if let Poll::Ready(receipt) = Pin::new(&mut *activation).poll(cx) {
                return Poll::Ready(Seen::Ended(Box::new(receipt)));
            }
            // Nobody else polls it, so it stays where it is seen.
            let phase = journal.status(tenant, &name).found().map(|status| status.phase);
            match phase {
                Some(LifecyclePhase::Running) => Poll::Ready(Seen::At(Place::Running)),
                Some(LifecyclePhase::Queued) if place != Place::Running => Poll::Ready(Seen::At(place)),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Cancels twice, and once as another tenant, then waits for the end.
    async fn cancelled(&self, handle: ActivationHandle, number: u64, seen: Place) -> Lived {
        let (house, name) = (&self.house, handle.activation_id().clone());
        let foreign = house.manager.cancel_for(house.stranger(number), &name, "not mine");
        let [first, second] =
            ["endurance", "again"].map(|reason| house.manager.cancel_for(house.tenant(number), &name, reason));
        let receipt = handle.await;
        let expected = Expected::cancelled();
        let ran = receipt.progress.phase() == LifecyclePhase::Running && receipt.consumption.peak_memory_bytes > 0;
        let judged = match (foreign, first, second) {
            (CancelDisposition::NotFound, CancelDisposition::Accepted, CancelDisposition::Accepted)
                if ran == (seen == Place::Running) =>
            {
                judge_outcome(&expected, &receipt.outcome)
            }
            dispositions => Err(format!("cancels were answered {dispositions:?}; ran: {ran}, seen {seen:?}")),
        };
        Lived { expected, granted: seen == Place::Running, judged }
    }
}

/// One that ended before it could be stopped.
fn ended_early(receipt: &ActivationReceipt) -> Lived {
    let expected = Expected::cancelled();
    let judged = judge_outcome(&expected, &receipt.outcome).and(Err("it ended before it was stopped".to_owned()));
    Lived { expected, granted: receipt.progress.phase() == LifecyclePhase::Running, judged }
}
