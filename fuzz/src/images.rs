//! Compiled images: one that was changed in any way, or is of something else, is a miss and is removed; none is ever mapped.

use std::io::{Seek as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use latent_core::{ManualWallClock, Sha256Digest};
use latent_executor::{ComponentArtifact, PreparationKey};
use latent_wasmtime::{
    AllocatorChoice, CompileJob, Compiler as _, EngineSettings, ImageLimits, ImageStore, InProcessCompiler,
    build_engine, engine_compatibility,
};
use wasmtime::Engine;

/// The smallest component that there is: its image is little more than what the engine writes around code.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0\x07\x02\x01\x7d";
/// Bytes of the trailer of an image, where most edits are made.
const TRAILER_BYTES: usize = 96;

struct Images {
    store: ImageStore,
    directory: tempfile::TempDir,
    engine: Engine,
    key: PreparationKey,
    /// A sound image, as it lies in the directory.
    sound: Vec<u8>,
    name: PathBuf,
}

static IMAGES: LazyLock<Images> = LazyLock::new(|| {
    let settings = EngineSettings { allocator: AllocatorChoice::OnDemand, ..EngineSettings::default() };
    let (engine, _) = build_engine(&settings).expect("an engine is made");
    let directory = tempfile::tempdir().expect("a directory is made");
    let clock = Arc::new(ManualWallClock::new(std::time::SystemTime::UNIX_EPOCH));
    let store = ImageStore::open(directory.path(), ImageLimits::default(), clock).expect("a store is made");
    let artifact = ComponentArtifact::new(COMPONENT.to_vec());
    let key = PreparationKey::new(artifact.digest(), engine_compatibility(&engine));
    let staged = store.stage().expect("a file is staged");
    let job = CompileJob { artifact: &artifact, tenant: None, image: staged.file() };
    InProcessCompiler::new(&engine).compile(job).expect("it is compiled");
    staged.file().rewind().expect("a file");
    store.adopt(staged, key).expect("it is adopted");
    let mut files = directory.path().read_dir().expect("a directory").map(|entry| entry.expect("an entry").path());
    let name = files.next().expect("the image");
    let sound = std::fs::read(&name).expect("the image is read");
    Images { store, directory, engine, key, sound, name }
});

/// Takes the first byte of `data` as what is done: the rest is a whole image, or edits of a sound one.
///
/// # Panics
/// When an image that is not the sound one is loaded or stays, or the sound one is not loaded.
pub fn check(data: &[u8]) {
    let Some((how, data)) = data.split_first() else { return };
    let images = &*IMAGES;
    let changed = match how % 4 {
        0 => data.to_vec(),
        1 => [&images.sound[..images.sound.len().saturating_sub(TRAILER_BYTES)], data].concat(),
        2 => cut(&images.sound, data),
        _ => edited(&images.sound, data),
    };
    // A sound image is one by its name too.
    let key = if how & 4 == 0 { images.key } else { PreparationKey::new(Sha256Digest::of(data), 7) };
    let name = match how & 4 {
        0 => images.name.clone(),
        _ => images.directory.path().join(format!("{}-{:016x}-1.image", key.digest(), key.compatibility())),
    };
    let mut file = std::fs::File::create(&name).expect("a file is made");
    file.write_all(&changed).expect("a file is written");
    let is_sound = changed == images.sound && key == images.key;
    assert_eq!(images.store.load(&images.engine, key).is_some(), is_sound, "{} bytes", changed.len());
    assert_eq!(images.store.contains(key), is_sound, "a damaged image is removed");
    assert!(images.store.load(&images.engine, PreparationKey::new(key.digest(), !key.compatibility())).is_none());
}

/// The image without as many bytes at its end as the first two bytes say, and with the rest after it.
fn cut(sound: &[u8], data: &[u8]) -> Vec<u8> {
    let (&[low, high], rest) = data.split_first_chunk().unwrap_or((&[0, 0], &[]));
    let kept = sound.len().saturating_sub(u16::from_le_bytes([low, high]).into());
    [&sound[..kept], rest].concat()
}

/// The image with each three bytes taken as a place, counted from its end, and what is combined with what is there.
fn edited(sound: &[u8], data: &[u8]) -> Vec<u8> {
    let mut image = sound.to_vec();
    for edit in data.chunks_exact(3) {
        let from_end = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % image.len();
        let at = image.len() - 1 - from_end;
        image[at] ^= edit[2];
    }
    image
}
