//! Faults enumerated over a whole node: all of its parts in this process, called as its transports call it, with a call that
//! is cancelled or dropped at each of its polls and a disk that fails at each of its writes.
//!
//! Invariant: a fault costs the call that met it and nothing else, and the same node goes on.

mod disk;
mod polls;
mod whole;
mod writes;
