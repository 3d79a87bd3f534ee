//! Many runs on many cores: one queue, with results in the order of the inputs.
//!
//! A run's results depend on its plan alone, not on the worker or the time of the run.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use scenario::Plan;

/// The number of workers, and their stop flag.
#[derive(Clone, Copy, Debug)]
pub struct WorkerPool<'a> {
    /// The number of threads; never more than there are inputs.
    pub workers: NonZeroUsize,
    /// Once set, no further input is started.
    pub interrupted: &'a AtomicBool,
}

/// Runs `work` for every input and returns the results in the order of `inputs`; `None` for an input that was not
/// started before the interruption.
///
/// Starts with the greatest `weight`, so that no long run is left for one worker at the end; equal weights start in
/// order.
pub fn sweep<T: Sync, R: Send + Sync>(
    inputs: &[T],
    pool: WorkerPool<'_>,
    weight: impl Fn(&T) -> u128,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>> {
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(weight(&inputs[index])));
    let results: Vec<OnceLock<R>> = inputs.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let take = || loop {
        let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
        if pool.interrupted.load(Ordering::Relaxed) {
            return;
        }
        // The counter returns every index once, so the slot is empty.
        let _ = results[index].set(work(&inputs[index]));
    };
    thread::scope(|scope| {
        for _ in 1..pool.workers.get().min(inputs.len()) {
            scope.spawn(take);
        }
        take();
    });
    results.into_iter().map(OnceLock::into_inner).collect()
}

/// An estimate of a plan's work, for ordering only: the bits that its links could carry in its time, at most what
/// its flows' first links could send.
pub fn weight(plan: &Plan) -> u128 {
    let rate = |link: &scenario::plan::Link| u128::from(link.config.rate.bits_per_second());
    let carried: u128 = plan.links.iter().map(rate).sum();
    let access = |flow: &scenario::plan::Flow| {
        let first = plan.routes.next(flow.source.0 as usize, flow.destination.0 as usize)?;
        plan.links.get(first as usize).map(rate)
    };
    let sent: u128 = plan.flows.iter().filter_map(access).sum();
    u128::from(plan.duration.as_ps()) * carried.min(sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    const fn pool(workers: usize, interrupted: &AtomicBool) -> WorkerPool<'_> {
        WorkerPool { workers: NonZeroUsize::new(workers).unwrap(), interrupted }
    }

    #[test]
    fn results_keep_the_order_of_the_inputs_whatever_the_workers() {
        let (inputs, quiet) = ((0..100_u64).collect::<Vec<_>>(), AtomicBool::new(false));
        for workers in [1, 2, 7, 200] {
            let squares =
                sweep(&inputs, pool(workers, &quiet), |&n| u128::from(n % 10), |&n| n * n);
            assert!(squares.iter().zip(&inputs).all(|(square, n)| *square == Some(n * n)));
        }
    }

    #[test]
    fn the_heaviest_begin_first() {
        let (began, quiet) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        sweep(&[1, 3, 2], pool(1, &quiet), |&n: &u128| n, |&n| began.lock().unwrap().push(n));
        assert_eq!(*began.lock().unwrap(), [3, 2, 1]);
    }

    #[test]
    fn an_interruption_keeps_what_is_done_and_begins_nothing_more() {
        let interrupted = AtomicBool::new(false);
        let done = sweep(
            &[1, 2, 3],
            pool(1, &interrupted),
            |_| 0,
            |&n| {
                interrupted.store(n == 2, Ordering::Relaxed);
                n
            },
        );
        assert_eq!(done, [Some(1), Some(2), None]);
    }

    #[test]
    fn no_input_is_no_result() {
        let quiet = AtomicBool::new(false);
        assert!(sweep(&[], pool(4, &quiet), |(): &()| 0, |()| ()).is_empty());
    }
}
