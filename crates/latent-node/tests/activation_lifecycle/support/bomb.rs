//! A value whose destructor panics, unless a panic is under way, which would end the process instead of the test.

/// Panics when it is dropped.
pub struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "scripted panic of a destructor");
    }
}
