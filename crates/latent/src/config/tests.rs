//! Tests of what is read, refused and shown.

use std::path::Path;
use std::time::Duration;

use super::*;

fn file(text: &str) -> Result<Effective, String> {
    let mut effective = Effective::default();
    effective.take_file(Path::new("/etc/latent.toml"), text)?;
    check::check(&effective.config)?;
    Ok(effective)
}

fn refusal(text: &str) -> String {
    file(text).map(|_| ()).expect_err("it is refused")
}

#[test]
fn the_defaults_are_a_node_and_those_of_the_reference() {
    let config = Config::default();
    check::check(&config).unwrap();
    assert_eq!((config.cells_total(), config.capacity(), config.journal.retained), (16, 64, 65_536));
    assert_eq!((config.shutdown_grace, config.limits.fuel), (Duration::from_secs(30), 100_000_000));
    for key in keys::KEYS {
        let mut config = config.clone();
        let value = (key.field)(&mut config).number();
        if let (Some((min, max)), Some(value)) = (key.bounds, value) {
            assert!((min..=max).contains(&value), "{}", key.name);
        }
    }
}

#[test]
fn the_example_file_is_the_table_and_changes_nothing() {
    let written = include_str!("../../../../docs/latent.toml");
    assert!(written == example::text(), "docs/latent.toml: write it anew with `latent config --example`");
    let mut read = file(written).unwrap().config;
    // Relative to the file.
    read.data_dir = read.data_dir.strip_prefix("/etc").unwrap().to_owned();
    assert_eq!(read, Config::default());
}

#[test]
fn every_value_is_read_again_as_it_is_shown() {
    let mut config = Config::default();
    for key in keys::KEYS {
        let Some(written) = (key.field)(&mut config).written() else { continue };
        let (sections, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        let head = if sections.is_empty() { String::new() } else { format!("[{sections}]\n") };
        let mut effective = Effective::default();
        effective.take_file(Path::new("f.toml"), &format!("{head}{name} = {written}")).unwrap();
        assert_eq!((key.field)(&mut effective.config).written(), Some(written), "{}", key.name);
    }
}

#[test]
fn a_value_is_refused_with_its_file_line_key_and_what_is_expected() {
    for (text, wanted) in [
        (
            "[limits]\nfuel = \"many\"",
            "/etc/latent.toml:2: limits.fuel is \"many\"; expected a whole number without a unit",
        ),
        ("[limits]\n\nfuel = 0", "/etc/latent.toml:3: limits.fuel is 0; expected 1 to 9223372036854775807"),
        ("[limits]\nwall = 30", "/etc/latent.toml:2: limits.wall is 30; expected a duration such as \"30s\""),
        ("[limits]\ncleanup_grace = \"2s\"", "limits.cleanup_grace is \"2s\"; expected 1 to 1000 milliseconds"),
        (
            "[limits]\npayload = \"64 apples\"",
            "limits.payload is \"64 apples\"; expected bytes, or a whole number with a unit",
        ),
        ("[listeners]\ninsecure = \"yes\"", "listeners.insecure is \"yes\"; expected true or false"),
        ("[listeners.invoke]\naddress = \"localhost\"", "expected an IP address with a port"),
        ("[pressure]\nsource = \"cgroup\"", "expected \"psi\" or \"none\""),
        ("data_dir = 7", "data_dir is 7; expected a path in quotes"),
        ("limits = 3", "there is no key limits; there are: data_dir"),
        ("[limits]\nfuel = -1", "limits.fuel is a number below 0"),
        ("[limits\n", "/etc/latent.toml:1: this is no TOML"),
    ] {
        let told = refusal(text);
        assert!(told.contains(wanted), "{text}: {told}");
    }
}

#[test]
fn a_key_that_there_is_not_is_refused_with_those_that_there_are() {
    assert_eq!(
        refusal("[shutdown]\ngrase = \"1s\""),
        "/etc/latent.toml:2: there is no key shutdown.grase; in [shutdown] are: grace"
    );
    assert!(refusal("[cells.huge]\ncount = 1").contains("nor a section [cells.huge]"));
    assert!(refusal("[listeners.invoke]\ntls = true").contains("there is no key listeners.invoke.tls"));
    assert!(refusal("fuel = 1\nfuel = 2").contains(":2: this is no TOML"));
}

#[test]
fn contradictions_name_the_keys() {
    for (text, keys) in [
        ("[cells.standard]\ncount = 0", &["cells.standard.count"][..]),
        ("[cells.small]\ncount = 1\nmemory = \"1Gi\"", &["cells.small.memory", "cells.standard.memory"]),
        ("[cells.standard]\nqueue = 65536", &["cells.*.queue"]),
        ("[journal]\nbytes = \"1Mi\"", &["journal.bytes", "cells.*.count", "journal.declared_error"]),
        ("[listeners.invoke]\naddress = \"0.0.0.0:7070\"", &["listeners.invoke.tls.certificate", "listeners.insecure"]),
        ("[listeners.control.tls]\nkey = \"k\"", &["listeners.control.tls.key", "listeners.control.tls.certificate"]),
        ("[listeners.control.tls]\nclient_ca = \"k\"", &["listeners.control.tls.client_ca"]),
        (
            "[listeners.control]\naddress = \"127.0.0.1:7070\"",
            &["listeners.invoke.address", "listeners.control.address"],
        ),
        ("[listeners.control]\nconnections = 1", &["listeners.control.connections_per_peer"]),
    ] {
        let told = refusal(text);
        assert!(keys.iter().all(|key| told.contains(key)), "{text}: {told}");
    }
    file("[listeners]\ninsecure = true\n[listeners.invoke]\naddress = \"0.0.0.0:7070\"").unwrap();
}

#[test]
fn tenants_have_quotas_and_only_those_keys() {
    let effective = file("[tenants.acme]\nlive = 3\nmemory = \"1Gi\"\npriority = 9\n[tenants.dev]").unwrap();
    let quotas: Vec<_> = effective.config.tenants.iter().map(|(name, quota)| (name.as_str(), *quota)).collect();
    let acme = latent_node::access::TenantQuota {
        live: Some(3),
        memory_bytes: Some(1 << 30),
        priority: Some(9),
        ..Default::default()
    };
    assert_eq!(quotas, [("acme", acme), ("dev", latent_node::access::TenantQuota::default())]);
    assert!(refusal("[tenants.acme]\nlives = 3").contains("in [tenants.acme] are: live, queued"));
    assert!(refusal("[tenants.acme]\npriority = 256").contains("expected 0 to 255"));
    assert!(refusal("tenants = 3").contains("[tenants.NAME]"));
    assert!(refusal("[tenants.\"\"]\nlive = 3").contains("is no name of a tenant"));
}

#[test]
fn each_value_shows_where_it_comes_from() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("latent.toml");
    std::fs::write(&path, "data_dir = \"d\"\n\n[limits]\nfuel = 5\n[tenants.acme]\nlive = 2\n").unwrap();
    let args = ConfigArgs {
        config: Some(path.clone()),
        invoke: Some("127.0.0.1:0".parse().unwrap()),
        ..ConfigArgs::default()
    };
    let effective = read(&args, Some("http://collector:4317")).unwrap();
    assert_eq!(effective.config.data_dir, dir.path().join("d"));
    let told = print::print(&effective.rows(), OutputForm::Text);
    let line = |key: &str| {
        told.lines()
            .find(|line| line.starts_with(key))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(line("limits.fuel"), Some(format!("limits.fuel = 5 # {}:4", path.display())));
    assert_eq!(line("limits.wall"), Some("limits.wall = \"1m\" # default".to_owned()));
    assert_eq!(
        line("listeners.invoke.address"),
        Some("listeners.invoke.address = \"127.0.0.1:0\" # --invoke".to_owned())
    );
    assert_eq!(line("tenants.acme.live"), Some(format!("tenants.acme.live = 2 # {}:6", path.display())));
    assert!(line("telemetry.otlp_endpoint").unwrap().ends_with("# $OTEL_EXPORTER_OTLP_ENDPOINT"));
    let json = print::print(&effective.rows(), OutputForm::Json);
    assert!(
        json.lines().any(|line| line.contains("\"key\":\"limits.fuel\"") && line.contains("\"value\":5")),
        "{json}"
    );
}

#[test]
fn a_tenant_whose_name_is_no_bare_key_is_printed_as_a_file_takes_it() {
    let text = "[tenants.'a.b']\nlive = 3\n[tenants.'say\"so\"']\nlive = 4\n[tenants.'c\\d']\nlive = 5\n";
    let effective = file(text).unwrap();
    let rows = effective.rows().into_iter().filter(|row| row.key.starts_with("tenants."));
    let printed: Vec<_> = rows.map(|row| format!("{} = {}", row.key, row.value.unwrap())).collect();
    let again = file(&printed.join("\n")).unwrap();
    assert_eq!(again.config.tenants, effective.config.tenants, "{printed:?}");
    assert_eq!(again.config.tenants.len(), 3);
    assert!(effective.origin("tenants.\"a.b\".live") != Origin::Default, "{printed:?}");
    assert!(refusal("\"a\\tb\" = 4").contains("there is no key \"a\\u0009b\""));
    assert!(refusal("\"cells.standard\".count = 4").contains("there is no key \"cells.standard\".count"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let args = ConfigArgs { config: Some("/nowhere/latent.toml".into()), ..ConfigArgs::default() };
    assert!(read(&args, None).unwrap_err().contains("/nowhere/latent.toml"));
    assert!(read(&ConfigArgs::default(), Some("collector")).unwrap_err().contains("OTEL_EXPORTER_OTLP_ENDPOINT"));
}
