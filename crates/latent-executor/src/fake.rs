//! A backend without an engine: scripted per function, with gates that tests open. It honours the port's contract,
//! so that whatever is proved over it holds over a real backend.

mod backend;
mod gate;
mod handler;
mod held;
mod pending;
mod prepare;
mod repository;
mod run;
mod script;

#[cfg(test)]
mod tests;

pub use backend::FakeBackend;
pub use gate::Gate;
pub use handler::{FakeHandled, FakeHandler};
pub use repository::FakeRepository;
pub use script::{FakeMaterialization, FakePreparation, FakeStep};
