// Headers of packets that pass an interface. SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "kernel.h"

#define ETH_IPV4 0x0800
#define ETH_IPV6 0x86dd
#define ETH_PPPOE 0x8864
#define PPP_IPV4 0x21
#define PPP_IPV6 0x57
#define PROTOCOL_TCP 6

static long (*load_bytes)(const void *skb, __u32 offset, void *to, __u32 size) = (void *)BPF_FUNC_skb_load_bytes;

// Returns the EtherType of the packet at `start`, and moves `start` behind the headers of PPPoE (RFC 2516 sections 4 and
// 7) and PPP, which an interface below that of PPP carries.
ALWAYS_INLINE __u16 protocol_of(struct __sk_buff *skb, __u32 *start)
{
	if (skb->protocol != __builtin_bswap16(ETH_PPPOE))
		return __builtin_bswap16(skb->protocol);
	// Version and type, code, session, length, and the protocol of PPP.
	__u8 header[8];
	if (load_bytes(skb, *start, header, sizeof(header)) || header[0] != 0x11 || header[1] || header[6])
		return 0;
	*start += sizeof(header);
	return header[7] == PPP_IPV4 ? ETH_IPV4 : header[7] == PPP_IPV6 ? ETH_IPV6 : 0;
}

// Finds the TCP header of an IP packet that begins at `start`; returns its offset, or 0: there is none, as in fragments
// and behind IPv6 extension headers. Addresses are in network byte order, IPv4 in the last word; `end` is that of the
// packet.
ALWAYS_INLINE __u32 find_tcp(struct __sk_buff *skb, __u16 protocol, __u32 start, __u32 *source, __u32 *destination,
			     __u32 *end)
{
	if (protocol == ETH_IPV4) {
		__u8 ip[20];
		if (load_bytes(skb, start, ip, sizeof(ip)) || ip[0] >> 4 != 4 || ip[9] != PROTOCOL_TCP)
			return 0;
		// More fragments, or an offset.
		if ((ip[6] & 0x3f) | ip[7])
			return 0;
		__builtin_memcpy(&source[3], ip + 12, 4);
		__builtin_memcpy(&destination[3], ip + 16, 4);
		__u32 total = ip[2] << 8 | ip[3];
		// Short frames are padded, so the length of the packet does not count; jumbograms have length 0.
		*end = total ? start + total : skb->len;
		return start + (ip[0] & 15) * 4;
	}
	if (protocol == ETH_IPV6) {
		__u8 ip[40];
		if (load_bytes(skb, start, ip, sizeof(ip)) || ip[0] >> 4 != 6 || ip[6] != PROTOCOL_TCP)
			return 0;
		__builtin_memcpy(source, ip + 8, 16);
		__builtin_memcpy(destination, ip + 24, 16);
		__u32 total = ip[4] << 8 | ip[5];
		*end = total ? start + sizeof(ip) + total : skb->len;
		return start + sizeof(ip);
	}
	return 0;
}
