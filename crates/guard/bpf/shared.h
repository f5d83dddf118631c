// Structures that the programs exchange with src/observation.rs and src/maps.rs. SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "kernel.h"

enum event {
	EVENT_ACK = 0,    // An ACK leaves, with or without data that has arrived before.
	EVENT_DATA = 1,   // Data has arrived (router only).
	EVENT_CLOSED = 2, // The connection has ended.
};

enum observation_flags {
	HAS_TIMESTAMPS = 1,
	// Units of the receiver's timestamps are microseconds instead of milliseconds.
	MICROSECOND_TICKS = 2,
	// Seen on the way: the clock of the receiver's timestamps is unknown.
	ON_THE_WAY = 4,
};

// State of a flow. No implicit padding: user space reads the bytes.
struct observation {
	__u64 time; // CLOCK_MONOTONIC, ns
	__u64 flow;
	__u64 cgroup; // 0: unknown
	__u32 ack;    // next byte that the receiver expects
	__u32 edge;   // right edge of the window that has been offered
	// Newest range of data beyond `ack` (at the receiver), or data since the last observation (on the way).
	__u32 range_start;
	__u32 range_end;
	__u32 segments; // data segments received in total
	__u32 ts_val;   // timestamps of the newest incoming segment
	__u32 ts_ecr;
	__u32 ack_ts_val; // TSval of the ACK (on the way); 0: an earlier ACK had it
	__u32 mss;
	__u32 unread; // bytes in order that the application has not read
	__u32 free;   // largest window that the receiver would offer by itself
	__u32 clamp;  // window in force; 0: the receiver's own
	__u32 least_rtt; // least RTT that the kernel has measured (on the way: towards the sender), us; 0: unknown
	__u32 lan_rtt;   // newest RTT towards the receiver (on the way), us; 0: unknown
	__u32 interface; // index; 0: unknown
	__u8 local[16];  // IPv4 as ::ffff:a.b.c.d
	__u8 remote[16];
	__u16 local_port;
	__u16 remote_port;
	__u8 event;
	__u8 flags;
	__u8 shift;
	__u8 reserved[5];
};

_Static_assert(sizeof(struct observation) == 128, "user space reads 128 bytes");

// Window that user space wants for a flow.
struct target {
	__u64 window;
	__u64 valid_until; // CLOCK_MONOTONIC, ns
};

struct control {
	// The programs act before this time only (CLOCK_MONOTONIC, ns). The daemon moves it on; if it stops doing so,
	// every receiver offers its own windows again.
	__u64 deadline;
	// Cookie of the network namespace whose sockets are observed.
	__u64 netns;
	// Bytes before the IP header (on the way).
	__u64 link_header;
	// A flow is reported at most this often, ns.
	__u64 report_interval;
};

// A flow has at most this number of reports in its least RTT, which is enough to follow it.
#define REPORTS_PER_RTT 32
// User space is woken at most this often: waking it costs several times as much as the rest of a report.
#define WAKE_INTERVAL_NS 4000000ULL
// Windows are never smaller than this many segments.
#define FLOOR_SEGMENTS 2
// After this time timestamps say nothing: a clock with the shortest tick in use, 1 us, has passed half of its range.
#define CLOCK_SILENCE_NS 2147000000000ULL
#define FLOWS_MAX 12288
#define RING_BYTES (1 << 18)

enum counter { ACKS, CLAMPED, REFUSED, LOST, HELD, UNKNOWN_FLOW, EXEMPT, IMPLAUSIBLE, COUNTERS };

struct {
	VALUE(type, BPF_MAP_TYPE_ARRAY);
	VALUE(max_entries, 1);
	TYPE(key, __u32);
	TYPE(value, struct control);
} control MAP;

struct {
	VALUE(type, BPF_MAP_TYPE_HASH);
	VALUE(map_flags, BPF_F_NO_PREALLOC);
	VALUE(max_entries, FLOWS_MAX);
	TYPE(key, __u64);
	TYPE(value, struct target);
} targets MAP;

struct {
	VALUE(type, BPF_MAP_TYPE_RINGBUF);
	VALUE(max_entries, RING_BYTES);
} observations MAP;

struct {
	VALUE(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	VALUE(max_entries, COUNTERS);
	TYPE(key, __u32);
	TYPE(value, __u64);
} counters MAP;

ALWAYS_INLINE void count(__u32 counter)
{
	__u64 *value = map_lookup(&counters, &counter);
	if (value)
		++*value;
}

ALWAYS_INLINE struct control *current_control(void)
{
	__u32 only = 0;
	return map_lookup(&control, &only);
}

// Window that user space requests; 0: the receiver's own window.
ALWAYS_INLINE __u32 target_of(const __u64 *flow, __u64 now)
{
	struct target *target = map_lookup(&targets, flow);
	return target && now < target->valid_until ? target->window : 0;
}

// Whether a flow with this least RTT (us) may be reported again `elapsed` ns after its last report.
ALWAYS_INLINE bool is_due(struct control *control, __u64 elapsed, __u32 least_rtt)
{
	return elapsed >= control->report_interval && elapsed >= least_rtt * (1000ULL / REPORTS_PER_RTT);
}

// Room for a report; 0: there is none. New flows leave half of the room to those that have been `reported` before, so
// that their number does not keep user space from following the others.
ALWAYS_INLINE struct observation *reserve(__u64 reported)
{
	bool is_free = reported || ringbuf_query(&observations, BPF_RB_AVAIL_DATA) < RING_BYTES / 2;
	struct observation *seen = is_free ? ringbuf_reserve(&observations, sizeof(*seen), 0) : 0;
	if (!seen)
		count(LOST);
	return seen;
}

static __u64 woken;

// Passes an observation on. User space looks for those after which it was not woken by itself.
ALWAYS_INLINE void submit(struct observation *seen)
{
	__u64 flags = BPF_RB_NO_WAKEUP;
	if (seen->time - woken >= WAKE_INTERVAL_NS) {
		woken = seen->time;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	ringbuf_submit(seen, flags);
}

ALWAYS_INLINE bool is_before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}
