//! How a target is called: with values and for a value, or as the HTTP handler with an exchange.

use latent_core::{ExecutionOutcome, MediaType, PlatformError};
use latent_executor::ExecutionRequest;
use wasmtime::Store;
use wasmtime::component::Instance;

use crate::call::{Arguments, FunctionPlan, Returned};
use crate::host::HostState;
use crate::http::{AnswerSlot, HandlerPlan, expect_exchange, not_matching};
use crate::values::{EncodeError, ValueLimits};

/// The plan of one target.
#[derive(Clone, Copy)]
pub enum Plan<'a> {
    /// A function on values.
    Values(&'a FunctionPlan),
    /// The HTTP handler.
    Http(&'a HandlerPlan),
}

/// What is handed to the guest.
pub enum Input {
    /// Arguments, decoded.
    Values(Arguments),
    /// The exchange that is in the store.
    Exchange,
}

/// What came back.
pub enum Output {
    /// A value.
    Values(Returned),
    /// What the handler answered, if it did.
    Answered(AnswerSlot),
}

impl Plan<'_> {
    /// Checks that `request` is of the right kind, and decodes its payload.
    ///
    /// # Errors
    /// `invalid-argument`: `activation.http-exchange` for a function with an exchange or a handler without one, otherwise
    /// as [`FunctionPlan::decode`].
    pub fn decode(self, request: &ExecutionRequest, limits: &ValueLimits) -> Result<Input, PlatformError> {
        match self {
            Self::Http(_) => expect_exchange(request.exchange.as_ref()).map(|()| Input::Exchange),
            Self::Values(_) if request.exchange.is_some() => Err(not_matching(format_args!(
                "{} is not an HTTP handler: it is called with values, not with an HTTP request",
                request.target
            ))),
            Self::Values(plan) => plan.decode(&request.payload, limits).map(Input::Values),
        }
    }

    /// Calls it.
    pub async fn call(
        self,
        instance: &Instance,
        store: &mut Store<HostState>,
        input: Input,
    ) -> wasmtime::Result<Output> {
        match (self, input) {
            (Self::Values(plan), Input::Values(arguments)) => {
                plan.call(instance, store, arguments).await.map(Output::Values)
            }
            (Self::Http(plan), _) => {
                plan.call(instance, store).await?;
                Ok(Output::Answered(store.data().answer()))
            }
            (Self::Values(_), Input::Exchange) => Err(wasmtime::Error::msg("values were decoded for a handler")),
        }
    }

    /// The outcome that `output` is, with a value in `media_type`.
    ///
    /// # Errors
    /// As [`FunctionPlan::encode`].
    pub fn encode(
        self,
        output: Output,
        media_type: MediaType,
        limits: &ValueLimits,
    ) -> Result<ExecutionOutcome, EncodeError> {
        match (self, output) {
            (_, Output::Answered(answer)) => Ok(answer.outcome()),
            (Self::Values(plan), Output::Values(returned)) => plan.encode(returned, media_type, limits),
            (Self::Http(_), Output::Values(_)) => {
                Err(EncodeError::Mismatch { expected: "the answer of a handler", found: "a value" })
            }
        }
    }

    /// What it means that the guest ended its own run with `status`. For a handler, success is a return; what it answered
    /// is in `answer`.
    pub fn exited(self, status: i32, answer: &AnswerSlot) -> ExecutionOutcome {
        match (self, status) {
            (Self::Values(plan), _) => plan.exited(status),
            (Self::Http(_), 0) => answer.outcome(),
            (Self::Http(_), _) => ExecutionOutcome::Exited { status },
        }
    }
}
