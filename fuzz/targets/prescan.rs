//! Bytes that a tenant publishes as a component.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| latent_fuzz::prescan::check(data));
