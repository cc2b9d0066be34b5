use latent_core::{ManualWallClock, Sha256Digest, SystemWallClock};
use std::time::SystemTime;

use super::*;
use crate::compile::{CompileJob, Compiler as _, InProcessCompiler};
use crate::engine::{build_compile_only, compatibility};
use latent_executor::ComponentArtifact;

/// A store in a directory of its own, and the clock it reads.
struct Fixture {
    store: ImageStore,
    clock: Arc<ManualWallClock>,
    dir: tempfile::TempDir,
}

impl Fixture {
    fn new(limits: ImageLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualWallClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 30)));
        let store = ImageStore::open(dir.path(), limits, clock.clone()).unwrap();
        Self { store, clock, dir }
    }

    /// Adopts `bytes` under `key`, used now.
    fn put(&self, key: PreparationKey, bytes: &[u8]) {
        let staged = self.store.stage().unwrap();
        std::io::Write::write_all(&mut staged.file(), bytes).unwrap();
        staged.file().set_modified(self.clock.now()).unwrap();
        self.store.adopt(staged, key).unwrap();
        self.file(key).set_modified(self.clock.now()).unwrap();
    }

    fn path(&self, key: PreparationKey) -> PathBuf {
        self.dir.path().join(Name::of(key).to_string())
    }

    fn file(&self, key: PreparationKey) -> File {
        File::options().read(true).write(true).open(self.path(key)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        self.dir.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn key(component: u8, engine: u64) -> PreparationKey {
    PreparationKey::new(Sha256Digest::of(&[component]), engine)
}

fn echo() -> (Engine, PreparationKey, Vec<u8>) {
    let engine = build_compile_only(512 << 10, None).unwrap();
    let artifact = ComponentArtifact::new(latent_guests::component("echo"));
    let file = anonymous_image().unwrap();
    let job = CompileJob { artifact: &artifact, tenant: None, image: &file };
    InProcessCompiler::new(&engine).compile(job).unwrap();
    let mut image = Vec::new();
    std::io::Seek::rewind(&mut &file).unwrap();
    std::io::Read::read_to_end(&mut &file, &mut image).unwrap();
    let key = PreparationKey::new(artifact.digest(), compatibility(&engine));
    (engine, key, image)
}

#[test]
fn an_adopted_image_is_loaded_and_a_missing_one_is_a_miss() {
    let fixture = Fixture::new(ImageLimits::default());
    let (engine, key, image) = echo();
    assert!(fixture.store.load(&engine, key).is_none() && !fixture.store.contains(key));
    fixture.put(key, &image);
    assert!(fixture.store.contains(key));
    assert!(fixture.store.load(&engine, key).is_some());
    let bytes = fixture.path(key).metadata().unwrap().len();
    assert_eq!(fixture.store.usage(), (1, bytes));
    assert_eq!(bytes, (image.len() + seal::TRAILER_BYTES) as u64);
}
