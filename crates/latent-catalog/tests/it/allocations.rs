//! Counts the bytes that the thread of a test holds, for tests of what a deployment costs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// What the allocator adds to each block and rounds it to, as common ones do.
const BLOCK_ALIGN: usize = 16;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts a block as an allocator that keeps eight bytes beside each and aligns to sixteen has it resident.
fn count(layout: Layout, sign: i64) {
    let resident = (layout.size() + 8).next_multiple_of(BLOCK_ALIGN);
    let bytes = i64::try_from(resident).expect("no block is larger than the address space");
    // A thread that ends may free after its counter is gone.
    let _gone = HELD.try_with(|held| held.set(held.get() + sign * bytes));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout, 1);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(layout, -1);
        // SAFETY: the caller's promises are the system allocator's.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Bytes that this thread has taken and not given back, the allocator's own share included.
pub fn held() -> i64 {
    HELD.with(Cell::get)
}
