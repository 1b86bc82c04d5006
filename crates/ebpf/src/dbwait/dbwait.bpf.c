/*
 * What the processes of a PostgreSQL server wait for, how often and how long: at each switch of the scheduler the number of the
 * event is read that the process has in its memory. Time off a CPU is the event's until the process is woken, then the run
 * queue's; the rest is time on a CPU.
 */
#include "unwind.h"

/* Powers of two of nanoseconds that are told apart; mod.rs knows how many. */
#define POWERS 40
/* Of the kernel's interface. */
#define SIGURG 23
/* Where PgBackendStatus has its fields, in 14 to 18; `layout.rs` of the crate `db` has them, too. */
#define STATUS_KIND 8
#define STATUS_STATE 232
#define STATUS_QUERY_ID 424
/* The event of a process whose memory could not be read. */
#define UNREAD 0xffffffff

/* What time is spent in. */
enum what { ON_CPU, RUN_QUEUE, OFF_CPU };

struct key {
	u32 server;
	u32 what;
	/* The event; 0: none. */
	u32 word;
	/* Numbers of the kind of process and of its state. */
	u32 kind;
	u32 state;
	/* For stacks only: their functions are looked up in it. */
	u32 pid;
	/* Of the stacks where it left the CPU; 0: not asked for. */
	u64 stack;
	u64 user_stack;
	u64 query_id;
};

struct sums {
	u64 waits;
	u64 ns;
	/* Lengths of those that have ended: part of it may be time of earlier intervals. */
	u64 ended_ns;
	u64 powers[POWERS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct key);
	__type(value, struct sums);
} waited SEC(".maps");

/* Where a server's processes have what; the user part sets it. */
struct server {
	/* Pointers: to the event's number, to the status, to what the process is listed as. */
	u64 own_wait;
	u64 own_status;
	u64 own_proc;
	/* Where in the last one the process is that leads a parallel query, and the kind of those that have one. */
	u32 leader;
	u32 worker;
	u32 place;
	u32 none;
};

/* Added to the kind of a process that works for a client. */
#define HAS_LEADER 0x100

/* Processes of servers; the user part puts those there that it finds. */
struct backend {
	struct server server;
	/* What it does now: since when, and under which key. */
	u64 since;
	struct key key;
	/* The wait of which it was woken last, not counted yet, and its time so far. */
	u64 before;
	struct key waiting;
	u32 has_before;
	/* It got a signal since that ends no wait: the wait may go on. */
	u32 interrupted;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct backend);
} backends SEC(".maps");

/* Whether stacks are kept. */
const volatile u32 with_stacks = 0;

STACK_MAP(stacks);

static __always_inline struct backend *backend_of(u32 pid)
{
	return bpf_map_lookup_elem(&backends, &pid);
}

/* What a key begins with; a stack has no room for it. */
static const struct sums fresh_sums;

static __always_inline struct sums *sums_of(struct key *key)
{
	struct sums *sums = bpf_map_lookup_elem(&waited, key);
	if (sums)
		return sums;
	bpf_map_update_elem(&waited, key, &fresh_sums, BPF_NOEXIST);
	sums = bpf_map_lookup_elem(&waited, key);
	if (!sums)
		lose(LOST_ROOM);
	return sums;
}

/* Adds time; `whole` is the length of what has ended by it, 0: nothing has. */
static __always_inline void add(struct key *key, u64 ns, u64 whole)
{
	struct sums *sums;
	u32 power = log2_of(whole);
	sums = sums_of(key);
	if (!sums)
		return;
	__sync_fetch_and_add(&sums->ns, ns);
	if (!whole)
		return;
	__sync_fetch_and_add(&sums->waits, 1);
	__sync_fetch_and_add(&sums->ended_ns, whole);
	if (power >= POWERS)
		power = POWERS - 1;
	__sync_fetch_and_add(&sums->powers[power], 1);
}

/* Reads what the current process, which is this one, is doing. */
static __always_inline void read_own(struct backend *b)
{
	u64 at = 0, leader = 0;
	u32 word = UNREAD, kind = 0;
	if (bpf_probe_read_user(&at, sizeof(at), (void *)b->server.own_wait) ||
	    bpf_probe_read_user(&word, sizeof(word), (void *)at))
		word = UNREAD;
	b->key.word = word;
	if (bpf_probe_read_user(&at, sizeof(at), (void *)b->server.own_status) || !at) {
		b->key.state = 0;
		b->key.query_id = 0;
		return;
	}
	/* Read each time: while a session begins, that of who had its place before stands there. */
	if (!bpf_probe_read_user(&kind, sizeof(kind), (void *)at + STATUS_KIND) && kind != (b->key.kind & ~HAS_LEADER))
		b->key.kind = kind;
	bpf_probe_read_user(&b->key.state, sizeof(u32), (void *)at + STATUS_STATE);
	bpf_probe_read_user(&b->key.query_id, sizeof(u64), (void *)at + STATUS_QUERY_ID);
	if (b->key.kind != b->server.worker)
		return;
	if (!bpf_probe_read_user(&at, sizeof(at), (void *)b->server.own_proc) &&
	    !bpf_probe_read_user(&leader, sizeof(leader), (void *)at + b->server.leader) && leader && leader != at)
		b->key.kind |= HAS_LEADER;
}

/* The time on a CPU until now. */
static __always_inline void leave_cpu(struct backend *b, u64 now)
{
	struct key key = b->key;
	u64 ns = now - b->since;
	key.what = ON_CPU;
	key.word = 0;
	if (b->since && ns)
		add(&key, ns, ns);
	b->since = now;
}

/* The last wait is over. */
static __always_inline void flush(struct backend *b)
{
	if (b->has_before)
		add(&b->waiting, 0, b->before ? b->before : 1);
	b->before = b->has_before = 0;
}

static __always_inline void leave(void *ctx, struct backend *b, struct task_struct *task, bool preempted, u64 now)
{
	read_own(b);
	b->key.stack = b->key.user_stack = b->key.pid = 0;
	leave_cpu(b, now);
	if (preempted || state_of(task) == 0) {
		b->key.what = RUN_QUEUE;
		if (!b->interrupted)
			flush(b);
		return;
	}
	b->key.what = OFF_CPU;
	if (with_stacks) {
		meet(task->tgid);
		b->key.stack = keep_stack(ctx, &stacks, WALKER_TRACED, 0);
		b->key.user_stack = keep_stack(ctx, &stacks, WALKER_TRACED, BPF_F_USER_STACK);
		b->key.pid = task->tgid;
	}
	/* What was interrupted goes on. */
	if (!b->interrupted || b->waiting.word != b->key.word || b->waiting.query_id != b->key.query_id)
		flush(b);
	b->interrupted = 0;
}

/* It can run. */
static __always_inline void end_wait(struct backend *b, u64 now)
{
	u64 ns = now - b->since;
	if (b->key.what != OFF_CPU || !b->since)
		return;
	/* Whether it goes on is known when the process sleeps again: a signal is told of after the waking. */
	b->before += ns;
	b->has_before = 1;
	b->waiting = b->key;
	add(&b->key, ns, 0);
	b->key.what = RUN_QUEUE;
	b->since = now;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	struct backend *b = backend_of(prev->pid);
	u64 now = bpf_ktime_get_ns(), ns;
	if (b)
		leave(ctx, b, prev, preempted, now);
	b = backend_of(next->pid);
	if (!b)
		return 0;
	end_wait(b, now);
	if (b->key.what == RUN_QUEUE && b->since) {
		struct key key = b->key;
		key.word = 0;
		key.stack = key.user_stack = key.pid = 0;
		ns = now - b->since;
		if (ns)
			add(&key, ns, ns);
	}
	b->key.what = ON_CPU;
	b->since = now;
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *task)
{
	struct backend *b = backend_of(task->pid);
	if (b)
		end_wait(b, bpf_ktime_get_ns());
	return 0;
}

/* Alarms and the like wake a process that goes on to wait: PostgreSQL looks for deadlocks that way. SIGURG says that what was waited
 * for has come. */
SEC("tp_btf/signal_generate")
int BPF_PROG(signalled, int sig, void *info, struct task_struct *task)
{
	struct backend *b;
	if (sig == SIGURG)
		return 0;
	b = backend_of(task->pid);
	if (b && b->key.what != ON_CPU)
		b->interrupted = 1;
	return 0;
}

/* A child of a server's process is one, too, until it begins another program. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct backend *from = backend_of(parent->tgid), fresh = {};
	u32 pid = child->pid;
	if (!from || parent->tgid == child->tgid)
		return 0;
	fresh.server = from->server;
	fresh.key.server = from->server.place;
	fresh.key.what = RUN_QUEUE;
	fresh.since = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&backends, &pid, &fresh, BPF_ANY))
		lose(LOST_ROOM);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(other_program, struct task_struct *task)
{
	u32 pid = task->pid;
	bpf_map_delete_elem(&backends, &pid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ended, struct task_struct *task)
{
	struct backend *b = backend_of(task->pid);
	u32 pid = task->pid;
	if (!b)
		return 0;
	flush(b);
	b->key.what = ON_CPU;
	leave_cpu(b, bpf_ktime_get_ns());
	bpf_map_delete_elem(&backends, &pid);
	return 0;
}

/* Run on each CPU at each reading: time on a CPU that goes on counts so far. */
SEC("raw_tp/sched_switch")
int count_open(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct backend *b = backend_of(task->pid);
	if (!b || b->key.what != ON_CPU)
		return 0;
	read_own(b);
	leave_cpu(b, bpf_ktime_get_ns());
	if (!b->interrupted)
		flush(b);
	return 0;
}
