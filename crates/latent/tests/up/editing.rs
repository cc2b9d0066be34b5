//! Edits of a file that is watched.

use std::time::{Duration, Instant};

use crate::support::{Answer, Place, answering, marked};

const ANSWER: &str = "POST /v1/invoke/answer/answer";
const PARK: &str = "POST /v1/invoke/clock-park/park/park";

#[test]
#[expect(clippy::disallowed_methods, reason = "how long an edit takes is what is tested")]
fn an_edit_is_answered_with_the_new_code_without_being_asked_for() {
    let place = Place::new();
    place.put("answer.wat", answering(1));
    let mut up = place.up(&["answer.wat"]);
    assert_eq!(up.call(ANSWER, "[]").body, "1");
    let deployments = up.call("GET /v1/deployments", "").body;
    let edited = Instant::now();
    place.put("answer.wat", answering(2));
    let answered = loop {
        let answer = up.call(ANSWER, "[]");
        assert_eq!(answer.status, 200, "{answer:?}");
        match &*answer.body {
            "1" => assert!(edited.elapsed() < Duration::from_mins(1), "the edit is not taken: {:?}", up.told),
            "2" => break edited.elapsed(),
            other => panic!("{other}"),
        }
    };
    println!("an edit was answered after {:.2} s", answered.as_secs_f64());
    up.until("deployed answer.wat again");
    assert!(deployments.contains("\"main\""), "{deployments}");
    assert_eq!(
        up.call("GET /v1/deployments", "").body.matches("\"main\"").count(),
        deployments.matches("\"main\"").count()
    );
}

#[test]
fn a_call_under_way_stays_with_the_code_that_it_began_with() {
    let place = Place::new();
    place.put("clock-park.wasm", marked("clock-park", 1));
    let mut up = place.up(&["clock-park.wasm"]);
    let old = up.call(PARK, "[\"0\"]").header("latent-revision");
    let parked = up.ask(&up.invoke, PARK, "latent-activation-id: parked\r\n", "[\"3600000\"]");
    while !up.call("GET /v1/activations/parked", "").body.to_lowercase().contains("running") {}

    place.put("clock-park.wasm", marked("clock-park", 2));
    up.until("deployed clock-park.wasm again");
    let new = up.call(PARK, "[\"0\"]").header("latent-revision");
    assert_ne!(old, new);

    let state = up.call("GET /v1/activations/parked", "").body;
    assert!(state.to_lowercase().contains("running") && state.contains(&old), "{state}");
    let cancelled = up.call("POST /v1/activations/parked/cancel", "{}");
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let ended = Answer::of(parked);
    assert!(ended.body.contains("cancelled"), "{ended:?}");
    assert_eq!(ended.header("latent-revision"), old);
}

#[test]
fn what_is_no_component_is_told_and_the_old_code_stays_until_it_is_mended() {
    let place = Place::new();
    place.put("answer.wat", answering(1));
    let mut up = place.up(&["answer.wat"]);
    // As a compiler leaves it half way.
    let text = answering(2);
    std::fs::write(place.path("answer.wat"), &text[..text.len() / 2]).unwrap();
    up.until("error: answer.wat: ");
    up.until("answer stays as it was deployed before");
    assert_eq!(up.call(ANSWER, "[]").body, "1");
    std::fs::remove_file(place.path("answer.wat")).unwrap();
    assert_eq!(up.call(ANSWER, "[]").body, "1");
    place.put("answer.wat", text);
    up.until("deployed answer.wat again");
    assert_eq!(up.call(ANSWER, "[]").body, "2");
}

#[test]
fn a_component_that_is_refused_at_the_start_is_deployed_once_it_is_mended() {
    let place = Place::new();
    place.put("answer.wat", "(component");
    let mut up = place.up(&["answer.wat"]);
    assert!(up.told.iter().any(|line| line.contains("answer is not deployed")), "{:?}", up.told);
    place.put("answer.wat", answering(1));
    up.until("answer: deployed answer.wat as");
    assert_eq!(up.call(ANSWER, "[]").body, "1");
}

#[test]
fn limits_that_were_given_to_the_deployment_outlast_an_edit() {
    let place = Place::new();
    place.put("answer.wat", answering(1));
    let mut up = place.up(&["answer.wat"]);
    let flags = ["deploy", "--service", "answer", "--deployment", "main", "--env", "MODE=fast"];
    assert!(place.latent(&flags).output().unwrap().status.success());
    place.put("answer.wat", answering(2));
    up.until("deployed answer.wat again");
    let deployments = up.call("GET /v1/deployments", "").body;
    assert!(deployments.contains("MODE"), "{deployments}");
}
