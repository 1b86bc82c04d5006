/* What all observers share: the processes that they observe, what they lost, buckets of histograms. */
#pragma once
#include "kernel.h"

/* The observer itself, which is never observed; set before loading. */
const volatile u32 own_tgid = 0;
/* Whether only the processes of `tracked` are observed. */
const volatile u32 only_tracked = 0;

enum tracked_state {
	/* Forked by the observer, its program not yet begun: the fork's own steps are not the program's. */
	TRACKED_FORKED = 1,
	TRACKED_RUNNING = 2,
};

/* Processes that are observed where not all are: those asked for and, from then on, their children. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, u32);
} tracked SEC(".maps");

/* What could not be counted, by why. Read by every observer's user part: nothing is lost silently. */
enum loss {
	/* A map had no room. */
	LOST_ROOM,
	/* The ring buffer had no room. */
	LOST_RING,
	/* A stack could not be walked. */
	LOST_STACK,
	LOST_KINDS,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOST_KINDS);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

static __always_inline void lose(u32 why)
{
	u64 *count = bpf_map_lookup_elem(&lost, &why);
	if (count)
		*count += 1;
}

static __always_inline u32 tracked_state(u32 tgid)
{
	u32 *state = bpf_map_lookup_elem(&tracked, &tgid);
	return state ? *state : 0;
}

/* Whether what this process does is counted. */
static __always_inline bool is_wanted(u32 tgid)
{
	if (tgid == own_tgid)
		return false;
	return !only_tracked || tracked_state(tgid) == TRACKED_RUNNING;
}

/* Whether it is counted, or will be from the moment its program begins. */
static __always_inline bool may_be_wanted(u32 tgid)
{
	if (tgid == own_tgid)
		return false;
	return !only_tracked || tracked_state(tgid) != 0;
}

/* Whether the system call that the current task is in was made as a 32-bit program makes it, with its own numbers. */
static __always_inline bool call_is_32_bit(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread_info.status & 2;
#else
	return false;
#endif
}

/* What a task that leaves its CPU waits in; 0: it has work to do. */
static __always_inline u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

static __always_inline u32 log2_of(u64 v)
{
	u32 r = 0, s;
	s = (v > 0xffffffffULL) << 5; v >>= s; r |= s;
	s = (v > 0xffff) << 4; v >>= s; r |= s;
	s = (v > 0xff) << 3; v >>= s; r |= s;
	s = (v > 0xf) << 2; v >>= s; r |= s;
	s = (v > 3) << 1; v >>= s; r |= s;
	return r | (v >> 1);
}

/* Histograms: 8 buckets for each power of two (12.5 % wide at most); crates/ebpf/src/buckets.rs has the bounds. */
#define SUB_BITS 3
#define BUCKETS ((64 - SUB_BITS + 1) << SUB_BITS)

static __always_inline u32 bucket_of(u64 v)
{
	u32 power;
	if (v < (1 << SUB_BITS))
		return v;
	power = log2_of(v);
	return ((power - SUB_BITS + 1) << SUB_BITS) + ((v >> (power - SUB_BITS)) & ((1 << SUB_BITS) - 1));
}
