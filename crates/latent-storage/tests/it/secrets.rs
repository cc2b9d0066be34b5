//! Secrets in a directory: what a tenant's names reach, what is refused and why, and who hears of it.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use latent_core::{PlatformError, PlatformErrorCode};
use latent_executor::secret::SECRET_BYTES_MAX;
use latent_executor::{SecretSource as _, SecretValue};
use latent_storage::{SecretDirectory, SecretRefusal, secret_directory_name};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use crate::support::tenant;

/// A directory of secrets and what its operator was told.
struct Kept {
    place: TempDir,
    secrets: SecretDirectory,
    told: Arc<Mutex<Vec<String>>>,
}

fn kept() -> Kept {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let told = Arc::<Mutex<Vec<String>>>::default();
    let report = {
        let told = told.clone();
        move |refusal: &SecretRefusal| told.lock().expect("no test panics in it").push(refusal.to_string())
    };
    let secrets = SecretDirectory::new(place.path(), report);
    Kept { place, secrets, told }
}

impl Kept {
    fn path(&self, owner: &str, name: &str) -> PathBuf {
        self.place.path().join(secret_directory_name(&tenant(owner))).join(name)
    }

    /// Puts a secret there as an operator does: complete, and renamed over the one before.
    fn put(&self, owner: &str, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(owner, name);
        fs::create_dir_all(path.parent().expect("it is in a directory")).expect("a directory is made");
        let staged = self.place.path().join("staged");
        fs::write(&staged, content).expect("it is written");
        fs::set_permissions(&staged, Permissions::from_mode(0o600)).expect("its rights are set");
        fs::rename(staged, path).expect("it is renamed");
    }

    fn read(&self, owner: &str, name: &str) -> Result<String, PlatformError> {
        self.secrets.secret(&tenant(owner), name).map(|value| SecretValue::expose(&value).to_owned())
    }

    /// Reads what has to be refused. The tenant learns the name alone, the operator the path and the reason.
    #[track_caller]
    fn refused(&self, owner: &str, name: &str) -> String {
        self.told.lock().expect("no test panics in it").clear();
        let error = self.read(owner, name).expect_err("it is refused");
        assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::DependencyFailed, true));
        assert_eq!(error.details()[0].kind(), "activation.secret-unavailable");
        assert_eq!(error.details()[0].field("secret"), Some(name));
        let place = self.place.path().display().to_string();
        assert!(!format!("{error:?}").contains(&place), "{error:?}");
        let told = std::mem::take(&mut *self.told.lock().expect("no test panics in it"));
        let [told] = &told[..] else { panic!("the operator hears of it once: {told:?}") };
        assert!(!told.contains("hunter2"), "{told}");
        told.clone()
    }
}

#[test]
fn a_secret_is_read_without_one_line_feed_at_its_end() {
    let kept = kept();
    for (content, value) in
        [("hunter2", "hunter2"), ("hunter2\n", "hunter2"), ("a\nb\n\n", "a\nb\n"), ("\n", ""), ("", "")]
    {
        kept.put("acme", "api-key", content);
        assert_eq!(kept.read("acme", "api-key").expect("it is there"), value);
    }
    assert!(kept.told.lock().expect("no test panics in it").is_empty());
}

#[test]
fn a_secret_that_was_replaced_is_seen_by_the_next_read() {
    let kept = kept();
    for value in ["first", "second", "third"] {
        kept.put("acme", "api-key", value);
        assert_eq!(kept.read("acme", "api-key").expect("it is there"), value);
    }
    fs::remove_file(kept.path("acme", "api-key")).expect("it is removed");
    assert!(kept.refused("acme", "api-key").contains("No such file"));
}

#[test]
fn a_tenant_reaches_its_own_secrets_only() {
    let kept = kept();
    kept.put("acme", "api-key", "of acme");
    kept.put("other", "api-key", "of other");
    kept.put("other", "lonely", "of other");
    assert_eq!(kept.read("acme", "api-key").expect("it is there"), "of acme");
    kept.refused("acme", "lonely");
    kept.refused("nobody", "api-key");
}

#[test]
fn no_name_leads_out_of_the_tenants_directory() {
    let kept = kept();
    kept.put("acme", "api-key", "mine");
    kept.put("other", "api-key", "hunter2");
    fs::write(kept.place.path().join("loose"), "hunter2").expect("it is written");
    for name in ["../other/api-key", "..", ".", "", "../loose", "/etc/hostname", "api-key\0", "api-key/", "./api-key"] {
        assert!(kept.refused("acme", name).contains("a name that none can have"), "{name:?}");
    }
    for odd in ["..", ".", "../other", "other/", "/", "%2E%2E"] {
        kept.refused(odd, "api-key");
    }
}

#[test]
fn no_link_is_followed_below_the_directory_and_the_directory_itself_may_be_one() {
    let kept = kept();
    kept.put("acme", "api-key", "mine");
    kept.put("other", "api-key", "hunter2");
    for target in [kept.path("other", "api-key"), kept.path("acme", "api-key"), PathBuf::from("../other/api-key")] {
        let link = kept.path("acme", "link");
        symlink(&target, &link).expect("a link is made");
        assert!(kept.refused("acme", "link").contains("no link"), "{target:?}");
        fs::remove_file(link).expect("it is removed");
    }
    symlink(kept.path("other", "."), kept.place.path().join("guest")).expect("a link is made");
    kept.refused("guest", "api-key");

    let elsewhere = tempfile::tempdir().expect("a temporary directory is made");
    let link = elsewhere.path().join("secrets");
    symlink(kept.place.path(), &link).expect("a link is made");
    let through = SecretDirectory::new(link, |_: &SecretRefusal| {});
    through.check().expect("the directory is there");
    assert_eq!(through.secret(&tenant("acme"), "api-key").expect("it is there").expose(), "mine");
}

#[test]
fn a_file_on_which_others_have_rights_is_refused_with_what_to_do() {
    let kept = kept();
    for rights in [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o777] {
        kept.put("acme", "api-key", "hunter2");
        let path = kept.path("acme", "api-key");
        fs::set_permissions(&path, Permissions::from_mode(rights)).expect("its rights are set");
        let told = kept.refused("acme", "api-key");
        assert!(told.contains(&format!("{rights:04o}")) && told.contains("chmod 600"), "{told}");
    }
    fs::set_permissions(kept.path("acme", "api-key"), Permissions::from_mode(0o400)).expect("its rights are set");
    assert_eq!(kept.read("acme", "api-key").expect("its owner may read it"), "hunter2");
}

#[test]
fn what_cannot_be_a_variable_is_refused() {
    let kept = kept();
    let longest = "x".repeat(SECRET_BYTES_MAX);
    for whole in [longest.clone(), format!("{longest}\n")] {
        kept.put("acme", "api-key", whole);
        assert_eq!(kept.read("acme", "api-key").expect("it is as long as allowed").len(), SECRET_BYTES_MAX);
    }
    for long in [format!("{longest}x"), format!("{longest}x\n"), longest.repeat(2)] {
        kept.put("acme", "api-key", long);
        assert!(kept.refused("acme", "api-key").contains("more than 65536 bytes"));
    }
    kept.put("acme", "api-key", b"hunter2\0");
    assert!(kept.refused("acme", "api-key").contains("a NUL character"));
    kept.put("acme", "api-key", b"hunter2\xff");
    assert!(kept.refused("acme", "api-key").contains("is not UTF-8"));
}

#[test]
fn what_is_no_file_is_refused_and_never_waited_for() {
    let (done, answer) = mpsc::channel();
    std::thread::spawn(move || {
        let kept = kept();
        kept.put("acme", "api-key", "mine");
        mknodat(CWD, kept.path("acme", "pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe is made");
        fs::create_dir(kept.path("acme", "directory")).expect("a directory is made");
        drop(done.send(["pipe", "directory"].map(|name| kept.refused("acme", name))));
    });
    let told = answer.recv_timeout(Duration::from_secs(30)).expect("nobody waits for the pipe's other end");
    assert!(told.iter().all(|told| told.contains("put a file there")), "{told:?}");
}

#[test]
fn every_tenant_has_a_directory_of_its_own_whatever_its_name() {
    let name = |id: &str| secret_directory_name(&tenant(id));
    let plain = [("acme", "acme"), ("Acme-2_b.c", "Acme-2_b.c"), ("..", "%2E."), (".a", "%2Ea"), ("a/b", "a%2Fb")];
    let odd = [("é", "%C3%A9"), ("%2Ea", "%252Ea"), ("a:b@c", "a%3Ab%40c")];
    for (id, expected) in plain.into_iter().chain(odd) {
        assert_eq!(name(id), expected);
    }
    let long = ["/".repeat(256), "/".repeat(255), format!("{}a", "/".repeat(255))].map(|id| name(&id));
    assert!(long.iter().all(|name| name.len() <= 255 && name.starts_with("%sha256-")), "{long:?}");
    assert!(long[0] != long[1] && long[1] != long[2] && long[0] != long[2]);
    assert_eq!(name(&"a".repeat(255)).len(), 255);
    assert_eq!(
        name(&"a".repeat(256)),
        format!("%sha256-{}", latent_core::Sha256Digest::of("a".repeat(256).as_bytes()))
    );

    let kept = kept();
    for id in ["a/b", "é", "..", &"/".repeat(256)] {
        kept.put(id, "api-key", id);
        assert_eq!(kept.read(id, "api-key").expect("it is there"), id);
    }
}

#[test]
fn a_directory_that_is_not_there_is_named_at_the_start() {
    let kept = kept();
    kept.secrets.check().expect("it is there");
    let absent = SecretDirectory::new(kept.place.path().join("absent"), |_: &SecretRefusal| {});
    let refusal = absent.check().expect_err("it is not there");
    assert!(refusal.to_string().contains("absent"), "{refusal}");
    let SecretRefusal::Unreadable { error, .. } = refusal else { panic!("another reason: {refusal}") };
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn debug_output_shows_where_secrets_are_and_nothing_of_them() {
    let kept = kept();
    kept.put("acme", "api-key", "hunter2");
    let value = kept.secrets.secret(&tenant("acme"), "api-key").expect("it is there");
    let shown = format!("{value:?} {:?}", kept.secrets);
    assert!(!shown.contains("hunter2") && shown.contains("SecretDirectory"), "{shown}");
}
