//! The trial: two nodes, of which one stays small, and the other is filled, stopped, started and measured at each size.

use std::io::{self, Write};

use super::calls::{compile, dormant, one_more, resolve};
use super::fleet::Fleet;
use super::row::{HEAD, Row};
use super::{Options, SIZES};
use crate::series::Series;

/// Starts of a node over one directory.
const STARTS: usize = 5;

/// Measures every size, and prints its row as soon as it is there. What is inside says why the trial broke off.
///
/// # Errors
/// When `out` is lost, or there is no directory.
pub async fn all(options: &Options, rows: &mut Vec<Row>, out: &mut impl Write) -> io::Result<Result<(), String>> {
    let (small, large) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let begun = async {
        let mut few = Fleet::begin(&options.program, small.path()).await?;
        few.grow(SIZES[0]).await?;
        Ok::<_, String>((few, Fleet::begin(&options.program, large.path()).await?))
    };
    let (mut few, mut many) = match begun.await {
        Ok(fleets) => fleets,
        Err(reason) => return Ok(Err(reason)),
    };
    writeln!(out, "{HEAD}")?;
    for size in SIZES.into_iter().filter(|size| *size <= options.max) {
        match at(size, &few, &mut many).await {
            Ok(row) => {
                writeln!(out, "{row}")?;
                out.flush()?;
                rows.push(row);
            }
            Err(reason) => return Ok(Err(format!("with {size} deployments: {reason}"))),
        }
    }
    Ok(async {
        few.stop().await?;
        many.stop().await
    }
    .await)
}

/// One size, on the node that has the one before.
async fn at(size: usize, few: &Fleet, many: &mut Fleet) -> Result<Row, String> {
    let growth = many.grow(size).await?;
    if size == SIZES[0] {
        compile(many).await?;
    }
    many.stop().await?;
    let resolve = resolve(&many.store(), size)?;
    let mut start = Series::default();
    for _ in 0..STARTS - 1 {
        start.push(many.start().await?);
        many.stop().await?;
    }
    start.push(many.start().await?);
    let look = many.look().await?;
    many.connect()?;
    let calls = dormant(many).await?;
    let [beside_few, beside_many] = one_more(few, many).await?;
    Ok(Row {
        deployments: size,
        releases: many.releases(),
        look,
        growth,
        start,
        beside_few,
        beside_many,
        resolve,
        calls,
    })
}
