//! A connection allocates no memory in steady state.

use crate::support::{Link, Net, newreno};
use airwnd_catalog::{Node, Param};
use airwnd_tcp::{Config, Stack, cc, rwnd};
use airwnd_units::{BitRate, Bytes, Span, Time};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

#[allow(unsafe_code, reason = "an allocator is")]
// SAFETY: both calls are passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations_of(stack: Stack, cc: &cc::Spec, rwnd: &rwnd::Spec) -> u64 {
    let buffer = Bytes(1 << 22);
    let config = Config { mss: 1000, send_buffer: buffer, receive_buffer: buffer, ..stack.config() };
    let link = || Link::new(BitRate(10_000_000), Span::from_millis(25), 100);
    let mut links = [link(), link()];
    let mut count = 0;
    links[0].loses = Box::new(move |_| {
        count += 1;
        count % 997 == 0
    });
    let mut net = Net::new(&config, cc, rwnd, links);
    net.ends[0].write_endlessly();
    net.open();
    net.run_until(Time(5_000_000_000));
    let before = COUNT.get();
    net.run_until(Time(30_000_000_000));
    let retransmissions = net.ends[0].stats().retransmissions;
    assert!(retransmissions > 10, "the path has losses: {retransmissions} with {}", rwnd.kind());
    COUNT.get() - before
}

#[test]
fn stateful_controllers_reserve_their_memory() {
    for cc in ["c2tcp", "verus", "sprout", "copa", "dctcp", "prague", "bbr", "bbr3"] {
        let node = Node::from_json(&format!("\"{cc}\""), "test").expect("it is JSON");
        let spec = cc::Spec::read(&node).expect("it is a congestion control");
        let window = rwnd::Spec::Fixed(Default::default());
        assert_eq!(allocations_of(Stack::Linux, &spec, &window), 0, "{cc}");
    }
}

#[test]
fn steady_state_with_losses_allocates_nothing() {
    for window in rwnd::Spec::built_in() {
        let node = Node::from_json(&format!("\"{window}\""), "test").expect("it is JSON");
        let spec = rwnd::Spec::read(&node).expect("it is a receive-window control");
        for stack in [Stack::Ns3v44, Stack::Linux] {
            assert_eq!(allocations_of(stack, &newreno(), &spec), 0, "{stack:?} {window}");
        }
    }
}
