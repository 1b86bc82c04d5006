/* CPU time: for each CPU how long tasks ran on it, and how many ticks of the timer found one there. */
#include "common.h"

struct sums {
	/* Time that tasks, not the idle one, had the CPU. */
	u64 busy_ns;
	/* Ticks that came meanwhile. */
	u64 ticks;
	/* When what is not yet counted began; 0: never counted. */
	u64 since_ns;
	u64 since_tick;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sums);
} cpus SEC(".maps");

/* Counts what `task` had of this CPU since the last time. */
static __always_inline void count(struct task_struct *task)
{
	u32 zero = 0;
	struct sums *sums = bpf_map_lookup_elem(&cpus, &zero);
	u64 now = bpf_ktime_get_ns(), tick = bpf_jiffies64();
	if (!sums)
		return;
	/* The idle task of every CPU has the number 0. */
	if (task->pid && sums->since_ns) {
		sums->busy_ns += now - sums->since_ns;
		sums->ticks += tick - sums->since_tick;
	}
	sums->since_ns = now;
	sums->since_tick = tick;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	count(prev);
	return 0;
}

/* Run on each CPU at each reading: the interval that is still open counts, too. */
SEC("raw_tp/sched_switch")
int count_open(void *ctx)
{
	count(bpf_get_current_task_btf());
	return 0;
}
