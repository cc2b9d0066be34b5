//! Hosts, paths, routes and grants.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| latent_fuzz::routes::check(data));
