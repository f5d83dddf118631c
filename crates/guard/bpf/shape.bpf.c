// Arrivals and departures at an access link. SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The filter of a packet socket sees packets of an interface where their times are those of the link: incoming ones
// before a shaper behind the interface, outgoing ones after the shaper in front of it. It passes none of them on.
#include "packet.h"

#include <linux/if_packet.h>

#define FLOWS_MAX 4096
// Departures whose echo is awaited: 250 per second of each of 32 flows for a second.
#define ECHOES_MAX 8192
#define RING_BYTES (1 << 18)
// Least time between two departures of a flow whose echoes are awaited.
#define DEPARTURES_NS 4000000ULL
// Bytes of the headers of IPv4 and TCP with timestamps, which merged segments have once.
#define HEADERS 52

static __u32 (*random_number)(void) = (void *)BPF_FUNC_get_prandom_u32;

// Bytes of IP packets so far, of both directions.
struct totals {
	__u64 received;
	__u64 sent;
};

struct {
	VALUE(type, BPF_MAP_TYPE_ARRAY);
	VALUE(max_entries, 1);
	TYPE(key, __u32);
	TYPE(value, struct totals);
} totals MAP;

// Least time between two reports of a flow without an echo, ns.
struct {
	VALUE(type, BPF_MAP_TYPE_ARRAY);
	VALUE(max_entries, 1);
	TYPE(key, __u32);
	TYPE(value, __u64);
} interval MAP;

struct key {
	__u32 local[4]; // network byte order, IPv4 in the last word
	__u32 remote[4];
	__u16 local_port;
	__u16 remote_port;
};

struct flow {
	__u64 id;
	__u64 reported;
	__u64 departed; // time of the last departure whose echo is awaited
	__u32 ts_val;	// of the last departure
	__u32 reserved;
};

struct {
	VALUE(type, BPF_MAP_TYPE_LRU_HASH);
	VALUE(max_entries, FLOWS_MAX);
	TYPE(key, struct key);
	TYPE(value, struct flow);
} flows MAP;

struct echo_key {
	__u64 flow;
	__u32 ts_val;
	__u32 reserved;
};

struct echo {
	__u64 time;
	__u64 sent;
};

struct {
	VALUE(type, BPF_MAP_TYPE_LRU_HASH);
	VALUE(max_entries, ECHOES_MAX);
	TYPE(key, struct echo_key);
	TYPE(value, struct echo);
} echoes MAP;

// An incoming segment, as src/shape/watch.rs reads it.
struct sample {
	__u64 time; // CLOCK_MONOTONIC, ns
	__u64 flow;
	__u64 received; // bytes so far, this one included
	__u64 echo_time; // 0: nothing new is echoed
	__u64 echo_sent;
	__u32 ts_val;
	__u32 reserved;
};

struct {
	VALUE(type, BPF_MAP_TYPE_RINGBUF);
	VALUE(max_entries, RING_BYTES);
} samples MAP;

struct segment {
	struct key key;
	__u32 ts_val;
	__u32 ts_ecr;
	bool has_syn;
};

// Reads a TCP segment with timestamps where all common systems place them: first, after two NOPs.
ALWAYS_INLINE bool parse(struct __sk_buff *skb, bool is_incoming, struct segment *segment)
{
	__u32 *source = is_incoming ? segment->key.remote : segment->key.local;
	__u32 *destination = is_incoming ? segment->key.local : segment->key.remote;
	__u32 start = 0, end = 0;
	__u16 protocol = protocol_of(skb, &start);
	__u32 offset = find_tcp(skb, protocol, start, source, destination, &end);
	// Ports, and the words of the header up to the end of the timestamps.
	__u32 tcp[8];
	if (!offset || load_bytes(skb, offset, tcp, sizeof(tcp)) || tcp[5] != __builtin_bswap32(0x0101080a))
		return false;
	__u8 *bytes = (__u8 *)tcp;
	if (bytes[12] >> 4 < sizeof(tcp) / 4)
		return false;
	__u16 from = bytes[0] << 8 | bytes[1], to = bytes[2] << 8 | bytes[3];
	segment->key.remote_port = is_incoming ? from : to;
	segment->key.local_port = is_incoming ? to : from;
	segment->has_syn = bytes[13] & 2;
	segment->ts_val = __builtin_bswap32(tcp[6]);
	segment->ts_ecr = __builtin_bswap32(tcp[7]);
	return true;
}

// Notes the departure of a segment. Only what this side sends begins a flow: no packet from the link does.
ALWAYS_INLINE void on_departure(struct segment *segment, __u64 now, __u64 sent)
{
	struct flow *flow = map_lookup(&flows, &segment->key);
	if (!flow) {
		struct flow fresh = {
			.id = (__u64)random_number() << 32 | random_number(),
			.ts_val = segment->ts_val - 1,
		};
		map_update(&flows, &segment->key, &fresh, BPF_ANY);
		flow = map_lookup(&flows, &segment->key);
		if (!flow)
			return;
	}
	// An echo is that of the first segment with its value.
	bool is_first = (__s32)(segment->ts_val - flow->ts_val) > 0;
	if (is_first)
		flow->ts_val = segment->ts_val;
	if (!is_first || now - flow->departed < DEPARTURES_NS)
		return;
	flow->departed = now;
	struct echo_key key = { .flow = flow->id, .ts_val = segment->ts_val };
	struct echo echo = { .time = now, .sent = sent };
	map_update(&echoes, &key, &echo, BPF_ANY);
}

ALWAYS_INLINE void on_arrival(struct segment *segment, __u64 now, __u64 received)
{
	__u32 only = 0;
	__u64 *min = map_lookup(&interval, &only);
	struct flow *flow = map_lookup(&flows, &segment->key);
	if (!min || !flow)
		return;
	struct echo_key key = { .flow = flow->id, .ts_val = segment->ts_ecr };
	struct echo *echo = map_lookup(&echoes, &key);
	if (!echo && now - flow->reported < *min)
		return;
	flow->reported = now;
	struct sample *sample = ringbuf_reserve(&samples, sizeof(*sample), 0);
	if (!sample)
		return;
	sample->time = now;
	sample->flow = flow->id;
	sample->received = received;
	sample->echo_time = echo ? echo->time : 0;
	sample->echo_sent = echo ? echo->sent : 0;
	sample->ts_val = segment->ts_val;
	sample->reserved = 0;
	// User space looks for samples when a period of the law ends.
	ringbuf_submit(sample, BPF_RB_NO_WAKEUP);
	if (echo)
		map_delete(&echoes, &key);
}

SEC("socket")
int airwnd_shape(struct __sk_buff *skb)
{
	__u32 only = 0, type = skb->pkt_type;
	struct totals *total = map_lookup(&totals, &only);
	if (!total || type == PACKET_OTHERHOST || type > PACKET_OUTGOING)
		return 0;
	bool is_incoming = type != PACKET_OUTGOING;
	__u32 merged = skb->gso_segs > 1 ? skb->gso_segs - 1 : 0;
	__u64 size = skb->len + merged * HEADERS;
	__u64 now = monotonic_ns();
	__u64 *bytes = is_incoming ? &total->received : &total->sent;
	__u64 before = __sync_fetch_and_add(bytes, size);
	struct segment segment = {};
	if (!parse(skb, is_incoming, &segment) || segment.has_syn)
		return 0;
	if (is_incoming)
		on_arrival(&segment, now, before + size);
	else
		on_departure(&segment, now, before + size);
	return 0;
}
