//! The catalog beside itself: a hundred deployments against ten thousand and a hundred thousand.
//!
//! `cargo bench -p latent-bench --bench catalog`; `-- --short` for a quick look.

use std::sync::Arc;
use std::time::Instant;

use latent_bench::catalogs::{Call, Spread, sample_resolve};
use latent_bench::crash::Unread;
use latent_bench::process::resident_bytes;
use latent_bench::series::Series;
use latent_catalog::Catalog;
use latent_storage::disk::UnsyncedDisk;
use latent_storage::{Storage, StorageOptions};

const SIZES: [usize; 3] = [100, 10_000, 100_000];

/// One catalog under test, and what was measured of it.
struct Sized {
    deployments: usize,
    catalog: Catalog,
    bytes_each: u64,
    resolve: Series,
    apply: Series,
}

impl Sized {
    fn new(spread: &Spread, deployments: usize) -> Self {
        let before = resident_bytes();
        let catalog = spread.catalog(deployments);
        let bytes_each = resident_bytes().saturating_sub(before) / deployments as u64;
        Self { deployments, catalog, bytes_each, resolve: Series::default(), apply: Series::default() }
    }

    /// Resolves calls of deployments in an order without a pattern.
    fn sample_resolve(&mut self, calls: usize, seed: usize) {
        let pin = || self.catalog.view();
        self.resolve.extend(&sample_resolve(pin, &Call::default(), self.deployments, seed..seed + calls));
    }

    /// Applies one deployment more, and deletes it again.
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    fn sample_apply(&mut self, spread: &Spread, calls: usize) {
        for call in 0..calls {
            let apply = spread.apply(self.deployments + call);
            let started = Instant::now();
            let applied = self.catalog.apply(apply).expect("there is room for one more");
            self.apply.push(started.elapsed());
            let deployment = &applied.deployment;
            let delete = latent_catalog::Delete {
                tenant: deployment.tenant().clone(),
                service: deployment.service().clone(),
                deployment: deployment.id().clone(),
                expected_generation: Some(deployment.generation()),
            };
            self.catalog.delete(&delete).expect("it was applied");
        }
    }
}

/// Opens a storage with as many deployments as the largest catalog has, several times. The files are in the page cache.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn start(rounds: usize) -> Series {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = || StorageOptions::new(Arc::new(Unread));
    let storage = Storage::open_on(Arc::new(UnsyncedDisk), directory.path(), options()).expect("it opens");
    Spread::store(&storage, SIZES[2]);
    drop(storage);
    let mut series = Series::default();
    for _ in 0..rounds {
        let started = Instant::now();
        let storage = Storage::open(directory.path(), options()).expect("it opens again");
        series.push(started.elapsed());
        assert_eq!(storage.inventory().deployments, SIZES[2]);
    }
    series
}

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let rounds = if short { 5 } else { 50 };
    let spread = Spread::default();
    // The largest first: what it frees would otherwise be counted for the others.
    let mut catalogs: Vec<_> = SIZES.iter().rev().map(|size| Sized::new(&spread, *size)).collect();
    catalogs.reverse();
    for round in 0..rounds {
        for sized in &mut catalogs {
            sized.sample_resolve(2_000, round * 2_000);
            sized.sample_apply(&spread, 200);
        }
    }
    println!(
        "| deployments | resolve p50 µs | resolve p99 µs | apply one more p50 µs | over beside 100 | resident bytes each |"
    );
    println!("|---|---|---|---|---|---|");
    let beside_few = catalogs[0].apply.quantile_micros(500);
    for Sized { deployments, bytes_each, resolve, apply, .. } in &catalogs {
        println!(
            "| {deployments} | {:.2} | {:.2} | {:.2} | {:.2} | {bytes_each} |",
            resolve.quantile_micros(500),
            resolve.quantile_micros(990),
            apply.quantile_micros(500),
            apply.quantile_micros(500) / beside_few,
        );
    }
    let start = start(if short { 3 } else { 20 });
    println!("\n| start with | p50 ms | p99 ms |\n|---|---|---|");
    println!("| {} | {:.0} | {:.0} |", SIZES[2], start.quantile_micros(500) / 1e3, start.quantile_micros(990) / 1e3);
}
