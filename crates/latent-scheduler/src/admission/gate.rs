//! Where admission's parts meet: a policy view that can be replaced, over a ledger that stays.
//!
//! Invariant: one admission goes by one view from its start to its end.

use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use latent_core::PlatformError;

use super::config::AdmissionConfig;
use super::denial::Denial;
use super::ledger::QuotaLedger;
use super::permit::AdmissionPermit;
use super::pressure::{self, PressureSample};
use super::request::{AdmissionRequest, Conditions};
use super::terms;

/// Admits activations, or says why not (reference, section 4).
#[derive(Debug)]
pub struct Admission {
    ledger: Arc<QuotaLedger>,
    view: ArcSwap<AdmissionConfig>,
}

impl Admission {
    /// Admission by `config` over `ledger`.
    ///
    /// # Errors
    /// `invalid-argument`, detail `admission.invalid-config`, for a setting out of its bounds.
    pub fn new(ledger: Arc<QuotaLedger>, config: AdmissionConfig) -> Result<Self, PlatformError> {
        config.check()?;
        Ok(Self { ledger, view: ArcSwap::from_pointee(config) })
    }

    /// Goes by `config` from the next admission on. What is reserved stays reserved; a scope that has more than
    /// its new quota gets no more until it is below it.
    ///
    /// # Errors
    /// As [`Self::new`]; the former view stays.
    pub fn replace(&self, config: AdmissionConfig) -> Result<(), PlatformError> {
        config.check()?;
        self.view.store(Arc::new(config));
        Ok(())
    }

    /// The ledger below.
    #[must_use]
    pub fn ledger(&self) -> &Arc<QuotaLedger> {
        &self.ledger
    }

    /// The view that admissions go by now.
    #[must_use]
    pub fn config(&self) -> Arc<AdmissionConfig> {
        self.view.load_full()
    }

    /// Whether the node's pressure, as it was sampled, lets anything be admitted at `now`.
    ///
    /// # Errors
    /// As [`Self::admit`] would refuse every activation: reason `node-overloaded`, with the dimension.
    pub fn check_pressure(&self, sample: Option<&PressureSample>, now: Instant) -> Result<(), PlatformError> {
        pressure::check(self.view.load().pressure, sample, now).map_err(PlatformError::from)
    }

    /// Decides about one activation and reserves what it is granted.
    ///
    /// # Errors
    /// The shared `deadline-exceeded` for a passed deadline; otherwise an error with detail `admission.limit`, whose
    /// `scope`, `dimension` and `reason` say which rule of whom (`docs/errors/admission-rejected.md`). Nothing is
    /// reserved.
    pub fn admit(
        &self,
        request: &AdmissionRequest<'_>,
        conditions: &Conditions<'_>,
    ) -> Result<AdmissionPermit, PlatformError> {
        self.decide(request, conditions).map_err(PlatformError::from)
    }

    fn decide(&self, request: &AdmissionRequest<'_>, conditions: &Conditions<'_>) -> Result<AdmissionPermit, Denial> {
        let view = self.view.load();
        let mut proposal = terms::propose(&view, request, conditions)?;
        self.ledger.reserve(&mut proposal)?;
        Ok(AdmissionPermit::new(Arc::clone(&self.ledger), proposal.claim, proposal.terms))
    }
}

#[cfg(test)]
mod tests;
