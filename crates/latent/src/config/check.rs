//! Values that are each allowed and do not go together.
//!
//! Invariant: a configuration that passes makes a node, as far as that depends on the configuration.

use std::path::Path;

use latent_activation::LocalActivationJournalConfig;

use super::kinds::ByteSize;
use super::settings::{Config, ListenerSettings};

/// Activations under way for which the node has places everywhere.
const CAPACITY_MAX: u64 = latent_node::CONTINUATIONS_MAX as u64;

/// Looks for contradictions.
///
/// # Errors
/// The first, naming the keys and what to do.
pub fn check(config: &Config) -> Result<(), String> {
    cells(config)?;
    journal(config)?;
    directories(config)?;
    listener("listeners.invoke", &config.invoke, config.insecure)?;
    listener("listeners.control", &config.control, config.insecure)?;
    listener("listeners.http", &config.http, config.insecure)?;
    addresses(config)?;
    let outgoing = &config.outgoing;
    if outgoing.connections_per_tenant > outgoing.connections {
        return Err(format!(
            "outgoing.connections_per_tenant is {}, outgoing.connections only {}; lower the one or raise the other",
            outgoing.connections_per_tenant, outgoing.connections
        ));
    }
    Ok(())
}

/// No two listeners have the same address.
fn addresses(config: &Config) -> Result<(), String> {
    let all = [("invoke", &config.invoke), ("control", &config.control), ("http", &config.http)];
    let pairs = all.iter().enumerate().flat_map(|(at, one)| all.iter().skip(at + 1).map(move |other| (one, other)));
    for ((name, one), (other_name, other)) in pairs {
        if one.address == other.address && one.address.port() != 0 {
            return Err(format!(
                "listeners.{name}.address and listeners.{other_name}.address are both {}; set another port for one",
                one.address
            ));
        }
    }
    Ok(())
}

/// What an operator puts somewhere does not lie among what the node keeps, and what it can do without not in its storage.
fn directories(config: &Config) -> Result<(), String> {
    let refused = |key: &str, inside: &Path, found: &Path| {
        format!("{key} {} lies in {}; name a directory outside of it", found.display(), inside.display())
    };
    if let Some(secrets) = config.secrets_dir.as_deref().filter(|dir| dir.starts_with(&config.data_dir)) {
        return Err(refused("secrets_dir", &config.data_dir, secrets));
    }
    let store = config.data_dir.join("store");
    match config.image_cache_dir.as_deref().filter(|dir| dir.starts_with(&store)) {
        Some(images) => Err(refused("image_cache_dir", &store, images)),
        None => Ok(()),
    }
}

fn cells(config: &Config) -> Result<(), String> {
    if config.cells_total() == 0 {
        return Err("cells.standard.count and those of all other classes are 0; set one of them above".to_owned());
    }
    let capacity = config.capacity();
    if capacity > CAPACITY_MAX {
        return Err(format!(
            "cells.*.count and cells.*.queue make room for {capacity} activations; {CAPACITY_MAX} is the most"
        ));
    }
    let mut least: Option<(&str, ByteSize)> = None;
    for (class, cells) in config.classes() {
        if let Some((smaller, memory)) = least.filter(|(_, memory)| *memory >= cells.memory) {
            return Err(format!(
                "cells.{smaller}.memory is {} bytes, cells.{class}.memory only {}; a larger class has more",
                memory.0, cells.memory.0
            ));
        }
        least = Some((class.as_str(), cells.memory));
    }
    Ok(())
}

fn journal(config: &Config) -> Result<(), String> {
    let records = LocalActivationJournalConfig {
        declared_error_bytes_max: config.journal.declared_error.0,
        ..LocalActivationJournalConfig::default()
    };
    let needed = records.reservation_bytes().saturating_mul(config.capacity() + 1);
    if config.journal.bytes.0 < needed {
        return Err(format!(
            "journal.bytes is {} bytes; {} activations under way (cells.*.count, cells.*.queue) with \
             journal.declared_error of {} bytes need {needed}",
            config.journal.bytes.0,
            config.capacity(),
            config.journal.declared_error.0
        ));
    }
    Ok(())
}

fn listener(name: &str, listener: &ListenerSettings, insecure: bool) -> Result<(), String> {
    let ListenerSettings { address, tls_certificate, tls_key, tls_client_ca, .. } = listener;
    match (tls_certificate, tls_key) {
        (Some(_), None) => return Err(format!("{name}.tls.certificate is set and {name}.tls.key is not; set both")),
        (None, Some(_)) => return Err(format!("{name}.tls.key is set and {name}.tls.certificate is not; set both")),
        (None, None) if tls_client_ca.is_some() => {
            return Err(format!(
                "{name}.tls.client_ca is set without {name}.tls.certificate; clients show theirs over TLS only"
            ));
        }
        (None, None) if !address.ip().is_loopback() && !insecure => {
            return Err(format!(
                "{name}.address {address} can be reached from other machines and has no TLS; set {name}.tls.certificate and \
                 {name}.tls.key, or listeners.insecure = true"
            ));
        }
        _ => {}
    }
    if listener.connections_per_peer > listener.connections {
        return Err(format!(
            "{name}.connections_per_peer is {}, {name}.connections only {}; lower the one or raise the other",
            listener.connections_per_peer, listener.connections
        ));
    }
    Ok(())
}
