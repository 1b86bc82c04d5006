/* Interrupts: which, how long each took by itself, the thread that it held up, and how long the thread then waited for a CPU. */
#include "follow.h"

/* Whether processes are distinguished. */
const volatile u32 by_process = 1;
/* Whether a soft interrupt's row has the interrupt that it followed. */
const volatile u32 with_flow = 0;

enum class {
	HARD,
	SOFT,
	/* A soft interrupt that the thread caused itself. */
	SELF,
	/* No interrupt: what the process ran. */
	RAN,
};

/* Interrupts of devices have their number, soft interrupts theirs and SOFTIRQ, the processors' own ones VECTOR. */
#define SOFTIRQ 0x40000000
#define VECTOR 0x80000000
#define NOTHING 0xffffffff
/* More than the kernel has. */
#define SOFTIRQS 16
/* Instead of the number of a process, where processes are not distinguished; the idle task's is 0. */
#define SOMEBODY 0xffffffff

struct key {
	/* Several drivers can share an interrupt. */
	u64 action;
	u32 process;
	u32 cpu;
	u32 what;
	u32 after;
	u32 class;
	u32 unused;
};

struct sums {
	u64 events;
	u64 ns;
	u64 wait_ns;
	u64 run_ns;
	char comm[16];
	char name[32];
	u64 handler;
	u64 thread_handler;
};

/* Only the CPU in the key adds to a value, and never in two places at once. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct key);
	__type(value, struct sums);
} pins SEC(".maps");

struct cpu {
	/* The interrupts that are at work; 0: none. Hard ones do not interrupt each other, nor do soft ones. */
	u64 hard_begun;
	u64 soft_begun;
	/* Which one the hard one is. */
	u32 hard;
	/* Time of hard interrupts within the soft one. */
	u64 within;
	u32 soft_class;
	u32 soft_after;
	/* Soft interrupts, a bit each, that the thread asked for, and those that an interrupt asked for; which one. */
	u32 own;
	u32 foreign;
	u32 asked_by[SOFTIRQS];
	/* The last interrupt that held a thread up, and which thread. */
	u32 last_pid;
	u64 last_ended;
	struct key last;
	/* Since when the thread that is on the CPU runs, and what interrupts took of that. */
	u64 since;
	u64 taken;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

/* A thread that lost the CPU although it had work. */
struct wait {
	u64 since;
	struct key cause;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait);
} waits SEC(".maps");

/* From the interrupt's end until the scheduler has taken the CPU from the thread. */
#define SWITCH_NS 5000

static __always_inline struct cpu *this_cpu(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&cpus, &zero);
}

/* Interrupts hit the observer itself, too: they are no doing of its. */
static __always_inline bool counts(u32 tgid)
{
	return !only_tracked || tracked_state(tgid) == TRACKED_RUNNING;
}

static __always_inline struct sums *sums_of(struct key *key, struct task_struct *task, struct irqaction *action)
{
	struct sums fresh = {}, *sums = bpf_map_lookup_elem(&pins, key);
	if (sums)
		return sums;
	if (key->process && key->process != SOMEBODY)
		BPF_CORE_READ_STR_INTO(&fresh.comm, task, group_leader, comm);
	if (action) {
		bpf_probe_read_kernel_str(fresh.name, sizeof(fresh.name), BPF_CORE_READ(action, name));
		fresh.handler = (u64)BPF_CORE_READ(action, handler);
		fresh.thread_handler = (u64)BPF_CORE_READ(action, thread_fn);
	}
	bpf_map_update_elem(&pins, key, &fresh, BPF_NOEXIST);
	sums = bpf_map_lookup_elem(&pins, key);
	if (!sums)
		lose(LOST_ROOM);
	return sums;
}

static __always_inline void count(struct cpu *cpu, u32 what, u32 class, u32 after, u64 ns, struct irqaction *action)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct key key = {
		.action = (u64)action,
		.process = by_process || !task->tgid ? task->tgid : SOMEBODY,
		.cpu = bpf_get_smp_processor_id(),
		.what = what,
		.after = after,
		.class = class,
	};
	struct sums *sums;
	if (!counts(task->tgid))
		return;
	if (class != SELF)
		cpu->taken += ns;
	sums = sums_of(&key, task, action);
	if (!sums)
		return;
	sums->events += 1;
	sums->ns += ns;
	if (class != SELF) {
		cpu->last = key;
		cpu->last_pid = task->pid;
	}
}

static __always_inline int hard_begins(u32 what)
{
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	cpu->hard = what;
	cpu->hard_begun = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int hard_ends(u32 what, struct irqaction *action)
{
	u64 now = bpf_ktime_get_ns(), ns;
	struct cpu *cpu = this_cpu();
	if (!cpu || !cpu->hard_begun)
		return 0;
	ns = now - cpu->hard_begun;
	cpu->hard_begun = 0;
	cpu->within += ns;
	count(cpu, what, HARD, NOTHING, ns, action);
	/* Read again: what counting took must not make the switch look late. */
	cpu->last_ended = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_handler_entry, int irq, struct irqaction *action)
{
	return hard_begins(irq);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_handler_exit, int irq, struct irqaction *action, int ret)
{
	return hard_ends(irq, action);
}

#define VECTOR_PROGRAMS(name, number)                              \
	SEC("tp_btf/" #name "_entry")                              \
	int BPF_PROG(vector_##name##_entry, int vector)            \
	{                                                          \
		return hard_begins(VECTOR | number);               \
	}                                                          \
	SEC("tp_btf/" #name "_exit")                               \
	int BPF_PROG(vector_##name##_exit, int vector)             \
	{                                                          \
		return hard_ends(VECTOR | number, NULL);           \
	}

/* In the order of VECTORS in mod.rs. */
VECTOR_PROGRAMS(local_timer, 0)
VECTOR_PROGRAMS(reschedule, 1)
VECTOR_PROGRAMS(call_function, 2)
VECTOR_PROGRAMS(call_function_single, 2)
VECTOR_PROGRAMS(irq_work, 3)

/* Whether the thread is the one that runs soft interrupts which were put off: they are its own work. */
static __always_inline bool is_ksoftirqd(struct task_struct *task)
{
	return task->pid && *(u64 *)task->comm == *(u64 *)"ksoftirq";
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_raise, unsigned int number)
{
	struct cpu *cpu = this_cpu();
	u32 by = NOTHING, bit;
	if (!cpu || number >= SOFTIRQS)
		return 0;
	bit = 1 << number;
	if (cpu->hard_begun) {
		by = cpu->hard;
	} else if (cpu->soft_begun) {
		/* Who caused this one causes the next one. */
		by = cpu->soft_after;
		if (cpu->soft_class == SELF)
			goto own;
	} else {
		goto own;
	}
	cpu->foreign |= bit;
	cpu->asked_by[number] = by;
	return 0;
own:
	cpu->own |= bit;
	return 0;
}

/* The kernel's chores: timers, BLOCK, SCHED, HRTIMER, RCU. No thread causes them itself, wherever they are asked for. */
#define CHORES (1 << 1 | 1 << 4 | 1 << 7 | 1 << 8 | 1 << 9)

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int number)
{
	struct cpu *cpu = this_cpu();
	u32 bit;
	if (!cpu || number >= SOFTIRQS)
		return 0;
	bit = 1 << number;
	cpu->soft_class = is_ksoftirqd(bpf_get_current_task_btf()) || (cpu->own & ~cpu->foreign & ~CHORES & bit) ? SELF : SOFT;
	cpu->soft_after = with_flow && cpu->foreign & bit ? cpu->asked_by[number] : NOTHING;
	cpu->own &= ~bit;
	cpu->foreign &= ~bit;
	cpu->within = 0;
	cpu->soft_begun = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int number)
{
	u64 now = bpf_ktime_get_ns(), ns;
	struct cpu *cpu = this_cpu();
	if (!cpu || !cpu->soft_begun)
		return 0;
	ns = now - cpu->soft_begun;
	ns = ns > cpu->within ? ns - cpu->within : 0;
	cpu->soft_begun = 0;
	count(cpu, SOFTIRQ | number, cpu->soft_class, cpu->soft_after, ns, NULL);
	if (cpu->soft_class == SOFT)
		cpu->last_ended = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void key_of_run(struct key *key, struct task_struct *task)
{
	key->action = 0;
	key->process = task->tgid;
	key->cpu = bpf_get_smp_processor_id();
	key->what = NOTHING;
	key->after = NOTHING;
	key->class = RAN;
	key->unused = 0;
}

/* Counts what `task` ran on this CPU since the last time. */
static __always_inline void ran(struct cpu *cpu, struct task_struct *task, u64 now)
{
	u64 ns = now - cpu->since;
	struct key key;
	struct sums *sums;
	if (cpu->since && task->pid && counts(task->tgid)) {
		key_of_run(&key, task);
		sums = sums_of(&key, task, NULL);
		if (sums)
			sums->run_ns += ns > cpu->taken ? ns - cpu->taken : 0;
	}
	cpu->since = now;
	cpu->taken = 0;
}

static __always_inline bool has_work(struct task_struct *task)
{
	return state_of(task) == 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	struct cpu *cpu = this_cpu();
	u64 now = bpf_ktime_get_ns();
	struct wait *wait;
	struct sums *sums;
	if (!cpu)
		return 0;
	ran(cpu, prev, now);
	if (prev->pid && (preempted || has_work(prev)) && counts(prev->tgid)) {
		wait = bpf_task_storage_get(&waits, prev, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!wait) {
			lose(LOST_ROOM);
		} else {
			wait->since = now;
			if (cpu->last_pid == prev->pid && now - cpu->last_ended < SWITCH_NS)
				wait->cause = cpu->last;
			else
				key_of_run(&wait->cause, prev);
		}
	}
	wait = next->pid ? bpf_task_storage_get(&waits, next, 0, 0) : NULL;
	if (wait && wait->since) {
		sums = sums_of(&wait->cause, next, NULL);
		/* Another CPU's value, perhaps. */
		if (sums)
			__sync_fetch_and_add(&sums->wait_ns, now - wait->since);
		wait->since = 0;
	}
	return 0;
}

/* Run on each CPU at each reading: what runs there has run until now. */
SEC("raw_tp/sched_switch")
int count_open(void *ctx)
{
	struct cpu *cpu = this_cpu();
	if (cpu)
		ran(cpu, bpf_get_current_task_btf(), bpf_ktime_get_ns());
	return 0;
}
