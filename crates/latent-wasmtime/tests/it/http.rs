//! HTTP handlers on a transport that is a channel: what they see, what they answer, and how it ends when they do not.

mod answers;
mod limits;
mod misdeeds;
mod outgoing;
mod stops;
mod support;
