//! A store in a scratch directory: hits, misses, damage, eviction, and several processes' worth of stores on one directory.

use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::time::SystemTime;

use latent_core::{ManualWallClock, Sha256Digest, SystemWallClock};
use latent_executor::ComponentArtifact;

use super::*;
use crate::compile::{CompileJob, Compiler as _, InProcessCompiler};
use crate::engine::{build_compile_only, compatibility};

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
        staged.file().write_all(bytes).unwrap();
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
    (&file).rewind().unwrap();
    (&file).read_to_end(&mut image).unwrap();
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

fn refuses(fixture: &Fixture, engine: &Engine, key: PreparationKey, damaged: &[u8]) {
    std::fs::write(fixture.path(key), damaged).unwrap();
    assert!(fixture.store.load(engine, key).is_none());
    assert!(!fixture.store.contains(key), "a damaged image is removed");
}

#[test]
fn an_image_with_any_flipped_bit_is_a_miss() {
    let fixture = Fixture::new(ImageLimits::default());
    let (engine, key, image) = echo();
    fixture.put(key, &image);
    let sound = std::fs::read(fixture.path(key)).unwrap();
    let file = fixture.file(key);
    for (at, byte) in sound.iter().enumerate() {
        for bit in 0..8 {
            file.write_all_at(&[byte ^ (1 << bit)], at as u64).unwrap();
            assert!(!seal::verify(&file, key).unwrap(), "bit {bit} of byte {at}");
        }
        file.write_all_at(&[*byte], at as u64).unwrap();
    }
    assert!(fixture.store.load(&engine, key).is_some(), "the flipped bits were the only reason");
    for at in (0..sound.len()).step_by(sound.len() / 50) {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x10;
        refuses(&fixture, &engine, key, &damaged);
    }
}

#[test]
fn an_image_cut_anywhere_or_with_more_behind_it_is_a_miss() {
    let fixture = Fixture::new(ImageLimits::default());
    let (engine, key, image) = echo();
    fixture.put(key, &image);
    let sound = std::fs::read(fixture.path(key)).unwrap();
    for length in (0..sound.len()).step_by(sound.len() / 60).chain([sound.len() - 1, sound.len() - seal::TRAILER_BYTES])
    {
        refuses(&fixture, &engine, key, &sound[..length]);
    }
    refuses(&fixture, &engine, key, &[&sound[..], b"x"].concat());
    refuses(&fixture, &engine, key, &image);
}

#[test]
fn an_image_of_another_component_or_engine_under_this_name_is_a_miss() {
    let fixture = Fixture::new(ImageLimits::default());
    let (engine, key, image) = echo();
    for other in [
        PreparationKey::new(Sha256Digest::of(b"other"), key.compatibility()),
        PreparationKey::new(key.digest(), key.compatibility() + 1),
    ] {
        fixture.put(other, &image);
        let sealed = std::fs::read(fixture.path(other)).unwrap();
        refuses(&fixture, &engine, key, &sealed);
    }
}

#[test]
fn an_image_that_the_engine_refuses_is_a_miss_and_stays() {
    let fixture = Fixture::new(ImageLimits::default());
    let (engine, key, _) = echo();
    fixture.put(key, b"sealed, but no image");
    assert!(fixture.store.load(&engine, key).is_none());
    assert!(fixture.store.contains(key));
}

#[test]
fn something_else_than_a_file_under_an_images_name_is_a_miss() {
    let fixture = Fixture::new(ImageLimits::default());
    let (engine, key, image) = echo();
    std::fs::create_dir(fixture.path(key)).unwrap();
    assert!(fixture.store.load(&engine, key).is_none());
    std::fs::remove_dir(fixture.path(key)).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(fixture.path(key)).status().unwrap().success());
    assert!(fixture.store.load(&engine, key).is_none(), "and nobody waits for the other end of a pipe");
    std::fs::remove_file(fixture.path(key)).unwrap();
    let elsewhere = fixture.dir.path().join("elsewhere");
    std::fs::write(&elsewhere, &image).unwrap();
    std::os::unix::fs::symlink(&elsewhere, fixture.path(key)).unwrap();
    assert!(fixture.store.load(&engine, key).is_none());
}

#[test]
fn the_least_recently_used_go_when_there_are_too_many() {
    let fixture = Fixture::new(ImageLimits { count_max: 3, ..ImageLimits::default() });
    for component in 1..=3 {
        fixture.put(key(component, 1), b"image");
        fixture.clock.advance(Duration::from_secs(1));
    }
    // A use makes the first one the most recent; a record of it is due after a minute.
    fixture.clock.advance(Duration::from_mins(2));
    fixture.store.record_use(&fixture.file(key(1, 1)));
    fixture.clock.advance(Duration::from_secs(1));
    fixture.put(key(4, 1), b"image");
    let kept = [1, 2, 3, 4].map(|component| fixture.store.contains(key(component, 1)));
    assert_eq!(kept, [true, false, true, true]);
    assert_eq!(fixture.store.usage().0, 3);
}

#[test]
fn images_go_when_they_are_too_large_together_but_the_newest_stays() {
    let sealed = 1000 + seal::TRAILER_BYTES as u64;
    let fixture = Fixture::new(ImageLimits { bytes_max: 3 * sealed, ..ImageLimits::default() });
    for component in 1..=4 {
        fixture.put(key(component, 1), &[0; 1000]);
        fixture.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(
        fixture.store.usage(),
        (2, 2 * sealed),
        "a sixteenth less than the bound, so that not each one has to look"
    );
    assert!(fixture.store.contains(key(3, 1)) && fixture.store.contains(key(4, 1)));
    fixture.put(key(5, 1), &vec![0; 100_000]);
    assert_eq!(fixture.store.usage(), (1, 100_000 + seal::TRAILER_BYTES as u64));
    assert!(fixture.store.contains(key(5, 1)));
}

#[test]
fn a_use_is_recorded_at_most_once_a_minute() {
    let fixture = Fixture::new(ImageLimits::default());
    let (engine, key, image) = echo();
    fixture.put(key, &image);
    let recorded = || fixture.path(key).metadata().unwrap().modified().unwrap();
    let first = recorded();
    fixture.clock.advance(Duration::from_secs(59));
    fixture.store.load(&engine, key).unwrap();
    assert_eq!(recorded(), first);
    fixture.clock.advance(Duration::from_secs(1));
    fixture.store.load(&engine, key).unwrap();
    assert_eq!(recorded(), first + Duration::from_mins(1));
}

#[test]
fn a_mapped_image_outlives_its_file() {
    let fixture = Fixture::new(ImageLimits::default());
    let (engine, key, image) = echo();
    fixture.put(key, &image);
    let component = fixture.store.load(&engine, key).unwrap();
    fixture.store.remove(key.digest());
    assert_eq!((fixture.store.contains(key), fixture.store.usage()), (false, (0, 0)));
    assert!(component.serialize().unwrap() == image_and_trailer(&image, key), "what is mapped is unchanged");
}

/// What the file of `image` holds.
fn image_and_trailer(image: &[u8], key: PreparationKey) -> Vec<u8> {
    let other = Fixture::new(ImageLimits::default());
    other.put(key, image);
    std::fs::read(other.path(key)).unwrap()
}

#[test]
fn stale_components_are_those_with_images_of_other_engines_only_most_recently_used_first() {
    let fixture = Fixture::new(ImageLimits::default());
    for (component, engine) in [(1, 1), (2, 1), (3, 1), (3, 2), (1, 7)] {
        fixture.put(key(component, engine), b"image");
        fixture.clock.advance(Duration::from_secs(1));
    }
    let digest = |component| key(component, 0).digest();
    assert_eq!(fixture.store.stale(2), [digest(1), digest(2)]);
    assert_eq!(fixture.store.stale(1), []);
    let older = fixture.dir.path().join(Name::of(key(4, 2)).to_string().replace("-1.image", "-0.image"));
    std::fs::write(older, b"image").unwrap();
    assert!(fixture.store.stale(2).contains(&digest(4)), "another format is another engine's too");
}

#[test]
fn removing_a_component_removes_its_images_of_all_engines() {
    let fixture = Fixture::new(ImageLimits::default());
    for (component, engine) in [(1, 1), (1, 2), (2, 1)] {
        fixture.put(key(component, engine), b"image");
    }
    fixture.store.remove(key(1, 0).digest());
    assert_eq!(fixture.names(), [Name::of(key(2, 1)).to_string()]);
}

#[test]
fn an_abandoned_file_goes_at_the_next_opening_and_one_in_use_stays() {
    let fixture = Fixture::new(ImageLimits::default());
    let abandoned = fixture.dir.path().join("staged-1-0");
    std::fs::write(&abandoned, b"half").unwrap();
    let staged = fixture.store.stage().unwrap();
    let other = ImageStore::open(fixture.dir.path(), ImageLimits::default(), fixture.clock.clone()).unwrap();
    assert!(!abandoned.exists());
    assert_eq!(fixture.names().len(), 1);
    fixture.store.adopt(staged, key(1, 1)).unwrap();
    assert!(other.contains(key(1, 1)));
    drop(other.stage().unwrap());
    assert_eq!(fixture.names().len(), 1, "a staged file that is not adopted goes with its value");
}

#[test]
fn two_stores_on_one_directory_adopt_the_same_key_and_both_load_it() {
    let fixture = Fixture::new(ImageLimits::default());
    let other = ImageStore::open(fixture.dir.path(), ImageLimits::default(), fixture.clock.clone()).unwrap();
    let (engine, key, image) = echo();
    let start = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        for store in [&fixture.store, &other] {
            scope.spawn(|| {
                start.wait();
                for _ in 0..20 {
                    let staged = store.stage().unwrap();
                    staged.file().write_all(&image).unwrap();
                    store.adopt(staged, key).unwrap();
                    assert!(store.load(&engine, key).is_some());
                }
            });
        }
    });
    assert_eq!(fixture.names().len(), 1);
}

#[test]
fn the_directory_is_for_its_user_only() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("cache/images");
    let open = || ImageStore::open(&dir, ImageLimits::default(), Arc::new(SystemWallClock)).map(drop);
    let mode = || dir.metadata().unwrap().permissions().mode() & 0o777;
    open().unwrap();
    assert_eq!(mode(), 0o700);
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    open().unwrap();
    assert_eq!(mode(), 0o700);
}

#[test]
fn a_file_in_memory_takes_no_more_bytes_once_it_is_loaded() {
    let (engine, _, image) = echo();
    let file = anonymous_image().unwrap();
    (&file).write_all(&image).unwrap();
    load_image(&engine, &file).unwrap();
    assert!(file.write_all_at(b"x", 0).is_err());
}
