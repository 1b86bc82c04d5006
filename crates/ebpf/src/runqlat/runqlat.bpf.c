/* Waits for a CPU: how long tasks that could run did not, by process and by the CPU that they came to. */
#include "follow.h"

/* Powers of two of nanoseconds that are distinguished; mod.rs knows how many. */
#define POWERS 40

struct key {
	u32 tgid;
	u32 cpu;
};

struct sums {
	u64 waits;
	u64 ns;
	u64 powers[POWERS];
	char comm[16];
};

/* Only the CPU in the key adds to a value, and never in two places at once. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct key);
	__type(value, struct sums);
} waited SEC(".maps");

/* Since when a task could run and does not; 0: it runs, or sleeps. It stays with the task when that is given to another CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} waits SEC(".maps");

static __always_inline u64 *since_of(struct task_struct *task)
{
	u64 *since;
	if (!may_be_wanted(task->tgid))
		return NULL;
	since = bpf_task_storage_get(&waits, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!since)
		lose(LOST_ROOM);
	return since;
}

/* One that was about to sleep can be woken before it has left the run queue: while it waits there already, which goes on; or
 * while it is on its CPU, and then the switch from it shows what it does. */
static __always_inline int can_run(struct task_struct *task)
{
	u64 *since = since_of(task);
	if (since && !*since)
		*since = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *task)
{
	return can_run(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(begun, struct task_struct *task)
{
	return can_run(task);
}

static __always_inline struct sums *sums_of(struct task_struct *task)
{
	struct key key = { .tgid = task->tgid, .cpu = bpf_get_smp_processor_id() };
	struct sums fresh = {}, *sums = bpf_map_lookup_elem(&waited, &key);
	if (sums)
		return sums;
	BPF_CORE_READ_STR_INTO(&fresh.comm, task, group_leader, comm);
	bpf_map_update_elem(&waited, &key, &fresh, BPF_NOEXIST);
	sums = bpf_map_lookup_elem(&waited, &key);
	if (!sums)
		lose(LOST_ROOM);
	return sums;
}

static __always_inline void count(struct task_struct *task, u64 ns)
{
	struct sums *sums = sums_of(task);
	u32 power = log2_of(ns);
	if (!sums)
		return;
	sums->waits += 1;
	sums->ns += ns;
	if (power >= POWERS)
		power = POWERS - 1;
	sums->powers[power] += 1;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	u64 now = bpf_ktime_get_ns(), *since;
	/* The idle task of every CPU has the number 0, and waits for nothing. */
	if (prev->pid) {
		if (preempted || state_of(prev) == 0) {
			since = since_of(prev);
			if (since)
				*since = now;
		} else {
			since = bpf_task_storage_get(&waits, prev, 0, 0);
			if (since)
				*since = 0;
		}
	}
	since = next->pid ? bpf_task_storage_get(&waits, next, 0, 0) : NULL;
	if (since && *since) {
		if (is_wanted(next->tgid))
			count(next, now - *since);
		*since = 0;
	}
	return 0;
}
