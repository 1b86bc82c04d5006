/* Locks of user programs: waits for them (futex), and on request every one taken and how long it was held (uprobes). */
#include "follow.h"
#include "callers.h"
#include "unwind.h"

/* What a wait was for, by its arguments; crates/ebpf/src/plockstat/kinds.rs has the same order. */
enum kind {
	/* The word means `locked, others wait`, as locks of glibc (by FUTEX_WAIT) and of Rust have it. */
	KIND_LOCK,
	/* Locks that lend their priority. */
	KIND_PI,
	/* Whatever else: conditions, semaphores, read-write locks, other runtimes' locks. Known by callers. */
	KIND_OTHER,
	/* Another thread's end. */
	KIND_JOIN,
	/* Holds. */
	KIND_MUTEX_HELD,
	KIND_READ_HELD,
	KIND_WRITE_HELD,
};

#define POWERS 40
struct key {
	u64 lock;
	u32 tgid;
	u32 kind;
	/* Where the thread was, then its callers. */
	u64 callers[CALLERS + 1];
};

struct sums {
	u64 events;
	u64 ns;
	/* By power of two of nanoseconds. */
	u64 powers[POWERS];
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct key);
	__type(value, struct sums);
} locks SEC(".maps");
static const struct sums no_sums;

struct wait {
	u64 begun;
	u64 lock;
	/* Time that this thread waited for what is no lock, all in all: who waits for a condition holds nothing. */
	u64 elsewhere;
	u32 kind;
	u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait);
} waits SEC(".maps");

static __always_inline struct wait *wait_now(bool create)
{
	return bpf_task_storage_get(&waits, bpf_get_current_task_btf(), 0, create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

static __always_inline void add(struct key *key, u64 ns)
{
	struct sums *sums = bpf_map_lookup_elem(&locks, key);
	u32 power = log2_of(ns);
	if (!sums) {
		meet(key->tgid);
		bpf_map_update_elem(&locks, key, &no_sums, BPF_NOEXIST);
		sums = bpf_map_lookup_elem(&locks, key);
		if (!sums) {
			lose(LOST_ROOM);
			return;
		}
		BPF_CORE_READ_STR_INTO(&sums->comm, bpf_get_current_task_btf(), group_leader, comm);
	}
	__sync_fetch_and_add(&sums->events, 1);
	__sync_fetch_and_add(&sums->ns, ns);
	if (power >= POWERS)
		power = POWERS - 1;
	__sync_fetch_and_add(&sums->powers[power], 1);
}

/* Commands of futex(2), and the flags in its second argument. */
enum {
	FUTEX_WAIT = 0,
	FUTEX_LOCK_PI = 6,
	FUTEX_WAIT_BITSET = 9,
	FUTEX_WAIT_REQUEUE_PI = 11,
	FUTEX_LOCK_PI2 = 13,
	FUTEX_PRIVATE = 128,
	FUTEX_COMMAND = 127,
};
/* What a lock's word is while others wait for it. */
#define LOCKED_WITH_WAITERS 2

SEC("tracepoint/syscalls/sys_enter_futex")
int enter_futex(struct trace_event_raw_sys_enter *ctx)
{
	u32 operation = ctx->args[1], value = ctx->args[2], command = operation & FUTEX_COMMAND, kind;
	struct wait *wait;
	switch (command) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		kind = KIND_OTHER;
		if (value == LOCKED_WITH_WAITERS)
			kind = KIND_LOCK;
		/* glibc: the other thread's number, in a word that the kernel will clear, and that is not private therefore. */
		else if (!(operation & FUTEX_PRIVATE) && value > LOCKED_WITH_WAITERS)
			kind = KIND_JOIN;
		break;
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		kind = KIND_PI;
		break;
	case FUTEX_WAIT_REQUEUE_PI:
		kind = KIND_OTHER;
		break;
	default:
		return 0;
	}
	if (!is_wanted(bpf_get_current_pid_tgid() >> 32))
		return 0;
	wait = wait_now(true);
	if (!wait) {
		lose(LOST_ROOM);
		return 0;
	}
	/* At its thread's first wait: it may have ended right after the last one. */
	if (!wait->lock)
		meet(bpf_get_current_pid_tgid() >> 32);
	wait->lock = ctx->args[0];
	wait->kind = kind;
	wait->begun = bpf_ktime_get_ns();
	return 0;
}

/* A lock that a thread has taken, or tries to take. */
struct held_key {
	u64 lock;
	u32 pid;
	u32 unused;
};
struct held {
	u64 since;
	/* The thread's time in other waits until then. */
	u64 elsewhere;
	u64 caller;
	u32 kind;
	u32 depth;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct held_key);
	__type(value, struct held);
} held SEC(".maps");

/* Where the thread is, and its callers, by unwinding; false: that cannot be done. */
static __always_inline bool unwound(u64 *into)
{
	u32 i, walker = WALKER_TRACED;
	struct walk *w = bpf_map_lookup_elem(&walks, &walker);
	if (!w || !walk_user(w, bpf_get_current_task_btf()))
		return false;
	for (i = 0; i <= CALLERS; i++)
		into[i] = i < w->n ? w->stack.addresses[i] : 0;
	return true;
}

SEC("tracepoint/syscalls/sys_exit_futex")
int exit_futex(struct trace_event_raw_sys_exit *ctx)
{
	u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), elapsed;
	struct wait *wait = wait_now(false);
	struct held_key taken = {};
	struct pt_regs *regs;
	struct held *mine;
	struct key key = {};
	if (!wait || !wait->begun)
		return 0;
	elapsed = now - wait->begun;
	wait->begun = 0;
	key.lock = wait->lock;
	key.tgid = id >> 32;
	key.kind = wait->kind;
	if (key.kind == KIND_OTHER || key.kind == KIND_JOIN)
		wait->elsewhere += elapsed;
	/* It is not held while it is waited for. */
	taken.lock = wait->lock;
	taken.pid = id;
	mine = bpf_map_lookup_elem(&held, &taken);
	if (mine)
		mine->since = now;
	if (!with_tables || !unwound(key.callers)) {
		regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
		key.callers[0] = BPF_CORE_READ(regs, ip);
		callers(BPF_CORE_READ(regs, sp), key.callers + 1);
	}
	add(&key, elapsed);
	return 0;
}

/* A lock's function is entered; the cookie is the kind. The user part chose an instruction before which neither the first
   argument nor the stack pointer changed. */
SEC("uprobe")
int lock_entered(struct pt_regs *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	struct held_key key = { .lock = BPF_CORE_READ(ctx, di), .pid = id };
	struct held fresh = {}, *mine;
	struct wait *wait;
	if (!is_wanted(id >> 32))
		return 0;
	mine = bpf_map_lookup_elem(&held, &key);
	if (mine) {
		/* Taken again by who has it (recursive). */
		mine->depth += 1;
		return 0;
	}
	wait = wait_now(false);
	fresh.elsewhere = wait ? wait->elsewhere : 0;
	fresh.kind = bpf_get_attach_cookie(ctx);
	bpf_probe_read_user(&fresh.caller, sizeof(fresh.caller), (void *)BPF_CORE_READ(ctx, sp));
	fresh.since = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&held, &key, &fresh, BPF_ANY))
		lose(LOST_ROOM);
	return 0;
}

SEC("uprobe")
int unlock_entered(struct pt_regs *ctx)
{
	u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), elsewhere = 0, elapsed;
	struct held_key taken = { .lock = BPF_CORE_READ(ctx, di), .pid = id };
	struct held *mine = bpf_map_lookup_elem(&held, &taken);
	struct key key = {};
	struct wait *wait;
	if (!mine)
		return 0;
	if (mine->depth) {
		mine->depth -= 1;
		return 0;
	}
	wait = wait_now(false);
	if (wait)
		elsewhere = wait->elsewhere - mine->elsewhere;
	elapsed = now - mine->since;
	key.lock = taken.lock;
	key.tgid = id >> 32;
	key.kind = mine->kind;
	key.callers[0] = mine->caller;
	bpf_map_delete_elem(&held, &taken);
	add(&key, elapsed > elsewhere ? elapsed - elsewhere : 0);
	return 0;
}
