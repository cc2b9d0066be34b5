//! Counts what the thread of a test allocates. A test's guest and its host calls run on the test's own thread, so that
//! neither the compiler's thread nor other tests are seen.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn count(asked: usize, live: i64) {
    // A thread that ends may free after its counters are gone.
    let _gone = ASKED.try_with(|total| total.set(total.get() + asked as u64));
    let _gone = LIVE.try_with(|total| {
        total.set(total.get() + live);
        let _gone = PEAK.try_with(|peak| peak.set(peak.get().max(total.get())));
    });
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).expect("no allocation is larger than the address space")
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), signed(layout.size()));
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, -signed(layout.size()));
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), signed(layout.size()));
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, signed(size) - signed(layout.size()));
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Bytes that this thread has asked for so far.
pub fn asked() -> u64 {
    ASKED.with(Cell::get)
}

/// What `work` answers, and how many bytes more than before this thread held at most while it worked.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = live();
    PEAK.with(|peak| peak.set(before));
    let answer = work();
    (answer, PEAK.with(Cell::get).abs_diff(before))
}

/// Bytes that this thread has asked for and not given back; what other threads free of them does not count.
pub fn live() -> i64 {
    LIVE.with(Cell::get)
}
