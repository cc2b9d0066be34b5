//! Files in the directory of compiled images.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| latent_fuzz::images::check(data));
