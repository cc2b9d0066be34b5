//! Starts, ends, and what a start is refused for.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Place, answering, is_private};

#[test]
fn a_start_makes_a_directory_of_its_own_deploys_calls_and_ends_clean() {
    let place = Place::new();
    place.put("answer.wat", answering(42));
    let mut up = place.up(&["answer.wat", "--call", "answer"]);
    assert_eq!(up.result(), "42");
    assert_eq!(std::fs::read_to_string(place.path(".latent/.gitignore")).unwrap(), "*\n");
    assert!(is_private(&place.path(".latent")) && is_private(&place.path(".latent/dev-credential")));
    up.signal(Signal::INT);
    let (code, told) = up.ended();
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("nothing left"), "{told}");
    assert!(!place.path(".latent/listeners.json").exists());
}

#[test]
fn a_client_below_the_directory_needs_no_flags() {
    let place = Place::new();
    place.put("answer.wat", answering(42));
    let _up = place.up(&["answer.wat"]);
    std::fs::create_dir_all(place.path("a/b")).unwrap();
    let output = place.latent(&["invoke", "answer#answer"]).current_dir(place.path("a/b")).output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"42\n"[..]), "{output:?}");
}

#[test]
fn what_was_deployed_is_there_after_a_restart_without_being_named() {
    let place = Place::new();
    place.put("answer.wat", answering(42));
    let mut up = place.up(&["answer.wat"]);
    up.signal(Signal::TERM);
    assert_eq!(up.ended().0, Some(0));
    let up = place.up(&[]);
    assert_eq!(up.call("POST /v1/invoke/answer/answer", "[]").body, "42");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a refusal takes is what is tested")]
fn a_second_node_in_the_directory_is_refused_at_once_and_the_first_goes_on() {
    let place = Place::new();
    place.put("answer.wat", answering(42));
    let up = place.up(&["answer.wat"]);
    let began = Instant::now();
    let (code, told) = place.begin(&[]).ended();
    let took = began.elapsed();
    assert!(code == Some(1) && told.contains(".latent") && told.contains("in use"), "{told}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(up.call("POST /v1/invoke/answer/answer", "[]").body, "42");
}

#[test]
fn a_port_that_is_taken_is_told_with_who_has_it_and_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let flags = ["--invoke", "--control", "--http"];
    for flag in flags {
        let of = |each| [each, if each == flag { &*address } else { "127.0.0.1:0" }];
        let output = Place::new().latent(&[&["up"], &*flags.map(of).concat()].concat()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        for part in [&*address, &format!(", {} has it", std::process::id()), &format!("{flag} 127.0.0.1:0")] {
            assert!(told.contains(part), "no {part:?} in {told}");
        }
    }
}

#[test]
fn a_component_that_is_not_there_is_refused_before_anything_is_made() {
    let place = Place::new();
    let (code, told) = place.begin(&["missing.wasm"]).ended();
    assert!(code == Some(1) && told.contains("missing.wasm"), "{told}");
    assert!(!place.path(".latent").exists());
}

#[test]
fn a_credential_that_was_lost_is_made_again() {
    let place = Place::new();
    place.put("answer.wat", answering(42));
    let mut up = place.up(&["answer.wat"]);
    up.signal(Signal::INT);
    assert_eq!(up.ended().0, Some(0));
    std::fs::remove_file(place.path(".latent/dev-credential")).unwrap();
    let up = place.up(&[]);
    assert_eq!(up.call("POST /v1/invoke/answer/answer", "[]").body, "42");
}
