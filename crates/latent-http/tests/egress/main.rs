//! Requests of guests as servers and the network see them: real sockets on loopback, names that the tests answer.

mod bodies;
mod bounds;
mod closing;
mod forgery;
mod http2;
mod lookups;
mod servers;
mod silence;
mod support;
mod tls;
