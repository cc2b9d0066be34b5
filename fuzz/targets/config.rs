//! Configuration files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| latent_fuzz::config::check(data));
