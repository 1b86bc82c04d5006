/* Locks of the kernel: who waits for which, from where, how long, and who holds it meanwhile (Linux 5.19). */
#include "follow.h"

/* Flags of the tracepoint contention_begin. */
enum {
	LCB_SPIN = 1,
	LCB_READ = 2,
	LCB_WRITE = 4,
	LCB_RT = 8,
	LCB_PERCPU = 16,
	LCB_MUTEX = 32,
};

/* How a lock is known; mod.rs has the same order. */
enum name {
	NAME_NONE,
	/* `lock` is its address. */
	NAME_ADDRESS,
	/* The lock of the waiting process's own mappings. */
	NAME_MMAP,
	/* The lock of its signal handlers. */
	NAME_SIGNALS,
};

/* Return addresses that are kept, from the innermost; mod.rs knows how many. */
#define FRAMES 20
/* Those of observing itself, which come before: this program and what runs it. */
#define SKIPPED 2

/* Where variables of the kernel are: locks there have names. */
const volatile u64 image_begin = 0;
const volatile u64 image_end = 0;
/* Whether all other locks are told apart by their addresses. */
const volatile u32 by_address = 0;

struct key {
	u64 lock;
	u32 tgid;
	u32 flags;
	u32 name;
	/* 0: unknown. */
	u32 holder;
	u64 frames[FRAMES];
};

struct sums {
	u64 waits;
	u64 ns;
	/* Not added up. */
	u64 longest_ns;
	char comm[16];
	char holder_comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct key);
	__type(value, struct sums);
} locks SEC(".maps");
static const struct sums no_sums;

/* A wait that has begun. */
struct wait {
	u64 lock;
	/* 0: it has ended. */
	u64 since;
	char holder_comm[16];
	struct key key;
};

/* Waits that sleep: a thread is in one at a time. The thread may sleep where it begins, so that memory can be had there. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait);
} sleeping SEC(".maps");

/* Waits that spin stay on their CPU. Interrupts come in between, as deep as this. */
#define DEPTH 4
struct spins {
	u32 n;
	struct wait waits[DEPTH];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct spins);
} spinning SEC(".maps");

/* Where the kernel's locks record who holds them. */
typedef struct {
	s64 counter;
} owner_t;
struct mutex___ours {
	owner_t owner;
} KERNEL;
struct rw_semaphore___ours {
	owner_t owner;
} KERNEL;
struct mm_struct___ours {
	struct rw_semaphore___ours mmap_lock;
} KERNEL;
struct spinlock___ours {
	int unused;
};
struct sighand_struct___ours {
	struct spinlock___ours siglock;
} KERNEL;
struct task_struct___ours {
	struct mm_struct___ours *mm;
	struct sighand_struct___ours *sighand;
} KERNEL;

/* The lowest bits of an owner are flags. */
#define OWNER_FLAGS 7
#define READER_OWNED 1

/* The thread that holds a lock; NULL: the lock does not record it. Readers are not known: there may be several. */
static __always_inline struct task_struct *holder_of(u64 lock, u32 flags)
{
	u64 owner = 0;
	if (flags & (LCB_PERCPU | LCB_RT))
		return NULL;
	if (flags & LCB_MUTEX)
		bpf_core_read(&owner, sizeof(owner), &((struct mutex___ours *)lock)->owner);
	else if (!(flags & LCB_SPIN) && flags & (LCB_READ | LCB_WRITE)) {
		bpf_core_read(&owner, sizeof(owner), &((struct rw_semaphore___ours *)lock)->owner);
		if (owner & READER_OWNED)
			return NULL;
	}
	return (struct task_struct *)(owner & ~(u64)OWNER_FLAGS);
}

static __always_inline void name(struct key *key, struct task_struct *task, u64 lock)
{
	struct task_struct___ours *ours = (void *)task;
	struct mm_struct___ours *mm = BPF_CORE_READ(ours, mm);
	struct sighand_struct___ours *sighand = BPF_CORE_READ(ours, sighand);
	key->name = NAME_NONE;
	key->lock = 0;
	if (mm && lock == (u64)&mm->mmap_lock) {
		key->name = NAME_MMAP;
	} else if (sighand && lock == (u64)&sighand->siglock) {
		key->name = NAME_SIGNALS;
	} else if (by_address || (lock >= image_begin && lock < image_end)) {
		key->name = NAME_ADDRESS;
		key->lock = lock;
	}
}

static __always_inline void begin(void *ctx, struct wait *wait, struct task_struct *task, u64 lock, u32 flags)
{
	struct task_struct *holder = holder_of(lock, flags);
	wait->lock = lock;
	wait->key.tgid = task->tgid;
	wait->key.flags = flags & ~LCB_SPIN;
	if (!(flags & LCB_MUTEX))
		wait->key.flags = flags;
	wait->key.holder = 0;
	wait->holder_comm[0] = 0;
	if (holder) {
		wait->key.holder = BPF_CORE_READ(holder, tgid);
		BPF_CORE_READ_STR_INTO(&wait->holder_comm, holder, group_leader, comm);
	}
	name(&wait->key, task, lock);
	__builtin_memset(wait->key.frames, 0, sizeof(wait->key.frames));
	if (bpf_get_stack(ctx, wait->key.frames, sizeof(wait->key.frames), SKIPPED) < 0)
		lose(LOST_STACK);
	wait->since = bpf_ktime_get_ns();
}

static __always_inline struct spins *spins_here(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&spinning, &zero);
}

SEC("tp_btf/contention_begin")
int BPF_PROG(contention_begin, void *lock, u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct spins *spins;
	struct wait *wait;
	u32 n;
	if (!is_wanted(task->tgid))
		return 0;
	/* A mutex is spun for at first, and then slept for, in one wait. */
	if (flags & LCB_MUTEX || !(flags & LCB_SPIN)) {
		wait = bpf_task_storage_get(&sleeping, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!wait)
			lose(LOST_ROOM);
		else if (!wait->since || wait->lock != (u64)lock)
			begin(ctx, wait, task, (u64)lock, flags);
		return 0;
	}
	spins = spins_here();
	if (!spins)
		return 0;
	n = spins->n;
	/* Those whose end was not seen. */
	if (n >= DEPTH)
		n = 0;
	begin(ctx, &spins->waits[n], task, (u64)lock, flags);
	spins->n = n + 1;
	return 0;
}

static __always_inline void longest(struct sums *sums, u64 ns)
{
	u64 seen = sums->longest_ns;
	for (int tries = 0; tries < 4 && ns > seen; tries++) {
		u64 found = __sync_val_compare_and_swap(&sums->longest_ns, seen, ns);
		if (found == seen)
			return;
		seen = found;
	}
}

static __always_inline void end(struct wait *wait, struct task_struct *task)
{
	u64 ns = bpf_ktime_get_ns() - wait->since;
	struct sums *sums = bpf_map_lookup_elem(&locks, &wait->key);
	wait->since = 0;
	if (!sums) {
		bpf_map_update_elem(&locks, &wait->key, &no_sums, BPF_NOEXIST);
		sums = bpf_map_lookup_elem(&locks, &wait->key);
		if (!sums) {
			lose(LOST_ROOM);
			return;
		}
		BPF_CORE_READ_STR_INTO(&sums->comm, task, group_leader, comm);
		__builtin_memcpy(sums->holder_comm, wait->holder_comm, sizeof(sums->holder_comm));
	}
	__sync_fetch_and_add(&sums->waits, 1);
	__sync_fetch_and_add(&sums->ns, ns);
	longest(sums, ns);
}

SEC("tp_btf/contention_end")
int BPF_PROG(contention_end, void *lock, int ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct spins *spins;
	struct wait *wait;
	if (!is_wanted(task->tgid))
		return 0;
	spins = spins_here();
	if (!spins)
		return 0;
#pragma unroll
	for (u32 below = 1; below <= DEPTH; below++) {
		u32 place = spins->n - below;
		if (place >= DEPTH)
			break;
		wait = &spins->waits[place];
		if (wait->lock == (u64)lock && wait->since) {
			end(wait, task);
			spins->n = place;
			return 0;
		}
	}
	wait = bpf_task_storage_get(&sleeping, task, 0, 0);
	if (wait && wait->since && wait->lock == (u64)lock)
		end(wait, task);
	return 0;
}
