//! The trailer that makes a file an image of ours: its length, its key, and a hash over all of it.
//!
//! Invariant: no single changed, missing or added byte passes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use blake3::Hasher;
use latent_executor::PreparationKey;

/// Counted up whenever an image of the same engine must not be used any more, such as when the trailer changes.
pub const FORMAT: u32 = 1;

const MAGIC: [u8; 12] = *b"latent image";
/// Images are hashed whenever they are loaded, so by the fastest hash there is.
const HASH_BYTES: usize = blake3::OUT_LEN;
/// Magic, format, length of the image (8), compatibility (8), component digest (32), hash.
pub const TRAILER_BYTES: usize = MAGIC.len() + 4 + 8 + 8 + 32 + HASH_BYTES;
/// The image is hashed in pieces of this size, so that it takes no memory in proportion.
const PIECE_BYTES: usize = 256 << 10;

/// Appends the trailer for `key` to the image in `file` and answers the bytes of the whole file.
pub fn seal(file: &File, key: PreparationKey) -> io::Result<u64> {
    let image_bytes = file.metadata()?.len();
    let mut hash = hash_to(file, image_bytes)?;
    let mut trailer = fields(image_bytes, key);
    hash.update(trailer.as_slice());
    trailer.extend_from_slice(hash.finalize().as_bytes());
    file.write_all_at(&trailer, image_bytes)?;
    Ok(image_bytes + trailer.len() as u64)
}

/// Whether `file` is a whole, undamaged image of `key`.
pub fn verify(file: &File, key: PreparationKey) -> io::Result<bool> {
    let Some(image_bytes) = file.metadata()?.len().checked_sub(TRAILER_BYTES as u64) else { return Ok(false) };
    let mut trailer = [0; TRAILER_BYTES];
    file.read_exact_at(&mut trailer, image_bytes)?;
    let (stated, hash) = trailer.split_at(TRAILER_BYTES - HASH_BYTES);
    // The cheap half first: an image of something else need not be read.
    if stated != fields(image_bytes, key) {
        return Ok(false);
    }
    let mut found = hash_to(file, image_bytes)?;
    found.update(stated);
    Ok(found.finalize().as_bytes().as_slice() == hash)
}

fn fields(image_bytes: u64, key: PreparationKey) -> Vec<u8> {
    let mut fields = Vec::with_capacity(TRAILER_BYTES);
    fields.extend_from_slice(&MAGIC);
    fields.extend_from_slice(&FORMAT.to_le_bytes());
    fields.extend_from_slice(&image_bytes.to_le_bytes());
    fields.extend_from_slice(&key.compatibility().to_le_bytes());
    fields.extend_from_slice(key.digest().as_bytes());
    fields
}

/// Hashes the first `end` bytes of `file`.
fn hash_to(file: &File, end: u64) -> io::Result<Hasher> {
    let mut hash = Hasher::new();
    let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(end).unwrap_or(PIECE_BYTES))];
    let mut at = 0;
    while at < end {
        let wanted = piece.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        file.read_exact_at(&mut piece[..wanted], at)?;
        hash.update(&piece[..wanted]);
        at += wanted as u64;
    }
    Ok(hash)
}
