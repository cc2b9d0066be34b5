//! The scheduler from outside: real admission, real pools, single polls; time is paused or does not matter.

mod assignment;
mod classes;
mod grace;
mod races;
mod support;
mod waiting;
mod worst_wait;
