//! Threads that advance the regions of a network.

use rayon::{ThreadPool, ThreadPoolBuilder, Yield, yield_now};
use std::fmt;
use std::hint::spin_loop;
use std::iter::from_fn;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Minimum number of cells per region: smaller ones cost more to pass to a thread than they save.
const MIN_CELLS: usize = 3;
/// Maximum number of regions: each of them has memory per UE.
const MAX_REGIONS: usize = 64;
/// Number of shares in which threads work on the UEs.
pub(crate) const SHARES: usize = 64;

/// Rounds without work after which a thread sleeps.
// A choice: about half a millisecond. In a loaded network the next phase begins earlier, and waking a thread takes tens
// of microseconds.
const ROUNDS: usize = 10_000;

/// The cells of each region of a network: neighbours by number, about as many in each region.
pub(crate) fn partition(cells: usize) -> impl Iterator<Item = Range<usize>> {
    let regions = (cells / MIN_CELLS).clamp(1, MAX_REGIONS);
    (0..regions).map(move |region| cells * region / regions..cells * (region + 1) / regions)
}

/// Reason why threads cannot be started.
#[derive(Debug)]
pub struct ThreadsUnavailable(String);

impl fmt::Display for ThreadsUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ThreadsUnavailable {}

/// The threads that advance a network: the caller's and its helpers. By default there are no helpers.
#[derive(Default)]
pub struct Crew(Option<Helpers>);

struct Helpers {
    pool: ThreadPool,
    /// Number of helpers that look for work instead of sleeping.
    awake: Arc<AtomicUsize>,
}

impl Crew {
    /// A crew of this many threads for a network of this many cells: at most one thread per region.
    ///
    /// # Errors
    /// The system cannot start as many threads.
    pub fn new(threads: NonZeroUsize, cells: usize) -> Result<Crew, ThreadsUnavailable> {
        let helpers = threads.get().min(partition(cells).count()) - 1;
        if helpers == 0 {
            return Ok(Crew(None));
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(helpers)
            .thread_name(|helper| format!("airwnd {}", helper + 1))
            .build();
        let helpers = |pool| Crew(Some(Helpers { pool, awake: Arc::default() }));
        pool.map(helpers).map_err(|error| ThreadsUnavailable(error.to_string()))
    }

    /// Whether there are no helpers.
    pub(crate) fn is_alone(&self) -> bool {
        self.0.is_none()
    }

    /// Applies `work` to each item and its index, in parallel.
    ///
    /// The caller's thread begins with the first items and its helpers with the last, so that two threads mostly meet the
    /// items that their caches hold.
    pub(crate) fn each<T: Send>(&self, items: &mut [T], work: impl Fn(usize, &mut T) + Send + Sync) {
        self.each_of(items.iter_mut().enumerate(), |(index, item)| work(index, item));
    }

    /// Applies `work` to each item, in parallel.
    pub(crate) fn each_of<T: Send>(
        &self,
        items: impl DoubleEndedIterator<Item = T> + Send,
        work: impl Fn(T) + Send + Sync,
    ) {
        let Some(helpers) = &self.0 else { return items.for_each(work) };
        helpers.wake();
        let items = Mutex::new(items);
        let rest = || items.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = AtomicUsize::new(helpers.count());
        helpers.pool.in_place_scope(|scope| {
            for _ in 0..helpers.count() {
                scope.spawn(|_| {
                    from_fn(|| rest().next_back()).for_each(&work);
                    busy.fetch_sub(1, Ordering::Relaxed);
                });
            }
            from_fn(|| rest().next()).for_each(&work);
            // The end of the scope would sleep at once.
            (0..ROUNDS).take_while(|_| busy.load(Ordering::Relaxed) > 0).for_each(|_| spin_loop());
        });
    }
}

impl Helpers {
    fn count(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Lets the helpers look for work, each until it has found none for some time.
    fn wake(&self) {
        if self.awake.load(Ordering::Relaxed) > 0 {
            return;
        }
        self.awake.store(self.count(), Ordering::Relaxed);
        let awake = self.awake.clone();
        self.pool.spawn_broadcast(move |_| {
            let mut rounds = 0;
            while rounds < ROUNDS {
                rounds = if yield_now() == Some(Yield::Executed) { 0 } else { rounds + 1 };
            }
            awake.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_cover_the_cells_in_order() {
        for cells in 1..=1000 {
            let regions: Vec<_> = partition(cells).collect();
            assert_eq!(regions.iter().cloned().flatten().collect::<Vec<_>>(), (0..cells).collect::<Vec<_>>());
            let sizes = || regions.iter().map(Range::len);
            assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
            assert!(regions.len() == 1 || sizes().min().unwrap() >= MIN_CELLS);
        }
    }
}
