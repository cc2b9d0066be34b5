//! Listeners as their peers see them: bad ones, quiet ones, and those that are cut off.

mod bounds;
mod disconnect;
mod floods;
mod shutdown;
mod silence;
mod support;
mod tls;
