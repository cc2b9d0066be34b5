//! `latent serve` from outside: the real binary, its lines, its files, its answers over HTTP and its ends.

mod configuring;
mod descriptors;
mod http;
mod keeping;
mod lives;
mod starting;
mod stopping;
mod support;
