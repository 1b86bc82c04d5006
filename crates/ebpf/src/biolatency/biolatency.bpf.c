/* Requests to block devices: how long each was in the kernel's queue, how long at the device; by device and operation. */
#include "common.h"

struct gendisk {
	int major;
	int first_minor;
	char disk_name[32];
} KERNEL;

struct request_queue {
	struct gendisk *disk;
} KERNEL;

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
} KERNEL;

/* Before Linux 5.17. */
struct request___old {
	struct gendisk *rq_disk;
} KERNEL;

/* Whether the queue is still the first argument of the tracepoints (before Linux 5.11). */
const volatile u32 queue_comes_first = 0;

enum state {
	STATE_QUEUED,
	STATE_AT_DEVICE,
};

/* A request that has not ended. */
struct request_state {
	/* Since when it is where it is. */
	u64 since;
	/* Before that: time in the queue, and at the device from which it came back. */
	u64 queue_ns;
	u64 device_ns;
	u32 state;
	u32 was_queued;
};

/* By the address of the request. Requests are used again, so that there are never more than the devices have. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, u64);
	__type(value, struct request_state);
} requests SEC(".maps");

struct key {
	/* Of the disk: major and minor number. */
	u32 major;
	u32 minor;
	u32 op;
};

struct sums {
	u64 requests;
	/* Those that were in a queue. */
	u64 queued;
	u64 queue_ns;
	u64 device_ns;
	u64 queue[BUCKETS];
	u64 device[BUCKETS];
	char name[32];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct key);
	__type(value, struct sums);
} ended SEC(".maps");
static const struct sums nothing;

/* The low bits of a request's flags are the operation. */
#define OP_BITS 8

#define REQUEST(context) ((u64)(queue_comes_first ? second(context) : (context)[0]))

/* Apart, so that the compiler does not make one read at a place that is computed, which is refused. */
static __noinline u64 second(u64 *context)
{
	return context[1];
}

static __always_inline void begin(u64 request, u32 state)
{
	struct request_state begun = { .since = bpf_ktime_get_ns(), .state = state, .was_queued = state == STATE_QUEUED };
	if (bpf_map_update_elem(&requests, &request, &begun, BPF_ANY))
		lose(LOST_ROOM);
}

static __always_inline void move_on(struct request_state *at, u32 state)
{
	u64 now = bpf_ktime_get_ns();
	if (at->state == STATE_QUEUED)
		at->queue_ns += now - at->since;
	else
		at->device_ns += now - at->since;
	at->state = state;
	at->since = now;
	if (state == STATE_QUEUED)
		at->was_queued = 1;
}

SEC("tp_btf/block_rq_insert")
int inserted(u64 *context)
{
	u64 request = REQUEST(context);
	struct request_state *at = bpf_map_lookup_elem(&requests, &request);
	/* One that was put back is in the queue already; one that is still at the device ended unseen, and this is another. */
	if (!at || at->state == STATE_AT_DEVICE)
		begin(request, STATE_QUEUED);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int issued(u64 *context)
{
	u64 request = REQUEST(context);
	struct request_state *at = bpf_map_lookup_elem(&requests, &request);
	if (at && at->state == STATE_QUEUED)
		move_on(at, STATE_AT_DEVICE);
	else
		begin(request, STATE_AT_DEVICE);
	return 0;
}

/* The device did not take it, or gave it back. */
SEC("tp_btf/block_rq_requeue")
int requeued(u64 *context)
{
	u64 request = REQUEST(context);
	struct request_state *at = bpf_map_lookup_elem(&requests, &request);
	if (at && at->state == STATE_AT_DEVICE)
		move_on(at, STATE_QUEUED);
	return 0;
}

/* It became part of another one, which goes on. */
SEC("tp_btf/block_rq_merge")
int merged(u64 *context)
{
	u64 request = REQUEST(context);
	bpf_map_delete_elem(&requests, &request);
	return 0;
}

static __always_inline struct gendisk *disk_of(struct request *request)
{
	struct request___old *old = (void *)request;
	if (bpf_core_field_exists(old->rq_disk))
		return BPF_CORE_READ(old, rq_disk);
	return BPF_CORE_READ(request, q, disk);
}

static __always_inline struct sums *sums_of(struct request *request)
{
	struct gendisk *disk = disk_of(request);
	struct key key = { .op = BPF_CORE_READ(request, cmd_flags) & ((1 << OP_BITS) - 1) };
	struct sums *sums;
	if (disk) {
		key.major = BPF_CORE_READ(disk, major);
		key.minor = BPF_CORE_READ(disk, first_minor);
	}
	sums = bpf_map_lookup_elem(&ended, &key);
	if (!sums) {
		bpf_map_update_elem(&ended, &key, &nothing, BPF_NOEXIST);
		sums = bpf_map_lookup_elem(&ended, &key);
		if (!sums) {
			lose(LOST_ROOM);
			return NULL;
		}
	}
	if (!sums->name[0] && disk)
		BPF_CORE_READ_STR_INTO(&sums->name, disk, disk_name);
	return sums;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(completed, struct request *request, int error, unsigned int bytes)
{
	u64 at_address = (u64)request;
	struct request_state *at = bpf_map_lookup_elem(&requests, &at_address);
	struct sums *sums;
	u32 bucket;
	/* A part of it: the rest is still at the device. */
	if (!at || bytes < BPF_CORE_READ(request, __data_len))
		return 0;
	/* One that ends in the queue never came to the device. */
	if (at->state == STATE_AT_DEVICE) {
		move_on(at, STATE_AT_DEVICE);
		sums = sums_of(request);
		if (sums) {
			__sync_fetch_and_add(&sums->requests, 1);
			__sync_fetch_and_add(&sums->device_ns, at->device_ns);
			bucket = bucket_of(at->device_ns);
			if (bucket < BUCKETS)
				__sync_fetch_and_add(&sums->device[bucket], 1);
			bucket = bucket_of(at->queue_ns);
			if (at->was_queued && bucket < BUCKETS) {
				__sync_fetch_and_add(&sums->queued, 1);
				__sync_fetch_and_add(&sums->queue_ns, at->queue_ns);
				__sync_fetch_and_add(&sums->queue[bucket], 1);
			}
		}
	}
	bpf_map_delete_elem(&requests, &at_address);
	return 0;
}
