//! `latent config`: what is in force and where from, and files that are refused.

use crate::support::Setup;

#[test]
fn what_is_in_force_is_shown_with_its_origin() {
    let setup = Setup::new("[limits]\nfuel = 7");
    let output = setup.command("config").args(["--control", "127.0.0.1:1", "--output", "json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let origin = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap()["origin"].as_str().unwrap().to_owned();
    assert_eq!(output.status.code(), Some(0));
    assert!(origin("limits.fuel").ends_with("latent.toml:11"), "{text}");
    assert_eq!((origin("listeners.control.address"), origin("limits.wall")), ("--control".into(), "default".into()));
}

#[test]
fn a_wrong_key_ends_the_start_with_its_line() {
    let setup = Setup::new("[limits]\nfule = 7");
    for verb in ["config", "serve"] {
        let output = setup.command(verb).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("latent.toml:11: there is no key limits.fule; in [limits] are: fuel"), "{told}");
    }
}
