//! Calls and changes of a node that has much deployed: the first call of a dormant service beside a second one, one
//! deployment more beside the same on a small node, and resolutions in the node's own catalog.

use std::ops::Range;
use std::path::Path;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use latent_core::FunctionTarget;
use latent_wire::client::{CallError, Client};
use tokio::time::Instant;

use super::fleet::{Fleet, GUEST};
use crate::catalogs::{Call, RELEASES, names, sample_resolve, scatter};
use crate::crash::open;
use crate::nodes::fixtures::{call, result};
use crate::series::Series;

/// Releases of which one deployment is called.
pub const CALLED: usize = 100;
/// Components that a node compiles at once.
const COMPILERS: usize = 2;
/// Turns of each node in which one deployment more is applied.
const TURNS: usize = 20;
/// Applies of a turn.
const TURN: usize = 10;
/// Resolutions that are timed.
const RESOLUTIONS: usize = 100_000;

/// Calls of services that are not in memory, and of the same right after.
#[derive(Debug, Default)]
pub struct Calls {
    /// Their image is on the disk, and is read and mapped.
    pub first: Series,
    /// It is in memory.
    pub warm: Series,
}

/// Has the releases compiled of which [`dormant`] calls a deployment, so that their images are on the disk.
///
/// # Errors
/// The first call that was not answered.
pub async fn compile(fleet: &Fleet) -> Result<(), String> {
    let calls = (0..CALLED).map(|at| echo(fleet.client(at), at));
    stream::iter(calls).buffer_unordered(COMPILERS).try_collect().await
}

/// Calls one deployment of each of [`CALLED`] releases on a node that was started and has called nothing yet, and calls
/// it again.
///
/// # Errors
/// The first call that was not answered.
pub async fn dormant(fleet: &Fleet) -> Result<Calls, String> {
    for tenant in 0..CALLED {
        touch(fleet.client(tenant)).await?;
    }
    let mut calls = Calls::default();
    for release in 0..CALLED {
        let at = among(release, fleet.deployments());
        for series in [&mut calls.first, &mut calls.warm] {
            let began = Instant::now();
            echo(fleet.client(at), at).await?;
            series.push(began.elapsed());
        }
    }
    Ok(calls)
}

/// A deployment of `release`, anywhere among so many.
fn among(release: usize, deployments: usize) -> usize {
    release + RELEASES * (scatter(release + 1) % (deployments / RELEASES).max(1))
}

/// Makes the client connect, by a call of a service that nobody has.
async fn touch(client: &Client) -> Result<(), String> {
    match client.invoke(call("nobody", "nothing", "[]", "")).await {
        Err(CallError::Node(_)) => Ok(()),
        other => Err(format!("a service that is not there answered {other:?}")),
    }
}

async fn echo(client: &Client, at: usize) -> Result<(), String> {
    let service = names(at).1;
    let answer = client.invoke(call(service.as_str(), "echo-string", "[\"hello\"]", "")).await;
    let answer = answer.map_err(|error| format!("{service}: {error}"))?;
    if result(&answer) == b"\"hello\"" { Ok(()) } else { Err(format!("{service} gave back {answer:?}")) }
}

/// Applies one deployment more, over and over, beside what `few` and beside what `many` has, in turns. Each is deleted again.
///
/// # Errors
/// The first refusal.
pub async fn one_more(few: &Fleet, many: &Fleet) -> Result<[Series; 2], String> {
    let mut series = <[Series; 2]>::default();
    for turn in 0..TURNS {
        let mut order = [(0, few), (1, many)];
        if turn % 2 == 1 {
            order.reverse();
        }
        for (which, fleet) in order {
            let added = fleet.deployments()..fleet.deployments() + TURN;
            for at in added.clone() {
                let began = Instant::now();
                fleet.apply(at..at + 1, 1).await?;
                series[which].push(began.elapsed());
            }
            fleet.delete(added).await?;
        }
    }
    Ok(series)
}

/// Resolves calls in the catalog of the storage in `store`, which nobody uses meanwhile and which has so many deployments.
///
/// # Errors
/// When the storage is not what it should be.
pub fn resolve(store: &Path, deployments: usize) -> Result<Series, String> {
    let storage = open(store).map_err(|error| format!("the storage in {}: {error}", store.display()))?;
    let found = storage.inventory().deployments;
    if found != deployments {
        return Err(format!("the node was given {deployments} deployments and keeps {found}"));
    }
    let target =
        FunctionTarget { contract: format!("fixture:{GUEST}/echo@0.1.0").into(), function: "echo-string".into() };
    let calls: Range<usize> = 0..RESOLUTIONS;
    Ok(sample_resolve(|| storage.view(), &Call::of(target), deployments, calls))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::SIZES;
    use super::*;

    #[test]
    fn each_release_is_called_by_a_deployment_of_its_own_that_is_there() {
        for size in SIZES {
            let called: BTreeSet<_> = (0..CALLED).map(|release| among(release, size)).collect();
            assert_eq!(called.len(), CALLED);
            assert!(called.iter().all(|at| *at < size), "of {size}: {called:?}");
            let releases: BTreeSet<_> = called.iter().map(|at| at % RELEASES).collect();
            assert_eq!(releases.len(), CALLED);
        }
    }
}
