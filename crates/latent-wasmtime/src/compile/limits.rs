//! What one compilation may use, and what is said when it uses more.

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use serde::{Deserialize, Serialize};

use super::protocol::unable;

const MEBIBYTE: u64 = 1 << 20;

/// Limits of one compilation in a child process. What exceeds one is refused as `compiler.limit`, naming the field, unless
/// the process itself may use less: then that is said, as `compiler.unable`.
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

/// What the child's process may use at most, whatever its order says: the limits it was started with, and the system's.
/// `None` is without limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outer {
    pub address_space_bytes: Option<u64>,
    pub data_bytes: Option<u64>,
    pub cpu_seconds: Option<u64>,
    pub file_bytes: Option<u64>,
    /// Whether the system promises no more memory than it has, so that memory may be refused below any limit.
    pub memory_is_counted: bool,
}

/// A budget as far as the process may use it, and who set what is lower than ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub budget: Budget,
    address_space_by: Option<&'static str>,
    cpu_by: Option<&'static str>,
    image_by: Option<&'static str>,
}

impl Budget {
    /// This budget in a process that may use at most `outer`. The last second of processor time is kept for the signal that
    /// tells it from a kill.
    pub fn under(self, outer: &Outer) -> Held {
        let counted = outer.memory_is_counted.then_some("vm.overcommit_memory");
        let (address_space_bytes, memory_by) = lowest(
            self.address_space_bytes,
            [(outer.address_space_bytes, "ulimit -v"), (outer.data_bytes, "ulimit -d")],
        );
        let cpu = outer.cpu_seconds.map(|seconds| seconds.saturating_sub(1).max(1));
        let (cpu_seconds, cpu_by) = lowest(self.cpu_seconds, [(cpu, "ulimit -t")]);
        let (image_bytes, image_by) = lowest(self.image_bytes, [(outer.file_bytes, "ulimit -f")]);
        let budget = Self { address_space_bytes, cpu_seconds, image_bytes, ..self };
        Held { budget, address_space_by: memory_by.or(counted), cpu_by, image_by }
    }
}

fn lowest<const N: usize>(own: u64, outer: [(Option<u64>, &'static str); N]) -> (u64, Option<&'static str>) {
    outer.into_iter().fold((own, None), |lowest, (limit, by)| match limit {
        Some(limit) if limit < lowest.0 => (limit, Some(by)),
        _ => lowest,
    })
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    AddressSpace,
    Cpu,
    Wall,
    Image,
}

impl Held {
    /// Whether the processor time is so little that the kernel's signal for it is the one that kills.
    pub fn kills_without_a_word(&self) -> bool {
        self.cpu_by.is_some() && self.budget.cpu_seconds == 1
    }

    /// The refusal of a component that needs more than this has of `limit`. Time on the clock comes back, and what only
    /// this process may not use is had elsewhere.
    pub fn exceeded(&self, limit: Limit) -> PlatformError {
        let Budget { address_space_bytes, cpu_seconds, wall_seconds, image_bytes } = self.budget;
        let (name, allowed, what, setting, by) = match limit {
            Limit::AddressSpace => (
                "address-space",
                address_space_bytes,
                "bytes of address space",
                "address_space_bytes",
                self.address_space_by,
            ),
            Limit::Cpu => {
                let settings = "cpu_base_seconds, cpu_seconds_per_mebibyte";
                ("cpu", cpu_seconds, "seconds of processor time", settings, self.cpu_by)
            }
            Limit::Wall => ("wall", wall_seconds, "seconds", "wall_factor", None),
            Limit::Image => ("image", image_bytes, "bytes of compiled code", "image_bytes_max", self.image_by),
        };
        if let Some(by) = by {
            return unable(&format_args!(
                "this process may use {allowed} {what}, or less, because of its surroundings ({by}), and the component \
                 takes more; raise that where the process is started"
            ));
        }
        let message = format_args!("compiling the component takes more than {allowed} {what} (setting {setting})");
        let error = PlatformError::new(PlatformErrorCode::ResourceExhausted, message).with_detail(
            ErrorDetail::new("compiler.limit").with("limit", name).with("allowed", allowed).with("setting", setting),
        );
        if limit == Limit::Wall { error.retryable() } else { error }
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
        let held = CompileLimits::default().budget(1).under(&Outer::default());
        let error = held.exceeded(Limit::Cpu);
        let wanted = "compiling the component takes more than 38 seconds of processor time \
                      (setting cpu_base_seconds, cpu_seconds_per_mebibyte)";
        assert_eq!((error.code(), error.message()), (PlatformErrorCode::ResourceExhausted, wanted));
        assert_eq!(error.details()[0].field("limit"), Some("cpu"));
        assert!(!error.is_retryable() && held.exceeded(Limit::Wall).is_retryable());
    }

    #[test]
    fn a_limit_that_is_not_a_setting_says_whose_it_is_and_is_not_the_components_fault() {
        let budget = CompileLimits::default().budget(1);
        let low = Some(400_000 << 10);
        for (outer, limit, by) in [
            (
                Outer { address_space_bytes: low, ..Outer::default() },
                Limit::AddressSpace,
                "409600000 bytes of address space",
            ),
            (Outer { address_space_bytes: low, ..Outer::default() }, Limit::AddressSpace, "(ulimit -v)"),
            (Outer { data_bytes: low, ..Outer::default() }, Limit::AddressSpace, "(ulimit -d)"),
            (Outer { memory_is_counted: true, ..Outer::default() }, Limit::AddressSpace, "(vm.overcommit_memory)"),
            (Outer { file_bytes: Some(51_200), ..Outer::default() }, Limit::Image, "51200 bytes of compiled code"),
            (Outer { file_bytes: Some(51_200), ..Outer::default() }, Limit::Image, "(ulimit -f)"),
            (Outer { cpu_seconds: Some(2), ..Outer::default() }, Limit::Cpu, "(ulimit -t)"),
        ] {
            let error = budget.under(&outer).exceeded(limit);
            assert!(error.code() == PlatformErrorCode::Unavailable && error.is_retryable(), "{error:?}");
            assert!(error.has_detail("compiler.unable") && error.message().contains(by), "{error:?}");
        }
    }

    #[test]
    fn higher_outer_limits_change_nothing() {
        let budget = CompileLimits::default().budget(1);
        let high = Some(1 << 40);
        let outer = Outer {
            address_space_bytes: high,
            data_bytes: high,
            cpu_seconds: Some(39),
            file_bytes: high,
            memory_is_counted: false,
        };
        assert_eq!(budget.under(&outer), budget.under(&Outer::default()));
        assert_eq!(budget.under(&outer).budget, budget);
    }
}
