//! Files that nobody owns.

use crate::support::{ROOT, digest, fresh, furnish, held, in_root, open_at, publish, tenant};

#[test]
fn only_what_nobody_owns_is_removed() {
    let (disk, storage) = fresh();
    furnish(&storage);
    publish(&storage, "initech", "spare").expect("two own it now");
    storage.delete_release(&tenant("acme"), digest("spare")).expect("nothing uses it");
    assert_eq!(storage.collect().expect("it works").files, 0, "initech still has it");
    storage.delete_release(&tenant("initech"), digest("spare")).expect("nothing uses it");
    let before = held(&storage);
    assert_eq!(storage.collect().expect("it works").files, 1);
    assert_eq!(held(&storage), before);
    assert_eq!(disk.below(in_root("components")).len(), 2);
    assert_eq!(storage.collect().expect("it works").files, 0);
}

#[test]
fn files_that_are_no_components_stay() {
    use latent_storage::disk::Disk as _;
    let (disk, storage) = fresh();
    disk.write_file(&in_root("components/README"), b"hands off").expect("a file is written");
    assert_eq!(storage.collect().expect("it works").files, 0);
    assert_eq!(disk.bytes(in_root("components/README")), b"hands off");
}

#[test]
fn a_file_that_lost_its_owner_in_a_crash_is_removed_after_the_restart() {
    use latent_storage::disk::Disk as _;
    let (disk, storage) = fresh();
    furnish(&storage);
    drop(storage);
    let orphan = digest("orphan").to_string();
    disk.write_file(&in_root(&format!("components/{orphan}")), b"component orphan").expect("a file is written");
    let storage = open_at(&disk, ROOT).expect("it opens again");
    assert_eq!(storage.collect().expect("it works").files, 1);
    held(&storage);
}
