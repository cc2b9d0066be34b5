//! Messages of the API, as protobuf and in JSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| latent_fuzz::messages::check(data));
