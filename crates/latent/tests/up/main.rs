//! `latent up` from outside: the real binary, its lines, its answers, edits of its files and its ends.

mod editing;
mod examples;
mod services;
mod starting;
mod support;
mod telling;
