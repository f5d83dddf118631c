//! Prefetching.

/// Size of a cache line.
const LINE_BYTES: usize = 64;

/// Requests the cache lines of an item that will soon be used, without waiting for them and without effect on results.
#[inline(always)]
pub fn prefetch<T>(item: &T) {
    for offset in (0..size_of::<T>()).step_by(LINE_BYTES) {
        request((&raw const *item).cast::<i8>().wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "a prefetch of any address is safe, but not every x86 processor has the instruction"
)]
#[inline(always)]
fn request(place: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is part of SSE, which every x86-64 processor has.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place) }
}

#[cfg(not(target_arch = "x86_64"))]
fn request(_: *const i8) {}
