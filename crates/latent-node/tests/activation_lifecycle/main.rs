//! `LocalActivationManager` over real admission, scheduling, cells and journal, and a controlled catalog, repository and
//! backend (`activation-lifecycle.md`, "Bounded status and validation"). One scenario a test; each completed
//! invocation under a watchdog of five seconds; no scale, no soak.

mod supervisor;
mod support;

mod identity;
mod ownership;
mod scope;

mod resolution;

mod admission;
mod outcomes;

mod preparation;

mod running;

mod disposal;

mod cancelling;
mod clocks;
mod interruption;
mod observed;

mod hostile;
mod points;
mod races;
