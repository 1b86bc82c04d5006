/* Stacks: what runs on the CPUs, sampled by a clock; what waits off them, and how long. */
#include "follow.h"
/* Frames of Python of a stack. */
#define PYTHON_DEPTH 128
#include "unwind.h"

/* Waits shorter than this are not taken (their stacks cost more than they show). */
const volatile u64 least_wait_ns = 1000;

/* Of the kernel's interface. */
#define PF_KTHREAD 0x00200000

struct place {
	u32 tgid;
	u32 none;
	/* Keys of stacks; 0: there is none. */
	u64 kernel;
	u64 user;
	char comm[16];
};

struct sum {
	u64 samples;
	u64 ns;
};

/* Two sides: programs write to one while the other is read and emptied. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} side SEC(".maps");

STACK_MAP(stacks_0);
STACK_MAP(stacks_1);

#define PLACE_MAP(name) struct { \
	__uint(type, BPF_MAP_TYPE_HASH); \
	__uint(max_entries, 16384); \
	__type(key, struct place); \
	__type(value, struct sum); \
} name SEC(".maps")
PLACE_MAP(places_0);
PLACE_MAP(places_1);

/* Samples of idle CPUs, which have no stack worth showing. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} idle SEC(".maps");

/* A thread that left the CPU: when, and its stack. */
struct wait {
	u64 since;
	struct place place;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait);
} waits SEC(".maps");

/* Stacks of waits are never taken out: a thread may wait for hours, and its stack is named by its key here. */
STACK_MAP(wait_stacks);
PLACE_MAP(wait_places);

static __always_inline u32 writing_side(void)
{
	u32 zero = 0, *which = bpf_map_lookup_elem(&side, &zero);
	return which ? *which & 1 : 0;
}

static __always_inline void walk(void *context, struct place *place, void *stacks, u32 walker, bool has_user)
{
	place->kernel = keep_stack(context, stacks, walker, 0);
	place->user = has_user ? keep_stack(context, stacks, walker, BPF_F_USER_STACK) : 0;
}

static __always_inline void add_to(void *map, struct place *place, u64 ns)
{
	struct sum *sum = bpf_map_lookup_elem(map, place);
	if (!sum) {
		struct sum none = {};
		bpf_map_update_elem(map, place, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(map, place);
		if (!sum) {
			lose(LOST_ROOM);
			return;
		}
	}
	__sync_fetch_and_add(&sum->samples, 1);
	__sync_fetch_and_add(&sum->ns, ns);
}

SEC("perf_event")
int on_cpu(struct bpf_perf_event_data *context)
{
	u64 both = bpf_get_current_pid_tgid();
	u32 zero = 0;
	struct place place = {};
	bool has_user = !(bpf_get_current_task_btf()->flags & PF_KTHREAD);

	if (!both) {
		u64 *count = bpf_map_lookup_elem(&idle, &zero);
		if (count)
			*count += 1;
		return 0;
	}
	place.tgid = both >> 32;
	if (!is_wanted(place.tgid))
		return 0;
	if (has_user)
		meet(place.tgid);
	bpf_get_current_comm(&place.comm, sizeof(place.comm));
	if (writing_side()) {
		walk(context, &place, &stacks_1, WALKER_TIMED, has_user);
		add_to(&places_1, &place, 0);
	} else {
		walk(context, &place, &stacks_0, WALKER_TIMED, has_user);
		add_to(&places_0, &place, 0);
	}
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(off_cpu, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	struct wait *wait;
	u64 now = bpf_ktime_get_ns();

	wait = bpf_task_storage_get(&waits, next, 0, 0);
	if (wait && wait->since) {
		u64 waited = now - wait->since;
		wait->since = 0;
		if (waited >= least_wait_ns)
			add_to(&wait_places, &wait->place, waited);
	}
	if (!prev->pid || !is_wanted(prev->tgid))
		return 0;
	wait = bpf_task_storage_get(&waits, prev, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!wait) {
		lose(LOST_ROOM);
		return 0;
	}
	if (!(prev->flags & PF_KTHREAD))
		meet(prev->tgid);
	wait->place.tgid = prev->tgid;
	/* What follows a shorter name is not part of it. */
	__builtin_memset(wait->place.comm, 0, sizeof(wait->place.comm));
	BPF_CORE_READ_STR_INTO(&wait->place.comm, prev, comm);
	/* Here the current stack is still that of the thread that leaves. */
	walk(ctx, &wait->place, &wait_stacks, WALKER_TRACED, !(prev->flags & PF_KTHREAD));
	wait->since = now;
	return 0;
}
