//! Credentials whose token is in a file: made, used again, replaced, and refused where others could read it.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use latent_core::PlatformErrorCode as Code;
use latent_node::access::{DEVELOPMENT_TENANT, Role, TenantDirectory as _};
use tempfile::TempDir;

use crate::support::{World, field, new, refused, tenant, world};

fn place() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("credential");
    (place, file)
}

fn token(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap().trim_end().to_owned()
}

fn allow(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn names(place: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(place.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn assert_all_roles(world: &World, token: &str, of: &str) {
    let access = world.call(token).unwrap();
    assert_eq!((access.principal.tenant.as_str(), access.roles), (of, Role::ALL.into_iter().collect()));
}

#[test]
fn a_development_credential_is_made_once_and_its_file_is_its_owners_alone() {
    let (place, file) = place();
    let world = world();
    let made = world.registry.development_credential(&file).unwrap();
    assert!(made.is_new && made.credential.tenant.as_str() == DEVELOPMENT_TENANT);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(names(&place), ["credential"]);
    let first = token(&file);
    assert_all_roles(&world, &first, "dev");
    let world = world.reopened();
    let again = world.registry.development_credential(&file).unwrap();
    assert_eq!((again.is_new, again.credential), (false, made.credential));
    assert_eq!(token(&file), first);
    assert_all_roles(&world, &first, "dev");
}

#[test]
fn a_file_that_was_lost_revoked_or_holds_something_else_is_made_anew_and_the_former_token_holds_no_more() {
    let (place, file) = place();
    let world = world();
    world.registry.development_credential(&file).unwrap();
    let lose: [&dyn Fn(&World); 4] = [
        &|_| std::fs::remove_file(&file).unwrap(),
        &|_| std::fs::write(&file, "latent_something else\n").unwrap(),
        &|_| std::fs::write(&file, vec![b'x'; 1 << 20]).unwrap(),
        &|world| {
            world.create("dev", &Role::ALL);
            world.registry.revoke_credential("development").unwrap();
        },
    ];
    for lose in lose {
        let former = token(&file);
        lose(&world);
        assert!(world.registry.development_credential(&file).unwrap().is_new);
        world.call(&former).unwrap_err();
        assert_all_roles(&world, &token(&file), "dev");
        assert_eq!(world.listed().1.iter().filter(|id| *id == "development").count(), 1);
    }
    assert_eq!(names(&place), ["credential"]);
}

#[test]
fn a_token_of_another_credential_is_not_taken_for_the_one_that_is_wanted() {
    let (_place, file) = place();
    let world = world();
    world.registry.recover(&tenant("ops"), &file).unwrap();
    let other = token(&file);
    assert!(world.registry.development_credential(&file).unwrap().is_new);
    assert_ne!(token(&file), other);
    assert_all_roles(&world, &other, "ops");
}

#[test]
fn an_operator_who_lost_every_credential_recovers_over_what_the_store_holds() {
    let (_place, file) = place();
    let lost = world();
    lost.registry.apply_tenant(crate::support::named("acme")).unwrap();
    lost.create("acme", &[Role::Operate]);
    let world = lost.reopened();
    let made = world.registry.recover(&tenant("acme"), &file).unwrap();
    assert!(made.is_new);
    assert_all_roles(&world.reopened(), &token(&file), "acme");
    assert_eq!(world.listed().0, ["acme"]);
}

#[test]
fn a_file_that_others_can_read_is_refused_by_name_with_what_to_do_and_left_alone() {
    let (_place, file) = place();
    let world = world();
    world.registry.development_credential(&file).unwrap();
    let before = token(&file);
    for mode in [0o640, 0o604, 0o620, 0o660, 0o644] {
        allow(&file, mode);
        let error =
            refused(world.registry.development_credential(&file), Code::InvalidArgument, "access.credential-file");
        assert_eq!(field(&error, "reason"), "readable-by-others");
        assert!(error.message().contains(&*file.to_string_lossy()) && error.message().contains("remove it"), "{error}");
        assert!(!error.message().contains(&before[7..]));
        assert_eq!(token(&file), before);
    }
    allow(&file, 0o600);
    assert!(!world.registry.development_credential(&file).unwrap().is_new);
}

#[test]
fn a_directory_that_others_can_write_to_is_refused() {
    let (place, file) = place();
    let world = world();
    for mode in [0o770, 0o702, 0o1777] {
        allow(place.path(), mode);
        let error =
            refused(world.registry.development_credential(&file), Code::InvalidArgument, "access.credential-file");
        assert_eq!(field(&error, "reason"), "directory-writable-by-others");
    }
    assert_eq!(names(&place), Vec::<String>::new());
    assert_eq!(world.listed().1, Vec::<String>::new());
}

#[test]
fn links_and_directories_are_neither_followed_nor_replaced() {
    let (place, file) = place();
    let world = world();
    let target = place.path().join("target");
    std::fs::write(&target, "kept").unwrap();
    allow(&target, 0o600);
    symlink(&target, &file).unwrap();
    let attempt =
        || refused(world.registry.development_credential(&file), Code::InvalidArgument, "access.credential-file");
    assert_eq!(field(&attempt(), "reason"), "not-a-file");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert_eq!(field(&attempt(), "reason"), "not-a-file");
    std::fs::remove_dir(&file).unwrap();
    symlink(&target, place.path().join("credential.new")).unwrap();
    world.registry.development_credential(&file).expect("what is left of an interrupted start is removed");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
    assert!(std::fs::symlink_metadata(&file).unwrap().is_file());
}

#[test]
fn when_the_directory_is_missing_or_the_store_fails_nothing_is_left() {
    let (place, file) = place();
    let world = world();
    let below = file.join("none").join("credential");
    let error = refused(world.registry.development_credential(&below), Code::Unavailable, "access.credential-file-io");
    assert!(error.is_retryable());
    world.store.fail(true);
    refused(world.registry.development_credential(&file), Code::ResourceExhausted, "storage.disk-full");
    let given = new("dev", &[Role::Invoke]);
    refused(world.registry.credential_file(&file, "x", given), Code::ResourceExhausted, "storage.disk-full");
    assert_eq!(names(&place), Vec::<String>::new());
}

#[test]
fn a_credential_in_a_file_has_the_roles_that_are_wanted_and_the_tenant_has_to_be_there() {
    let (place, file) = place();
    let world = crate::support::peopled();
    let reader = new("acme", &[Role::Invoke]);
    let made = world.registry.credential_file(&file, "reader", reader.clone()).unwrap();
    assert_eq!(made.credential.roles, reader.roles);
    let former = token(&file);
    let wider = new("acme", &[Role::Invoke, Role::Deploy]);
    assert!(world.registry.credential_file(&file, "reader", wider.clone()).unwrap().is_new);
    world.call(&former).unwrap_err();
    assert_eq!(world.call(&token(&file)).unwrap().roles, wider.roles);
    std::fs::remove_file(&file).unwrap();
    let nobody = new("nobody", &[Role::Invoke]);
    refused(world.registry.credential_file(&file, "x", nobody), Code::NotFound, "access.unknown-tenant");
    let none = new("acme", &[]);
    refused(world.registry.credential_file(&file, "x", none), Code::InvalidArgument, "access.no-roles");
    assert_eq!(names(&place), Vec::<String>::new());
}
