//! What one compilation may use, and what is said when it uses more.

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use serde::{Deserialize, Serialize};

const MEBIBYTE: u64 = 1 << 20;

/// Limits of one compilation in a child process. What exceeds one is refused as `compiler.limit`, naming the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileLimits {
    /// Address space of the child, its program and a stack of 64 MiB included. Default 2 GiB; a component of 18 MiB takes
    /// about a third of that.
    pub address_space_bytes: u64,
    /// Seconds of processor time for any component. Default 30.
    pub cpu_base_seconds: u64,
    /// Seconds of processor time for each mebibyte of the component on top. Default 8; two to three are used.
    pub cpu_seconds_per_mebibyte: u64,
    /// Seconds on the clock for each second of processor time, at least 1. Default 4: other compilations and the node's
    /// own work take their share of the processor.
    pub wall_factor: u32,
    /// Bytes of the image. Default 512 MiB.
    pub image_bytes_max: u64,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self {
            address_space_bytes: 2 << 30,
            cpu_base_seconds: 30,
            cpu_seconds_per_mebibyte: 8,
            wall_factor: 4,
            image_bytes_max: 512 << 20,
        }
    }
}

/// The limits as they are for one component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    pub address_space_bytes: u64,
    pub cpu_seconds: u64,
    pub wall_seconds: u64,
    pub image_bytes: u64,
}

impl CompileLimits {
    /// What a component of so many bytes gets. Started mebibytes count.
    pub(crate) fn budget(&self, component_bytes: u64) -> Budget {
        let mebibytes = component_bytes.div_ceil(MEBIBYTE);
        let cpu_seconds =
            self.cpu_base_seconds.saturating_add(self.cpu_seconds_per_mebibyte.saturating_mul(mebibytes)).max(1);
        Budget {
            address_space_bytes: self.address_space_bytes,
            cpu_seconds,
            wall_seconds: cpu_seconds.saturating_mul(u64::from(self.wall_factor.max(1))),
            image_bytes: self.image_bytes_max,
        }
    }
}

/// Which limit of a [`Budget`] was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    AddressSpace,
    Cpu,
    Wall,
    Image,
}

impl Limit {
    /// The refusal of a component that needs more than `budget` has of this. Only time on the clock comes back.
    pub fn exceeded(self, budget: &Budget) -> PlatformError {
        let (limit, allowed, what, setting) = match self {
            Self::AddressSpace => {
                ("address-space", budget.address_space_bytes, "bytes of address space", "address_space_bytes")
            }
            Self::Cpu => {
                ("cpu", budget.cpu_seconds, "seconds of processor time", "cpu_base_seconds, cpu_seconds_per_mebibyte")
            }
            Self::Wall => ("wall", budget.wall_seconds, "seconds", "wall_factor"),
            Self::Image => ("image", budget.image_bytes, "bytes of compiled code", "image_bytes_max"),
        };
        let message = format_args!("compiling the component takes more than {allowed} {what} (setting {setting})");
        let error = PlatformError::new(PlatformErrorCode::ResourceExhausted, message).with_detail(
            ErrorDetail::new("compiler.limit").with("limit", limit).with("allowed", allowed).with("setting", setting),
        );
        if self == Self::Wall { error.retryable() } else { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_grows_with_the_component_and_the_rest_does_not() {
        let limits = CompileLimits::default();
        let (small, large) = (limits.budget(1), limits.budget(12 << 20));
        assert_eq!((small.cpu_seconds, small.wall_seconds), (38, 152));
        assert_eq!((large.cpu_seconds, large.wall_seconds), (126, 504));
        assert_eq!((small.address_space_bytes, small.image_bytes), (large.address_space_bytes, large.image_bytes));
        let endless = CompileLimits { cpu_seconds_per_mebibyte: u64::MAX, ..limits }.budget(u64::MAX);
        assert_eq!(endless.wall_seconds, u64::MAX);
    }

    #[test]
    fn a_reached_limit_says_which_and_which_setting_moves_it() {
        let budget = CompileLimits::default().budget(1);
        let error = Limit::Cpu.exceeded(&budget);
        let wanted = "compiling the component takes more than 38 seconds of processor time \
                      (setting cpu_base_seconds, cpu_seconds_per_mebibyte)";
        assert_eq!((error.code(), error.message()), (PlatformErrorCode::ResourceExhausted, wanted));
        assert_eq!(error.details()[0].field("limit"), Some("cpu"));
        assert!(!error.is_retryable() && Limit::Wall.exceeded(&budget).is_retryable());
    }
}
