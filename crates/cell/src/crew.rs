//! Threads that advance the regions of a network.

use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefMutIterator, ParallelIterator,
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fmt;

/// Reason why threads cannot be started.
#[derive(Debug)]
pub struct ThreadsUnavailable(String);

impl fmt::Display for ThreadsUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ThreadsUnavailable {}

/// A number of threads; the caller's own, if there is one only.
#[derive(Default)]
pub(crate) struct Crew(Option<ThreadPool>);

impl Crew {
    pub fn new(threads: usize) -> Result<Crew, ThreadsUnavailable> {
        if threads <= 1 {
            return Ok(Crew(None));
        }
        let pool =
            ThreadPoolBuilder::new().num_threads(threads).thread_name(|thread| format!("airwnd {thread}"));
        pool.build().map(|pool| Crew(Some(pool))).map_err(|error| ThreadsUnavailable(error.to_string()))
    }

    /// Does the same to each item, which are few.
    pub fn each_of<T: Send>(&self, items: impl Iterator<Item = T>, work: impl Fn(T) + Send + Sync) {
        match &self.0 {
            None => items.for_each(work),
            Some(pool) => {
                let items: Vec<T> = items.collect();
                pool.install(|| items.into_par_iter().with_max_len(1).for_each(work));
            }
        }
    }

    /// Does the same to each item and its index; items are many.
    pub fn each_numbered<T: Send>(&self, items: &mut [T], work: impl Fn(usize, &mut T) + Send + Sync) {
        let work = |(index, item)| work(index, item);
        match &self.0 {
            None => items.iter_mut().enumerate().for_each(work),
            Some(pool) => pool.install(|| items.par_iter_mut().enumerate().with_min_len(32).for_each(work)),
        }
    }

    /// Does the same to each item; items are distributed over the threads.
    pub fn each<T: Send>(&self, items: &mut [T], work: impl Fn(&mut T) + Send + Sync) {
        match &self.0 {
            None => items.iter_mut().for_each(work),
            Some(pool) => pool.install(|| items.par_iter_mut().with_max_len(1).for_each(work)),
        }
    }
}
