/* System calls: how many, how long, how much of it on a CPU, how many failed; by process (or thread) and call. */
#include "follow.h"

/* Whether threads are distinguished. */
const volatile u32 by_thread = 0;

/* Added to the number of a call that was made as a 32-bit program makes it; crates/ebpf/src/syscalls.rs knows it. */
#define IS_32_BIT 0x80000000

/* A call that has begun. */
struct call {
	u64 begun;
	/* When its thread last left the CPU; 0: it is on one. */
	u64 left;
	/* Time off the CPU so far. */
	u64 off;
	u32 number;
	u32 open;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} begun SEC(".maps");

struct key {
	u32 pid;
	u32 number;
};

struct sums {
	u64 calls;
	u64 errors;
	u64 elapsed_ns;
	u64 cpu_ns;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct key);
	__type(value, struct sums);
} calls SEC(".maps");

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call *call;
	if (!may_be_wanted(task->tgid))
		return 0;
	call = bpf_task_storage_get(&begun, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call) {
		lose(LOST_ROOM);
		return 0;
	}
	call->number = (u32)number | (call_is_32_bit(task) ? IS_32_BIT : 0);
	call->left = 0;
	call->off = 0;
	call->open = 1;
	call->begun = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long ret)
{
	u64 now = bpf_ktime_get_ns();
	struct task_struct *task = bpf_get_current_task_btf();
	struct call *call;
	struct sums *sums;
	struct key key;
	u64 elapsed;

	if (only_tracked && !is_wanted(task->tgid))
		return 0;
	call = bpf_task_storage_get(&begun, task, 0, 0);
	if (!call || !call->open)
		return 0;
	call->open = 0;
	key.pid = by_thread ? task->pid : task->tgid;
	key.number = call->number;
	sums = bpf_map_lookup_elem(&calls, &key);
	if (!sums) {
		struct sums fresh = {};
		long failed;
		BPF_CORE_READ_STR_INTO(&fresh.comm, task, comm);
		failed = bpf_map_update_elem(&calls, &key, &fresh, BPF_NOEXIST);
		sums = bpf_map_lookup_elem(&calls, &key);
		if (!sums || (failed && failed != -EEXIST)) {
			lose(LOST_ROOM);
			return 0;
		}
	}
	elapsed = now - call->begun;
	sums->calls += 1;
	/* The range in which the kernel returns errors. */
	sums->errors += ret < 0 && ret >= -4095;
	sums->elapsed_ns += elapsed;
	sums->cpu_ns += elapsed > call->off ? elapsed - call->off : 0;
	if (!sums->comm[0])
		BPF_CORE_READ_STR_INTO(&sums->comm, task, comm);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	u64 now = 0;
	struct call *call = bpf_task_storage_get(&begun, prev, 0, 0);
	if (call && call->open)
		call->left = now = bpf_ktime_get_ns();
	call = bpf_task_storage_get(&begun, next, 0, 0);
	if (call && call->open && call->left) {
		call->off += (now ? now : bpf_ktime_get_ns()) - call->left;
		call->left = 0;
	}
	return 0;
}
