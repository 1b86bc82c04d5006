/* Microstates: in which state each thread spends its time, without a gap, as prstat -m of Solaris shows it. */
#include "follow.h"

/* mod.rs has the same order. */
enum state {
	STATE_USR,
	STATE_SYS,
	/* Blocked outside of system calls: a page fault that waits. */
	STATE_FAULT,
	/* Blocked in futex. */
	STATE_LOCK,
	STATE_SLEEP,
	/* Could run and had no CPU. */
	STATE_LATENCY,
	STATES,
	/* It has ended. */
	STATE_GONE = STATES,
};

enum call {
	CALL_NONE,
	CALL_ANY,
	/* One that waits for a futex. */
	CALL_FUTEX,
};

/* When observing began. */
const volatile u64 began_ns = 0;

/* The user part reads it while it changes: `begun` is raised before a change and `done` after it, and reading goes from `done`
 * to `begun`. They are equal if all between is of one moment. */
struct thread {
	u64 done;
	/* When the current state began. */
	u64 since;
	u64 ns[STATES];
	u64 voluntary;
	u64 involuntary;
	u64 calls;
	u32 state;
	u32 call;
	/* The state that it was in before its first event here, and since when. */
	u32 first;
	u32 tgid;
	/* Whether it came to a CPU without having left one: the kernel hides its own events. */
	u64 hidden;
	u64 first_since;
	char comm[16];
	u64 begun;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");

struct task_struct___start {
	u64 start_time;
	int on_cpu;
} KERNEL;

#define PF_KTHREAD 0x00200000
/* Of __state. */
#define STOPPED_OR_TRACED 0xc
#define DEAD 0x80

#if defined(__TARGET_ARCH_x86)
#define NR_FUTEX 202
#define NR_FUTEX_WAITV 449
#endif
enum {
	FUTEX_WAIT = 0,
	FUTEX_LOCK_PI = 6,
	FUTEX_WAIT_BITSET = 9,
	FUTEX_WAIT_REQUEUE_PI = 11,
	FUTEX_LOCK_PI2 = 13,
	FUTEX_COMMAND = 127,
};

/* What a thread is in, by its number and by the arguments with which it went into the kernel. */
static __always_inline u32 call_of(struct task_struct *task, struct pt_regs *regs, long number)
{
#if defined(__TARGET_ARCH_x86)
	if (number < 0)
		return CALL_NONE;
	if (call_is_32_bit(task))
		return CALL_ANY;
	if (number == NR_FUTEX_WAITV)
		return CALL_FUTEX;
	if (number != NR_FUTEX)
		return CALL_ANY;
	switch (BPF_CORE_READ(regs, si) & FUTEX_COMMAND) {
	case FUTEX_WAIT:
	case FUTEX_LOCK_PI:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI2:
		return CALL_FUTEX;
	}
#endif
	return CALL_ANY;
}

static __always_inline u32 call_now(struct task_struct *task)
{
	struct pt_regs *regs;
	if (task->flags & PF_KTHREAD)
		return CALL_ANY;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_x86)
	return call_of(task, regs, (long)BPF_CORE_READ(regs, orig_ax));
#else
	return CALL_ANY;
#endif
}

static __always_inline u32 blocked(u32 call, u32 task_state)
{
	if (call == CALL_FUTEX)
		return STATE_LOCK;
	return call == CALL_NONE && !(task_state & STOPPED_OR_TRACED) ? STATE_FAULT : STATE_SLEEP;
}

static __always_inline u32 running(u32 call)
{
	return call == CALL_NONE ? STATE_USR : STATE_SYS;
}

static __always_inline struct thread *found(struct task_struct *task)
{
	u32 tid = task->pid;
	return bpf_map_lookup_elem(&threads, &tid);
}

/* A thread that is met for the first time, and was in `state` until now. */
static __always_inline struct thread *met(struct task_struct *task, u32 state, u32 call, u64 how)
{
	u64 start = BPF_CORE_READ((struct task_struct___start *)task, start_time);
	u32 tid = task->pid;
	struct thread fresh = {}, *thread;
	long failed;
	if (!may_be_wanted(task->tgid))
		return NULL;
	fresh.first_since = fresh.since = start > began_ns ? start : began_ns;
	fresh.first = fresh.state = state;
	fresh.call = call;
	fresh.tgid = task->tgid;
	BPF_CORE_READ_STR_INTO(&fresh.comm, task, comm);
	failed = bpf_map_update_elem(&threads, &tid, &fresh, how);
	thread = bpf_map_lookup_elem(&threads, &tid);
	if (!thread || (failed && failed != -EEXIST))
		lose(LOST_ROOM);
	return thread;
}

/* Ends the current state. The caller raises `done` when it has changed what else it changes. */
static __always_inline void into(struct thread *thread, u32 state, u64 now)
{
	u32 before = thread->state;
	thread->begun += 1;
	barrier();
	if (before < STATES)
		thread->ns[before] += now - thread->since;
	thread->since = now;
	thread->state = state;
}

static __always_inline void changed(struct thread *thread)
{
	barrier();
	thread->done += 1;
}

struct bpf_iter_meta;
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} KERNEL;

/* Threads that there are when observing begins, once: one that never does anything is in a state, too. What is met by its first
 * event meanwhile is left as it is. */
SEC("iter/task")
int there_already(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 call, task_state, state;
	if (!task || !task->pid || found(task) || !may_be_wanted(task->tgid))
		return 0;
	call = call_now(task);
	task_state = state_of(task);
	if (task_state & DEAD)
		return 0;
	state = task_state ? blocked(call, task_state) : STATE_LATENCY;
	if (!task_state && BPF_CORE_READ((struct task_struct___start *)task, on_cpu))
		state = running(call);
	met(task, state, call, BPF_NOEXIST);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = found(task);
	if (!thread)
		thread = met(task, STATE_USR, CALL_NONE, BPF_NOEXIST);
	if (!thread)
		return 0;
	into(thread, STATE_SYS, bpf_ktime_get_ns());
	thread->call = call_of(task, regs, number);
	thread->calls += 1;
	changed(thread);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread = found(task);
	if (!thread)
		thread = met(task, STATE_SYS, CALL_ANY, BPF_NOEXIST);
	if (!thread)
		return 0;
	into(thread, STATE_USR, bpf_ktime_get_ns());
	thread->call = CALL_NONE;
	changed(thread);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(begun, struct task_struct *task)
{
	/* Numbers are used again. It begins in the call that made it, which it returns from. */
	met(task, STATE_LATENCY, CALL_ANY, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *task)
{
	struct thread *thread = found(task);
	u32 call;
	if (!thread) {
		if (!may_be_wanted(task->tgid))
			return 0;
		call = call_now(task);
		thread = met(task, blocked(call, 0), call, BPF_NOEXIST);
	}
	/* One that was about to sleep goes on, or waits already. */
	if (!thread || thread->state < STATE_FAULT || thread->state > STATE_SLEEP)
		return 0;
	into(thread, STATE_LATENCY, bpf_ktime_get_ns());
	changed(thread);
	return 0;
}

static __always_inline void leaves(struct task_struct *task, bool preempted, u64 now)
{
	struct thread *thread = found(task);
	u32 state = state_of(task), next;
	if (!thread) {
		u32 call;
		if (!may_be_wanted(task->tgid))
			return;
		call = call_now(task);
		thread = met(task, running(call), call, BPF_NOEXIST);
		if (!thread)
			return;
	}
	next = state & DEAD ? STATE_GONE : blocked(thread->call, state);
	if (preempted || !state)
		next = STATE_LATENCY;
	into(thread, next, now);
	if (next == STATE_LATENCY)
		thread->involuntary += 1;
	else
		thread->voluntary += 1;
	changed(thread);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	u64 now = bpf_ktime_get_ns();
	struct thread *thread;
	/* The idle task of every CPU has the number 0. */
	if (prev->pid)
		leaves(prev, preempted, now);
	if (!next->pid)
		return 0;
	thread = found(next);
	if (!thread && may_be_wanted(next->tgid))
		thread = met(next, STATE_LATENCY, call_now(next), BPF_NOEXIST);
	if (!thread)
		return 0;
	if (thread->state <= STATE_SYS)
		thread->hidden = 1;
	into(thread, running(thread->call), now);
	changed(thread);
	return 0;
}

/* Names are given after threads begin, and by exec. */
SEC("tp_btf/task_rename")
int BPF_PROG(renamed, struct task_struct *task, const char *name)
{
	struct thread *thread = found(task);
	if (!thread)
		return 0;
	thread->begun += 1;
	barrier();
	bpf_probe_read_kernel_str(thread->comm, sizeof(thread->comm), name);
	changed(thread);
	return 0;
}
