//! Hundreds of failures of each class leave nothing behind but bounded prepared code.

use crate::classes::Class;
use crate::support::{Setup, on_node};

const TIMES: usize = 500;

#[test]
fn hundreds_of_failures_of_each_class_leave_nothing_behind() {
    let mut setup = Setup::default();
    setup.settings.prepared_entries_max = 2;
    on_node(setup, |node| async move {
        for class in Class::ALL {
            // What a refusal of the component costs is its inspection and compilation: fewer of those.
            let times = if class == Class::MissingImport { TIMES / 10 } else { TIMES };
            let before = node.runner.snapshot();
            for _ in 0..times {
                class.happen(&node).await;
            }
            let after = node.runner.snapshot();
            // A deadline of few milliseconds may pass before its activation has a cell.
            let released = after.releases - before.releases;
            assert!(released == times as u64 || class == Class::Deadline, "{class:?}: {released} releases");
            assert_eq!((after.quarantines, after.failed_dispositions), (0, 0));
            assert!(node.backend.resources().prepared_entries <= 2);
            node.settled().await;
        }
    });
}

#[test]
fn failures_of_changing_components_share_the_one_uncached_slot() {
    on_node(Setup::uncached(), |node| async move {
        for _ in 0..20 {
            for class in Class::ALL {
                class.happen(&node).await;
                assert!(node.backend.resources().prepared_entries <= 1);
            }
        }
        assert_eq!(node.observations().available, node.observations().capacity);
    });
}
