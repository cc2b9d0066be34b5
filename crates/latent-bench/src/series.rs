//! Alternating samples of two subjects, and what is read from them.

use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Samples of one subject.
#[derive(Debug, Default, Clone)]
pub struct Series {
    nanos: Vec<u64>,
}

impl Series {
    /// Adds one sample.
    pub fn push(&mut self, took: Duration) {
        self.nanos.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds another series' samples.
    pub fn extend(&mut self, other: &Self) {
        self.nanos.extend_from_slice(&other.nanos);
    }

    /// The `permille` quantile in microseconds; 500 is the median.
    ///
    /// # Panics
    /// When there is no sample.
    #[must_use]
    pub fn quantile_micros(&self, permille: usize) -> f64 {
        assert!(!self.nanos.is_empty(), "a quantile needs samples");
        let mut sorted = self.nanos.clone();
        sorted.sort_unstable();
        let at = (sorted.len() - 1) * permille / 1000;
        micros(sorted[at])
    }

    /// Calls per second and thread, from the sum of all samples.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a benchmark's figures need no more than 52 bits")]
    pub fn per_second(&self) -> f64 {
        self.nanos.len() as f64 * 1e9 / self.nanos.iter().sum::<u64>() as f64
    }
}

#[expect(clippy::cast_precision_loss, reason = "a benchmark's figures need no more than 52 bits")]
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// One subject: an async call that a thread makes over and over.
pub trait Subject: Sync {
    /// What a caller brings to a call.
    type Input;

    /// Makes the input of one call; not timed.
    fn input(&self, thread: usize, round: u64) -> Self::Input;

    /// Makes one call, and panics when it does not succeed.
    fn call(&self, input: Self::Input) -> impl Future<Output = ()>;
}

/// How much to sample.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Threads that call at once.
    pub threads: usize,
    /// Blocks of each subject; the two alternate block by block.
    pub blocks: u64,
    /// Calls in a block.
    pub calls: u64,
}

/// Samples `a` and `b` in alternating blocks, `a b b a a b …`, on every thread at once. All threads are in the same
/// block at the same time, so that neither subject runs beside the other.
pub fn alternate(plan: Plan, a: &impl Subject, b: &impl Subject) -> (Series, Series) {
    let barrier = Barrier::new(plan.threads);
    let mut all = (Series::default(), Series::default());
    std::thread::scope(|scope| {
        let barrier = &barrier;
        let threads: Vec<_> =
            (0..plan.threads).map(|thread| scope.spawn(move || one_thread(plan, thread, barrier, a, b))).collect();
        for thread in threads {
            let (of_a, of_b) = thread.join().expect("a benchmark thread does not panic");
            all.0.extend(&of_a);
            all.1.extend(&of_b);
        }
    });
    all
}

fn one_thread(plan: Plan, thread: usize, barrier: &Barrier, a: &impl Subject, b: &impl Subject) -> (Series, Series) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let (mut of_a, mut of_b) = (Series::default(), Series::default());
    for block in 0..plan.blocks * 2 {
        barrier.wait();
        let warm_up = plan.calls / 10;
        if block % 4 == 0 || block % 4 == 3 {
            runtime.block_on(sample(a, thread, block, plan.calls, warm_up, &mut of_a));
        } else {
            runtime.block_on(sample(b, thread, block, plan.calls, warm_up, &mut of_b));
        }
    }
    (of_a, of_b)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
async fn sample(subject: &impl Subject, thread: usize, block: u64, calls: u64, warm_up: u64, series: &mut Series) {
    for call in 0..warm_up + calls {
        let round = block * (warm_up + calls) + call;
        let input = subject.input(thread, round);
        let started = Instant::now();
        subject.call(input).await;
        let took = started.elapsed();
        if call >= warm_up {
            series.push(took);
        }
    }
}
