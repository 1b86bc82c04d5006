/* Reports a process to the user part the first time that it is met, and again when it has begun another program, so that its
   mappings are read while it is there. */
#pragma once
#include "common.h"

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

static __always_inline void meet(u32 tgid)
{
	u32 yes = 1;
	if (bpf_map_lookup_elem(&known, &tgid))
		return;
	bpf_map_update_elem(&known, &tgid, &yes, BPF_ANY);
	if (bpf_ringbuf_output(&met, &tgid, sizeof(tgid), 0))
		lose(LOST_RING);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(met_anew, struct task_struct *task, int old_pid, struct linux_binprm *binary)
{
	u32 tgid = BPF_CORE_READ(task, tgid);
	bpf_map_delete_elem(&known, &tgid);
	return 0;
}
