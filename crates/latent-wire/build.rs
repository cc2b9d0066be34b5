//! Generates the messages, the services and their JSON from the one proto file, without a system protoc.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo tells a build script where to write")?);
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(["latent/v1/latent.proto"], ["proto"])?;
    let encoded = protox::prost::Message::encode_to_vec(&descriptors);
    std::fs::write(out.join("descriptors.bin"), &encoded)?;
    tonic_prost_build::configure()
        .compile_well_known_types(true)
        .extern_path(".google.protobuf", "::pbjson_types")
        .bytes(".")
        .compile_fds(descriptors)?;
    pbjson_build::Builder::new().preserve_proto_field_names().register_descriptors(&encoded)?.build(&[".latent.v1"])?;
    Ok(())
}
