//! What is printed of each row, and what has to hold of it.

use std::io::{self, Write};
use std::time::Duration;

use crate::endurance::checks::{Check, check};

use super::CALLS_EVERY;
use super::bound::{Bound, Sizes, bound, share};
use super::ground::WORK;
use super::kind::Kind;
use super::orders::Report;
use super::paced::Paced;

/// What 99 of 100 answers of `/healthz` may take.
const HEALTH_MAX: Duration = Duration::from_millis(50);
/// How much of what a call takes alone it may take beside others, in hundredths, before the bound comes on top.
const ALONE_PERCENT: u32 = 125;

/// What the victim saw.
#[derive(Debug)]
pub struct Seen {
    /// Beside whom.
    pub kinds: Vec<Kind>,
    /// Its calls.
    pub calls: Paced,
    /// Looks at `/healthz`.
    pub health: Paced,
    /// What came of the calls of the others.
    pub report: Report,
    /// Processor time of this process.
    pub own: Duration,
    /// Processor time of the node.
    pub node: Duration,
    /// For how long.
    pub span: Duration,
}

impl Seen {
    /// Adds what was seen beside the same at another time.
    pub fn add(&mut self, other: Self) {
        self.calls.add(other.calls);
        self.health.add(other.health);
        self.own += other.own;
        self.node += other.node;
        self.span += other.span;
    }

    /// That every call and every look was answered.
    pub fn answered(&self) -> Check {
        let (calls, health) = (&self.calls, &self.health);
        let words: Vec<_> =
            [""].into_iter().chain(calls.words.iter().chain(&health.words).map(|word| &**word)).collect();
        let words = words.join(": ");
        let sentence = format!(
            "{}: {} calls of the victim returned, {} did not; {} looks at /healthz were answered, {} were not{words}",
            self.name(),
            calls.times.len(),
            calls.failed,
            health.times.len(),
            health.failed
        );
        check(calls.failed + health.failed == 0 && calls.times.len() > 0 && health.times.len() > 0, sentence)
    }

    fn name(&self) -> String {
        match self.kinds.as_slice() {
            [] => "alone".to_owned(),
            [first, rest @ ..] if rest.iter().all(|kind| kind == first) => {
                format!("{} × {}", self.kinds.len(), first.as_str())
            }
            mixed => format!("{} mixed", mixed.len()),
        }
    }

    /// The columns that every row has.
    fn common(&self) -> [String; 6] {
        let ms = |paced: &Paced, percent| format!("{:.1}", millis(paced.times.percentile(percent)));
        [ms(&self.calls, 50), ms(&self.calls, 99), ms(&self.calls, 100), self.calls.peak.to_string()]
            .into_iter()
            .chain([ms(&self.health, 99), ms(&self.health, 100)])
            .collect::<Vec<_>>()
            .try_into()
            .expect("they are six")
    }

    /// Processor time of the node and of those who call, in hundredths of one processor.
    fn processors(&self) -> String {
        let percent = |time: Duration| 100.0 * time.as_secs_f64() / self.span.as_secs_f64();
        // The others' time includes their warm-up.
        format!("{:.0} / {:.1} / {:.0}", percent(self.node), percent(self.own), percent(self.report.spent))
    }
}

/// Prints what all rows have in common, and their heading.
pub fn heading(out: &mut impl Write, span: Duration, sizes: Sizes, raised: bool) -> io::Result<()> {
    let Sizes { cells, workers } = sizes;
    let priority = if raised { "at a higher priority than the node" } else { "at the same priority as the node" };
    writeln!(
        out,
        "{cells} cells, {workers} workers, {span:?} a row; the victim calls 100 times a second what computes for {WORK:?}, from a \
         process of its own, {priority}\n\n\
         | beside | p50 ms | p99 ms | longest ms | under way | /healthz p99 ms | longest ms | p99 later than alone, ms | bound: cell + \
         processor, ms | of the bound | the others' calls: returned / stopped / left / refused / lost | processor %: node / victim / \
         others' callers |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    )?;
    out.flush()
}

/// Prints the row of the victim alone.
pub fn first(out: &mut impl Write, alone: &Seen) -> io::Result<()> {
    writeln!(out, "| alone | {} | | | | | {} |", alone.common().join(" | "), alone.processors())
}

/// A row beside others.
#[derive(Debug)]
pub struct Row {
    seen: Seen,
    alone: Duration,
    bound: Bound,
    /// What the victim may ask for, in processors, if that is less than it does.
    share: Option<f64>,
}

impl Row {
    /// What was `seen`, beside what was seen alone.
    pub fn new(alone: &Seen, seen: Seen, sizes: Sizes) -> Self {
        let alone = alone.calls.times.percentile(99);
        // As many as begin while one takes what it takes alone: what a row does itself must not loosen its bound.
        let own = alone.as_nanos().div_ceil(CALLS_EVERY.as_nanos()).max(1);
        let bound = bound(sizes, &seen.kinds, usize::try_from(own).unwrap_or(usize::MAX), WORK);
        let asked = WORK.as_secs_f64() / CALLS_EVERY.as_secs_f64();
        let share = share(sizes, &seen.kinds).filter(|share| *share < asked);
        Self { seen, alone, bound, share }
    }

    /// Prints it.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { seen, bound, .. } = self;
        let later = self.later();
        let percent = 100.0 * later.as_secs_f64() / bound.total().as_secs_f64();
        // Nothing but its share is promised to who asks for more.
        let of_bound = self.share.map_or_else(|| format!("{percent:.0} %"), |_share| "not promised".to_owned());
        writeln!(
            out,
            "| {} | {} | {:.1} | {:.0} + {:.0} | {of_bound} | {} | {} |",
            seen.name(),
            seen.common().join(" | "),
            millis(later),
            millis(bound.cell),
            millis(bound.processor),
            seen.report,
            seen.processors()
        )?;
        out.flush()
    }

    /// All that has to hold.
    pub fn checks(&self) -> Vec<Check> {
        let seen = &self.seen;
        let name = seen.name();
        let health = seen.health.times.percentile(99);
        vec![
            seen.answered(),
            self.share.map_or_else(|| self.is_prompt(), |share| self.has(share)),
            check(health <= HEALTH_MAX, format!("{name}: /healthz took {health:.1?} at p99, at most {HEALTH_MAX:?}")),
            check(
                seen.report.ran() > 0 && seen.report.lost == 0,
                format!("{name}: {} calls of the others ran, {} were lost", seen.report.ran(), seen.report.lost),
            ),
        ]
    }

    /// That the victim waits no longer than is promised.
    fn is_prompt(&self) -> Check {
        let Self { seen, alone, bound, .. } = self;
        let (name, p99) = (seen.name(), seen.calls.times.percentile(99));
        let most = *alone * ALONE_PERCENT / 100 + bound.total();
        let sentence =
            format!("{name}: the victim's p99 is {p99:.1?}, at most {most:.1?} (1.25 × {alone:.1?} and the bound)");
        check(p99 <= most, sentence)
    }

    /// That the victim, who asks for more than its share, has that.
    fn has(&self, share: f64) -> Check {
        let (seen, times) = (&self.seen, &self.seen.calls.times);
        let served = WORK.as_secs_f64() * f64::from(u32::try_from(times.len()).unwrap_or(u32::MAX));
        let had = served / (seen.span + times.percentile(100)).as_secs_f64();
        let sentence = format!(
            "{}: the victim asks for more than its share of {share:.3} processors, and had {had:.3}",
            seen.name()
        );
        check(had >= share, sentence)
    }

    /// How much later than alone: the measured part of the bound.
    fn later(&self) -> Duration {
        self.seen.calls.times.percentile(99).saturating_sub(self.alone)
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(kinds: &[Kind], took: u64, health: u64) -> Seen {
        let paced = |millis| {
            let mut paced = Paced::default();
            paced.times.push(Duration::from_millis(millis));
            paced
        };
        let report = Report { returned: 1, stopped: 0, refused: 0, left: 0, lost: 0, spent: Duration::ZERO };
        let (calls, health, span) = (paced(took), paced(health), Duration::from_secs(1));
        Seen { kinds: kinds.to_vec(), calls, health, report, own: span, node: span, span }
    }

    fn failed(kinds: &[Kind], took: u64, health: u64) -> Vec<String> {
        let sizes = Sizes { cells: 4, workers: 2 };
        let row = Row::new(&seen(&[], 4, 1), seen(kinds, took, health), sizes);
        row.checks().into_iter().filter(|check| !check.passed).map(|check| check.sentence).collect()
    }

    #[test]
    fn a_victim_that_waits_longer_than_alone_and_the_bound_is_treated_unfairly() {
        // 1.25 × 4 ms, and three slices after (2 / 2 + 2) ms.
        let beside = |took, health| failed(&[Kind::Spinner], took, health);
        assert_eq!(beside(14, 50), Vec::<String>::new());
        assert!(beside(15, 50)[0].contains("p99"));
        assert!(beside(14, 51)[0].contains("/healthz"));
    }

    #[test]
    fn a_victim_that_asks_for_more_than_its_share_has_its_share() {
        // One call of 2 ms in a second is less than 2 / 17 of it.
        assert!(failed(&[Kind::Spinner; 16], 1, 50)[0].contains("share of 0.118 processors, and had 0.002"));
        let mut served = seen(&[Kind::Spinner; 16], 1, 1);
        (0..99).for_each(|_| served.calls.times.push(Duration::from_secs(2)));
        let checks = Row::new(&seen(&[], 4, 1), served, Sizes { cells: 4, workers: 8 }).checks();
        assert!(
            !checks[1].passed && checks[1].sentence.contains("p99"),
            "8 workers have a larger share: {}",
            checks[1].sentence
        );
    }

    #[test]
    fn a_row_without_answers_or_without_neighbours_proves_nothing() {
        let mut quiet = seen(&[Kind::Logs], 4, 1);
        quiet.report.returned = 0;
        quiet.calls.failed = 1;
        let checks = Row::new(&seen(&[], 4, 1), quiet, Sizes { cells: 4, workers: 2 }).checks();
        assert_eq!(checks.iter().map(|check| check.passed).collect::<Vec<_>>(), [false, true, true, false]);
    }
}
