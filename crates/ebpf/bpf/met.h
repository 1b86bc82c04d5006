/* Reports a process to the user part the first time that it is met, and again when it has begun another program, so that its
   mappings are read while it is there. */
#pragma once
#include "common.h"

/* How often a process is met before it is reported: 1, or more where those that end soon are not worth it. */
const volatile u32 met_after = 1;

/* How often processes were met. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, u32);
} known SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} met SEC(".maps");

static __always_inline void report_met(u32 tgid)
{
	if (bpf_ringbuf_output(&met, &tgid, sizeof(tgid), 0))
		lose(LOST_RING);
}

static __always_inline void meet(u32 tgid)
{
	u32 one = 1, *times = bpf_map_lookup_elem(&known, &tgid);
	if (!times) {
		bpf_map_update_elem(&known, &tgid, &one, BPF_ANY);
		if (met_after <= 1)
			report_met(tgid);
	} else if (*times < met_after && __sync_fetch_and_add(times, 1) + 1 == met_after) {
		report_met(tgid);
	}
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(met_anew, struct task_struct *task, int old_pid, struct linux_binprm *binary)
{
	u32 tgid = BPF_CORE_READ(task, tgid);
	bpf_map_delete_elem(&known, &tgid);
	return 0;
}
