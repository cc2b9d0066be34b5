//! Tenants that are alike and all keep a backlog: how evenly a node as it comes serves them.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use latent_core::{SystemWallClock, WallClock as _};
use tokio::time::sleep;

use crate::endurance::checks::{Check, check};
use crate::nodes::tenants::{settled, usage};

use super::WARM_UP;
use super::ground::Ground;
use super::kind::Kind;
use super::orders::Hostile;

/// How many. With what each keeps under way, cells and queue of the node are nearly full.
pub const TENANTS: usize = 8;
/// The least that Jain's index may be.
const INDEX_MIN: f64 = 0.98;

/// What each tenant was served.
#[derive(Debug)]
pub struct Served {
    fuel: Vec<u64>,
    activations: Vec<u64>,
    span: Duration,
}

/// Has all of them call for `span`, and reads from the usage log what they were served meanwhile.
///
/// # Errors
/// What went wrong.
pub async fn trial(ground: &Ground, callers: &mut Hostile, span: Duration) -> Result<Served, String> {
    let order = ground.order(&[Kind::Equal; TENANTS]).await?;
    callers.begin(&order)?;
    sleep(WARM_UP).await;
    let since = SystemWallClock.now();
    sleep(span).await;
    let until = SystemWallClock.now();
    callers.stop()?;
    settled(&ground.operator).await?;
    served(ground, (since, until), span).await
}

async fn served(ground: &Ground, (since, until): (SystemTime, SystemTime), span: Duration) -> Result<Served, String> {
    let sums = usage(&ground.operator, since, until).await?;
    let of = |tenant: usize| {
        let name = format!("other-{tenant}");
        let sums = sums.iter().filter(move |sum| sum.tenant == name);
        sums.fold((0, 0), |(fuel, activations), sum| (fuel + sum.fuel, activations + sum.activations))
    };
    let (fuel, activations) = (0..TENANTS).map(of).unzip();
    Ok(Served { fuel, activations, span })
}

/// Prints what each was served, and judges how even it is.
pub fn report(served: Result<Served, String>, out: &mut impl Write) -> io::Result<Vec<Check>> {
    let Served { fuel, activations, span } = match served {
        Ok(served) => served,
        Err(wrong) => return Ok(vec![check(false, format!("equal tenants: {wrong}"))]),
    };
    let index = jain(&fuel);
    let (least, most) = (fuel.iter().min().unwrap_or(&0), fuel.iter().max().unwrap_or(&0));
    writeln!(
        out,
        "\n{TENANTS} equal tenants, {} calls each under way, {span:?}: activations {activations:?}; fuel from {least} to {most}; \
         Jain's index of the fuel {index:.4}",
        Kind::Equal.lanes()
    )?;
    let sentence =
        format!("Jain's index of the fuel that equal tenants were served is {index:.4}, at least {INDEX_MIN}");
    Ok(vec![check(index >= INDEX_MIN, sentence)])
}

/// Jain's index: 1 for equal shares, one over their number where one has all. 0 where nobody has anything.
#[expect(clippy::cast_precision_loss, reason = "a ratio with four digits")]
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    if squares == 0.0 { 0.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_tells_even_shares_from_uneven_ones() {
        let rounded = |shares: &[u64]| format!("{:.3}", jain(shares));
        assert_eq!([rounded(&[5; 8]), rounded(&[0, 0, 9, 0]), rounded(&[0, 0])], ["1.000", "0.250", "0.000"]);
        assert_eq!(rounded(&[10, 10, 10, 5]), "0.942");
    }

    #[test]
    fn uneven_shares_fail() {
        let judged = |fuel: Vec<u64>| {
            let served = Served { activations: vec![1; fuel.len()], fuel, span: Duration::ZERO };
            report(Ok(served), &mut Vec::new()).unwrap()[0].passed
        };
        assert!(judged(vec![100, 100, 101]) && !judged(vec![100, 100, 60]) && !judged(vec![0; 3]));
    }
}
