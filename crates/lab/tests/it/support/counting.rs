//! An allocator with counters.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

thread_local! {
    // Counted per thread: the thread that runs tests allocates when it reports a slow test.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator with counters.
pub struct Counting {
    bytes: AtomicUsize,
    peak: AtomicUsize,
}

impl Counting {
    pub const fn new() -> Self {
        Counting { bytes: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }
    /// Number of allocations and reallocations in this thread.
    #[allow(dead_code, reason = "the benchmark reports memory only")]
    pub fn allocations(&self) -> usize {
        ALLOCATIONS.get()
    }
    /// Resets the peak.
    #[allow(dead_code, reason = "the test counts allocations only")]
    pub fn reset_peak(&self) {
        self.peak.store(self.bytes.load(Relaxed), Relaxed);
    }
    /// Maximum bytes allocated at a time since the last reset.
    #[allow(dead_code, reason = "the test counts allocations only")]
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }
    fn add(&self, bytes: usize) {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        self.peak.fetch_max(self.bytes.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    }
}

#[allow(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        self.bytes.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(place, layout) }
    }
}
