//! What a start says and leaves behind, and what it is refused for.

use std::os::unix::fs::MetadataExt as _;
use std::time::Instant;

use crate::support::Setup;

#[test]
fn a_node_says_where_it_listens_and_leaves_what_clients_need() {
    let setup = Setup::new("");
    let node = setup.serve();
    let text = std::fs::read_to_string(setup.data().join("listeners.json")).unwrap();
    let listed: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(listed["invoke"], format!("http://{}", node.invoke));
    assert_eq!(listed["control"], format!("http://{}", node.control));
    let mode = |name: &str| setup.data().join(name).metadata().unwrap().mode() & 0o777;
    assert_eq!((mode("dev-credential"), mode("")), (0o600, 0o700));
    for path in ["/healthz", "/readyz"] {
        let answer = node.call(node.control, &format!("GET {path}"), b"");
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a refusal takes is what is tested")]
fn a_second_node_on_a_data_directory_is_refused_at_once_and_the_first_goes_on() {
    let setup = Setup::new("");
    let first = setup.serve();
    let began = Instant::now();
    let second = setup.begin().ended();
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains(setup.data().to_str().unwrap()), "{}", second.stderr);
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    assert_eq!(first.call(first.control, "GET /readyz", b"").status, 200);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let setup = Setup::new("");
    let output = setup.command("serve").arg("--invoke").arg(address.to_string()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains(&address.to_string()), "{told}");
}

#[test]
fn another_machine_is_not_served_without_tls() {
    let setup = Setup::new("");
    let output = setup.command("serve").args(["--control", "0.0.0.0:0"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("listeners.control.tls.certificate"), "{told}");
    assert!(!setup.data().exists(), "nothing is made for a configuration that is refused");
}
