// Parts of the kernel that the programs use: helpers, and fields. SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Field offsets are relocated when a program is loaded (CO-RE), so a structure lists only the fields that are read.
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>

#define SEC(name) __attribute__((section(name), used))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
// A function whose variables do not add to those of its caller: a frame has at most 512 bytes.
#define OWN_FRAME static __attribute__((noinline))
#define RELOCATED __attribute__((preserve_access_index))

// A map is declared by the types of the members of a structure in this section.
#define MAP SEC(".maps")
#define VALUE(name, number) int(*name)[number]
#define TYPE(name, type) __typeof__(type) *name

static void *(*map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*map_update)(void *map, const void *key, const void *value, __u64 flags) =
	(void *)BPF_FUNC_map_update_elem;
static long (*map_delete)(void *map, const void *key) = (void *)BPF_FUNC_map_delete_elem;
static __u64 (*monotonic_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static void *(*ringbuf_reserve)(void *ring, __u64 size, __u64 flags) = (void *)BPF_FUNC_ringbuf_reserve;
static __u64 (*ringbuf_query)(void *ring, __u64 flags) = (void *)BPF_FUNC_ringbuf_query;
static void (*ringbuf_submit)(void *data, __u64 flags) = (void *)BPF_FUNC_ringbuf_submit;

// Second argument of __builtin_preserve_field_info.
enum { FIELD_BYTE_OFFSET = 0, FIELD_BYTE_SIZE = 1, FIELD_EXISTS = 2, FIELD_LEFT_SHIFT = 4, FIELD_RIGHT_SHIFT = 5 };

#define EXISTS(field) __builtin_preserve_field_info(field, FIELD_EXISTS)

// Value of an unsigned bit field. The size of its storage differs between kernels.
#define BITS(object, field)                                                                        \
	({                                                                                         \
		const char *storage = (const char *)(object) +                                     \
				      __builtin_preserve_field_info((object)->field, FIELD_BYTE_OFFSET); \
		__u64 bits = 0;                                                                    \
		switch (__builtin_preserve_field_info((object)->field, FIELD_BYTE_SIZE)) {         \
		case 1: bits = *(const __u8 *)storage; break;                                      \
		case 2: bits = *(const __u16 *)storage; break;                                     \
		case 4: bits = *(const __u32 *)storage; break;                                     \
		case 8: bits = *(const __u64 *)storage; break;                                     \
		}                                                                                  \
		bits <<= __builtin_preserve_field_info((object)->field, FIELD_LEFT_SHIFT);         \
		bits >> __builtin_preserve_field_info((object)->field, FIELD_RIGHT_SHIFT);         \
	})

char LICENSE[] SEC("license") = "Dual MIT/GPL";
