//! Payloads in JSON against types, and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| latent_fuzz::values::check(data));
