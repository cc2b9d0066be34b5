//! How the client commands are written on the command line.

use clap::{CommandFactory as _, Parser as _};

use super::ClientCommand;
use crate::cli::{Cli, Command};

fn parse(line: &str) -> Result<ClientCommand, String> {
    let words = std::iter::once("latent").chain(line.split_whitespace());
    match Cli::try_parse_from(words).map_err(|told| told.to_string())?.command {
        Command::Client(command) => Ok(*command),
        other => panic!("{line} was read as {other:?}"),
    }
}

#[test]
fn every_verb_is_read() {
    for line in [
        "release publish c.wasm --manifest m.json",
        "release get beef",
        "release list --limit 5",
        "release delete beef --output json",
        "deploy d.json --dry-run",
        "deploy --service s --deployment d --release beef --weight 20 --fuel 1 --memory 1Mi --deadline 2s",
        "deploy --service s --deployment d --release beef --env A=b --env C=d --secret E=f --import a:b/c",
        "deploy --service s --deployment d --component c.wasm --expected-generation 0",
        "deploy --service s --deployment d --weight 1",
        "deployment list --service s",
        "deployment get s d",
        "deployment delete s d --expected-generation 3",
        "route get s",
        "route get s blue",
        "route resolve s/c#f --id a",
        "invoke s#f",
        "invoke s/a:b/c@1.0.0#f --args [] --deadline 1s --id a --idempotency-key k --route r --priority 3",
        "invoke --service s --call c#f --args - --metadata guest.a=b",
        "activation get a",
        "activation list",
        "activation watch a --after 3",
        "activation cancel a --reason r",
        "logs a",
        "logs --service s --follow --tail 10",
        "logs --service s --tail 10",
        "logs --tail 0",
        "node",
        "node inventory",
        "node drain --wait 1s",
        "node resume",
        "usage --tenant t --since 1h --until 2026-01-01T00:00:00Z",
        "tenant apply t --live 1 --disk 1Gi",
        "tenant apply t quota.json",
        "tenant get t",
        "tenant list",
        "tenant delete t",
        "credential create --tenant t --subject s --role invoke --role deploy --lifetime 1h",
        "credential list --tenant t",
        "credential revoke c",
        "backup /b",
        "restore /b /d",
        "completions bash",
    ] {
        assert!(parse(line).is_ok(), "{line}: {}", parse(line).expect_err("it is refused"));
    }
}

#[test]
fn the_node_may_be_named_before_and_after_the_verb() {
    for line in [
        "release --control-url http://x:1 --token-file t --ca a --cert c --key k list",
        "release list --control-url http://x:1 --token-file t --ca a --cert c --key k",
    ] {
        let command = parse(line).expect("it is read");
        let node = command.node().expect("it asks a node");
        assert_eq!(node.control_url.as_deref(), Some("http://x:1"), "{line}");
        assert!(node.token_file.is_some() && node.ca.is_some() && node.cert.is_some() && node.key.is_some(), "{line}");
    }
}

#[test]
fn what_is_missing_or_does_not_go_together_is_wrong_usage() {
    for (line, named) in [
        ("invoke", "SERVICE[/CONTRACT]#FUNCTION"),
        ("invoke s", "it names no function"),
        ("invoke s#f --service t --call g", "--service"),
        ("invoke --service s", "--call"),
        ("invoke s#f --deadline 5", "the unit is missing"),
        ("invoke s#f --media-type text/plain", "application/json"),
        ("invoke s#f --priority 256", "--priority"),
        ("deploy d.json --weight 3", "--weight"),
        ("deploy --service s", "--deployment"),
        ("deploy --service s --deployment d --release r --component c", "--component"),
        ("deploy --service s --deployment d --weight 0", "--weight"),
        ("deploy --service s --deployment d --weight 10001", "--weight"),
        ("deploy --service s --deployment d --env A", "NAME=VALUE"),
        ("logs", "ACTIVATION"),
        ("logs a --follow", "--follow"),
        ("logs --follow --tail 1001", "--tail"),
        ("logs --service s", "ACTIVATION"),
        ("logs a --tail 3", "--tail"),
        ("release", "publish"),
        ("release list --limit 0", "--limit"),
        ("usage --since yesterday", "--since"),
        ("credential create --tenant t --subject s", "--role"),
        ("credential create --tenant t --subject s --role king", "operate"),
        ("restore /b", "<DATA_DIR>"),
        ("completions sh", "bash"),
    ] {
        let told = parse(line).expect_err("it is refused");
        assert!(told.contains(named), "no {named:?} for {line:?} in {told}");
    }
}

#[test]
fn the_help_of_every_verb_has_an_example_that_is_read() {
    let mut cli = Cli::command();
    let verbs: Vec<String> = cli.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    for verb in verbs.iter().filter(|verb| !["run", "check"].contains(&verb.as_str())) {
        let command = cli.find_subcommand_mut(verb).expect("it is one");
        if command.is_hide_set() {
            continue;
        }
        let help = command.render_long_help().to_string();
        let examples: Vec<&str> =
            help.lines().map(str::trim).filter(|line| line.starts_with(&format!("latent {verb}"))).collect();
        assert!(!examples.is_empty(), "no example in the help of {verb}: {help}");
    }
}
