/* Where the time of an open query goes: what its thread waits for, and who runs instead. */
#pragma once
#include "querystat_maps.h"

#if defined(__TARGET_ARCH_x86)
#define SYSCALL_OF(regs) BPF_CORE_READ(regs, orig_ax)
#define FOURTH_OF(regs) BPF_CORE_READ(regs, r10)
enum number {
	READ = 0, WRITE = 1, POLL = 7, WRITEV = 20, SELECT = 23, SENDTO = 44, RECVFROM = 45, SENDMSG = 46, RECVMSG = 47,
	SEMOP = 65, FCNTL = 72, FLOCK = 73, FUTEX = 202, SEMTIMEDOP = 220, EPOLL_WAIT = 232, PSELECT = 270, PPOLL = 271,
	EPOLL_PWAIT = 281, EPOLL_PWAIT2 = 441, FUTEX_WAITV = 449, FUTEX_WAIT = 455,
};
#elif defined(__TARGET_ARCH_arm64)
#define SYSCALL_OF(regs) BPF_CORE_READ(regs, syscallno)
#define FOURTH_OF(regs) BPF_CORE_READ(regs, regs[3])
enum number {
	FCNTL = 25, FLOCK = 32, READ = 63, WRITE = 64, WRITEV = 66, PSELECT = 72, PPOLL = 73, EPOLL_PWAIT = 22, FUTEX = 98,
	SEMTIMEDOP = 192, SEMOP = 193, SENDTO = 206, RECVFROM = 207, SENDMSG = 211, RECVMSG = 212, EPOLL_PWAIT2 = 441,
	FUTEX_WAITV = 449, FUTEX_WAIT = 455, POLL = -2, SELECT = -3, EPOLL_WAIT = -4,
};
#endif

#define UNINTERRUPTIBLE 2

/* What a thread that leaves the CPU by itself waits for. */
static __always_inline u32 reason(struct task_struct *task, struct query *query)
{
	struct pt_regs *regs;
	if (query->in_lock)
		return LOCK;
	if (BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) || state_of(task) & UNINTERRUPTIBLE)
		return BLOCK_IO;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	switch ((s32)SYSCALL_OF(regs)) {
	case FUTEX: case FUTEX_WAIT: case FUTEX_WAITV: case SEMOP: case SEMTIMEDOP: case FCNTL: case FLOCK:
		return LOCK;
	case READ: case WRITE: case WRITEV: case RECVFROM: case RECVMSG: case SENDTO: case SENDMSG: case POLL: case PPOLL:
	case SELECT: case PSELECT:
		return NETWORK;
	/* PostgreSQL waits for a client without an end; with one it sleeps, or waits for another process (its latch). */
	case EPOLL_WAIT: case EPOLL_PWAIT:
		return (s32)FOURTH_OF(regs) > 0 ? OTHER : NETWORK;
	case EPOLL_PWAIT2:
		return FOURTH_OF(regs) ? OTHER : NETWORK;
	}
	return OTHER;
}

static __always_inline void count_preemption(struct query *query, u64 off)
{
	struct by by = { .server = query->server.place, .pid = query->by_pid };
	struct taken *taken, fresh = {};
	__builtin_memcpy(by.comm, query->by_comm, sizeof(by.comm));
	taken = bpf_map_lookup_elem(&preemptors, &by);
	if (!taken) {
		bpf_map_update_elem(&preemptors, &by, &fresh, BPF_NOEXIST);
		taken = bpf_map_lookup_elem(&preemptors, &by);
		if (!taken) {
			lose(LOST_ROOM);
			return;
		}
	}
	taken->times += 1;
	taken->ns += off;
}

static __always_inline void leave(struct query *query, bool preempted, struct task_struct *prev, struct task_struct *next, u64 now)
{
	query->left = now;
	query->woken = 0;
	if (!preempted && state_of(prev)) {
		query->why = reason(prev, query);
		return;
	}
	query->why = RUN_QUEUE;
	query->preemptions += 1;
	query->by_pid = BPF_CORE_READ(next, tgid);
	/* What follows a shorter name is not part of it. */
	__builtin_memset(query->by_comm, 0, sizeof(query->by_comm));
	BPF_CORE_READ_STR_INTO(&query->by_comm, next, comm);
}

static __always_inline void come_back(struct query *query, u64 now)
{
	u64 off = now - query->left, asleep = off;
	if (query->why == RUN_QUEUE) {
		query->waited[RUN_QUEUE] += off;
		count_preemption(query, off);
	} else {
		u32 why = query->why;
		if (query->woken > query->left && query->woken < now)
			asleep = query->woken - query->left;
		if (why < WAITS)
			query->waited[why] += asleep;
		query->waited[RUN_QUEUE] += off - asleep;
	}
	query->left = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	u64 now = 0;
	struct query *query = bpf_task_storage_get(&open, prev, 0, 0);
	if (query && query->begun) {
		now = bpf_ktime_get_ns();
		leave(query, preempted, prev, next, now);
	}
	query = bpf_task_storage_get(&open, next, 0, 0);
	if (query && query->begun && query->left)
		come_back(query, now ? now : bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(sched_wakeup, struct task_struct *task)
{
	struct query *query = bpf_task_storage_get(&open, task, 0, 0);
	if (query && query->begun && query->left)
		query->woken = bpf_ktime_get_ns();
	return 0;
}
