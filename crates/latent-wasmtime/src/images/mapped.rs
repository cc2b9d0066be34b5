//! From a file to code: the one place where bytes become executable.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use wasmtime::Engine;
use wasmtime::component::Component;

/// A file in memory to compile into, for those who keep no images. It goes away with its last user.
///
/// # Errors
/// When the system gives no file.
pub fn anonymous_image() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(memfd_create("latent-image", flags)?.into())
}

/// Maps the image in `image`, which a compiler wrote or [`super::ImageStore`] verified. The file may have more bytes
/// after the image. From here on nobody may write to it: a file in memory is sealed.
///
/// # Errors
/// The engine's own: the image is of another engine, or the component has more than the engine's pool allows.
pub fn load_image(engine: &Engine, image: &File) -> wasmtime::Result<Component> {
    // A file on disk cannot be sealed; it is protected by its directory.
    let _not_in_memory = fcntl_add_seals(image, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK);
    let path = format!("/proc/self/fd/{}", image.as_raw_fd());
    // SAFETY: the bytes come from this engine's compiler, either just now or with a hash over all of them that was
    // checked through this same open file; the path names that file and no other; and nobody writes to it any more.
    unsafe { Component::deserialize_file(engine, path) }
}
