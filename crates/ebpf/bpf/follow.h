/* Keeps `tracked`: children of tracked processes are tracked, ended ones are not. */
#pragma once
#include "common.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid), state;
	if (from == to)
		return 0;
	state = from == own_tgid ? TRACKED_FORKED : tracked_state(from);
	if (state && bpf_map_update_elem(&tracked, &to, &state, BPF_ANY))
		lose(LOST_ROOM);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(follow_exec, struct task_struct *task, int old_pid, struct linux_binprm *binary)
{
	u32 tgid = BPF_CORE_READ(task, tgid), state = TRACKED_RUNNING;
	if (tracked_state(tgid))
		bpf_map_update_elem(&tracked, &tgid, &state, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(follow_exit, struct task_struct *task)
{
	u32 tgid = BPF_CORE_READ(task, tgid);
	if (BPF_CORE_READ(task, signal, live.counter) == 0)
		bpf_map_delete_elem(&tracked, &tgid);
	return 0;
}
