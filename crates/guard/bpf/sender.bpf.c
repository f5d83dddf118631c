// The sender's part of ARWA. SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A congestion control that grows as Reno (RFC 5681) and obeys the codes that the receiver's part sends in an
// experimental TCP option: ArwaSender of crates/rwnd/src/arwa.rs. One program reads the option of each incoming segment,
// before the kernel processes its ACK; the others are the functions of the congestion control.
#include "code.h"

#define TCP_CA_DISORDER 1
#define CWND_MIN 2

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
} RELOCATED;
struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
	__u32 prior_cwnd;
	__u32 max_packets_out;
	__u32 max_window;
	__u32 mss_cache;
	__u32 is_cwnd_limited : 1;
} RELOCATED;

static void *(*storage_get)(void *map, void *sk, void *value, __u64 flags) = (void *)BPF_FUNC_sk_storage_get;
static long (*set_cb_flags)(struct bpf_sock_ops *ctx, int flags) = (void *)BPF_FUNC_sock_ops_cb_flags_set;
static long (*load_option)(struct bpf_sock_ops *ctx, void *option, __u32 size, __u64 flags) =
	(void *)BPF_FUNC_load_hdr_opt;

struct sender_state {
	// Code that has arrived and was not obeyed yet; 0: none.
	__u32 code;
	// The ACK that is processed has a code.
	__u32 has_code;
	// cwnd in bytes after the last code. The kernel's is in segments, and a small change would be lost in it.
	__u64 cwnd;
};

struct {
	VALUE(type, BPF_MAP_TYPE_SK_STORAGE);
	VALUE(map_flags, BPF_F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct sender_state);
} senders MAP;

// Parameters of ARWA, in bytes.
struct limits {
	__u64 floor;
	__u64 ceiling;
};

struct {
	VALUE(type, BPF_MAP_TYPE_ARRAY);
	VALUE(max_entries, 1);
	TYPE(key, __u32);
	TYPE(value, struct limits);
} limits MAP;

ALWAYS_INLINE void on_option(struct bpf_sock_ops *ctx)
{
	struct code_option option = CODE_OPTION(0);
	option.length = CODE_OPTION_SEARCH;
	if (load_option(ctx, &option, sizeof(option), 0) != sizeof(option))
		return;
	struct bpf_sock *sk = ctx->sk;
	if (!sk)
		return;
	struct sender_state *state = storage_get(&senders, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (state)
		state->code = option.code;
}

SEC("sockops")
int airwnd_sender(struct bpf_sock_ops *ctx)
{
	switch (ctx->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		set_cb_flags(ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG);
		break;
	case BPF_SOCK_OPS_PARSE_HDR_OPT_CB:
		on_option(ctx);
		break;
	}
	return 1;
}

// ARWA 2019 Alg. 2: cwnd in bytes after an ACK with a code.
ALWAYS_INLINE __u64 after_code(__u64 cwnd, __u32 code, const struct limits *limits)
{
	if (code <= 100) {
		cwnd -= cwnd * code / 100;
		return cwnd < limits->floor ? limits->floor : cwnd;
	}
	__u32 excess = (code < 120 ? code : 120) - 100;
	return cwnd + cwnd * excess / (cwnd > limits->ceiling ? 200 : 100);
}

// The loader passes the programs below as functions of `struct tcp_congestion_ops`. Their section is one that it knows;
// they are never attached as such.
SEC("fentry/arwa_in_ack_event")
int arwa_in_ack_event(__u64 *arguments)
{
	struct tcp_sock *tcp = (void *)arguments[0];
	struct sender_state *state = storage_get(&senders, tcp, 0, 0);
	__u32 only = 0;
	struct limits *bounds = map_lookup(&limits, &only);
	if (!state || !bounds)
		return 0;
	__u32 code = state->code;
	__u32 mss = tcp->mss_cache;
	state->code = 0;
	state->has_code = code != 0;
	// Loss recovery has a window of its own.
	if (!code || !mss || BITS(tcp, inet_conn.icsk_ca_state) > TCP_CA_DISORDER)
		return 0;
	__u32 segments = tcp->snd_cwnd;
	if (state->cwnd / mss != segments)
		state->cwnd = (__u64)segments * mss;
	__u64 cwnd = after_code(state->cwnd, code, bounds);
	if (cwnd > tcp->max_window)
		cwnd = tcp->max_window;
	segments = cwnd / mss;
	if (segments < CWND_MIN)
		segments = CWND_MIN;
	state->cwnd = cwnd < (__u64)segments * mss ? (__u64)segments * mss : cwnd;
	tcp->snd_cwnd = segments;
	return 0;
}

// RFC 5681 section 3.1, with the growth of cwnd limited to what was used (RFC 7661 section 4.1).
SEC("fentry/arwa_cong_avoid")
int arwa_cong_avoid(__u64 *arguments)
{
	struct tcp_sock *tcp = (void *)arguments[0];
	__u32 acked = arguments[2];
	struct sender_state *state = storage_get(&senders, tcp, 0, 0);
	__u32 cwnd = tcp->snd_cwnd, ssthresh = tcp->snd_ssthresh, limit = tcp->snd_cwnd_clamp;
	bool in_slow_start = cwnd < ssthresh;
	bool is_used = BITS(tcp, is_cwnd_limited) || (in_slow_start && cwnd < 2 * tcp->max_packets_out);
	if (!is_used || (state && state->has_code))
		return 0;
	if (in_slow_start) {
		__u32 grown = cwnd + acked < ssthresh ? cwnd + acked : ssthresh;
		acked -= grown - cwnd;
		cwnd = grown;
	}
	__u32 count = tcp->snd_cwnd_cnt + acked;
	if (count >= cwnd) {
		count -= cwnd;
		++cwnd;
	}
	tcp->snd_cwnd_cnt = count;
	tcp->snd_cwnd = cwnd < limit ? cwnd : limit;
	return 0;
}

SEC("fentry/arwa_ssthresh")
int arwa_ssthresh(__u64 *arguments)
{
	struct tcp_sock *tcp = (void *)arguments[0];
	__u32 half = tcp->snd_cwnd >> 1;
	return half > CWND_MIN ? half : CWND_MIN;
}

SEC("fentry/arwa_undo_cwnd")
int arwa_undo_cwnd(__u64 *arguments)
{
	struct tcp_sock *tcp = (void *)arguments[0];
	return tcp->snd_cwnd > tcp->prior_cwnd ? tcp->snd_cwnd : tcp->prior_cwnd;
}
