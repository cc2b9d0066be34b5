//! A node with few file descriptors: it takes what it may have, and calls do not take those of its operator.

use std::net::TcpStream;

use crate::support::Setup;

#[test]
fn a_soft_limit_is_raised_and_a_hard_one_that_is_too_low_is_named() {
    let setup = Setup::new("");
    let node = Setup::ready(Setup::spawn(setup.serve_after("ulimit -Sn 64")), setup.data().join("dev-credential"));
    assert_eq!(node.call(node.control, "GET /readyz", b"").status, 200);
    drop(node);
    let ended = Setup::spawn(setup.serve_after("ulimit -n 128")).ended();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("RLIMIT_NOFILE") && ended.stderr.contains("128 file descriptors"), "{ended:?}");
}

#[test]
fn more_connections_on_the_invoke_listener_than_descriptors_leave_control_its_own() {
    let setup = Setup::new("");
    let node = Setup::ready(Setup::spawn(setup.serve_after("ulimit -n 300")), setup.data().join("dev-credential"));
    let flood: Vec<_> = (0..300).map(|_| TcpStream::connect(node.invoke).expect("the kernel takes it")).collect();
    for path in ["GET /readyz", "GET /v1/node", "GET /v1/releases"] {
        let answer = node.call(node.control, path, b"");
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    // One that needs descriptors of the node besides its connection.
    node.deploy("echo");
    drop(flood);
}
