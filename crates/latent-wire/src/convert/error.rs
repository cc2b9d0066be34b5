//! Errors as messages, and back.
//!
//! Invariant: an error that went out and came back is the same error.

use latent_core::{BudgetConsumption, ErrorDetail, PlatformError, PlatformErrorCode};

use super::activation;
use crate::api::{About, Refused};
use crate::proto;

impl From<&PlatformError> for proto::Error {
    fn from(error: &PlatformError) -> Self {
        Self {
            code: error.code().as_str().to_owned(),
            message: error.message().to_owned(),
            retryable: error.is_retryable(),
            details: error.details().iter().map(detail).collect(),
            ..Self::default()
        }
    }
}

impl From<&Refused> for proto::Error {
    fn from(refused: &Refused) -> Self {
        let error = Self::from(&refused.error);
        let Some(About { activation_id, revision, consumption }) = refused.about.as_deref() else { return error };
        Self {
            activation_id: activation_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            revision: revision.map(|revision| revision.to_string()).unwrap_or_default(),
            consumption: consumption.as_ref().map(activation::consumption),
            ..error
        }
    }
}

impl proto::Error {
    /// The error as the node made it. A code that is not known here, from a later node, is `internal`.
    #[must_use]
    pub fn to_platform_error(&self) -> PlatformError {
        let code = PlatformErrorCode::ALL.iter().find(|code| code.as_str() == self.code).copied();
        let error = PlatformError::new(code.unwrap_or(PlatformErrorCode::Internal), &self.message);
        let error = self.details.iter().fold(error, |error, detail| {
            let fields = detail.fields.iter();
            let known =
                fields.fold(ErrorDetail::new(&detail.kind), |detail, field| detail.with(&field.name, &field.value));
            error.with_detail(known)
        });
        if self.retryable { error.retryable() } else { error }
    }

    /// What the activation used, if that is known.
    #[must_use]
    pub fn used(&self) -> Option<BudgetConsumption> {
        self.consumption.as_ref().and_then(activation::used)
    }
}

fn detail(detail: &ErrorDetail) -> proto::ErrorDetail {
    let fields = detail.fields().map(|(name, value)| proto::Field { name: name.to_owned(), value: value.to_owned() });
    proto::ErrorDetail { kind: detail.kind().to_owned(), fields: fields.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_every_code_goes_out_and_comes_back() {
        for code in PlatformErrorCode::ALL {
            let detail = ErrorDetail::new("some.kind").with("a", 1).with("b", "two");
            let error = PlatformError::new(*code, "said").with_detail(detail);
            for error in [error.clone(), error.retryable()] {
                assert_eq!(proto::Error::from(&error).to_platform_error(), error);
            }
        }
    }

    #[test]
    fn a_code_from_a_later_node_is_internal() {
        let later = proto::Error { code: "moon-phase".to_owned(), message: "no".to_owned(), ..Default::default() };
        assert_eq!(later.to_platform_error().code(), PlatformErrorCode::Internal);
    }
}
