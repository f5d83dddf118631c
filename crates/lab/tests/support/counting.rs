//! An allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator with counters.
pub struct Counting {
    allocations: AtomicUsize,
    bytes: AtomicUsize,
    peak: AtomicUsize,
}

impl Counting {
    pub const fn new() -> Self {
        Counting { allocations: AtomicUsize::new(0), bytes: AtomicUsize::new(0), peak: AtomicUsize::new(0) }
    }
    /// How many allocations and reallocations there have been.
    #[allow(dead_code, reason = "the benchmark reports memory only")]
    pub fn allocations(&self) -> usize {
        self.allocations.load(Relaxed)
    }
    /// Forgets the peak.
    #[allow(dead_code, reason = "the test counts allocations only")]
    pub fn reset_peak(&self) {
        self.peak.store(self.bytes.load(Relaxed), Relaxed);
    }
    /// The most bytes held at once since the peak was forgotten.
    #[allow(dead_code, reason = "the test counts allocations only")]
    pub fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }
    fn add(&self, bytes: usize) {
        self.allocations.fetch_add(1, Relaxed);
        self.peak.fetch_max(self.bytes.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    }
}

#[allow(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: every call is handed on to the system's allocator unchanged.
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
