/* How files are read and written: what is counted, by what, and how one operation is added. */
#pragma once
#include "follow.h"
#include "files.h"

/* As in crates/ebpf/src/iopattern/rows.rs. */
enum op {
	OP_READ,
	OP_WRITE,
	OP_LOOKUP,
	OP_CREATE,
	OP_REMOVE,
	OP_ATTR,
	OP_READDIR,
	OP_SYNC,
};

enum pattern {
	PATTERN_SEQUENTIAL,
	PATTERN_RANDOM,
	PATTERN_PAGE,
	PATTERN_DIRECT_SEQUENTIAL,
	PATTERN_DIRECT_RANDOM,
	PATTERN_NONE,
};

/* What one process did with one file in one way. Operations on names have no file: inode 0. */
struct cell_key {
	u64 inode;
	u32 device;
	u32 tgid;
	u32 op;
	u32 pattern;
};

struct cell {
	u64 ops;
	u64 bytes;
	/* Of those whose end was seen: how many, how long. */
	u64 timed;
	u64 ns;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, struct cell_key);
	__type(value, struct cell);
} cells SEC(".maps");

/* Where `cells` has no room: without file and process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct cell_key);
	__type(value, struct cell);
} rest SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct file_id);
	__type(value, struct file_path);
} paths SEC(".maps");

struct spread_key {
	u32 device;
	u32 op;
	u32 pattern;
};

/* Sizes and times of a file system's operations. */
struct spread {
	u64 size[BUCKETS];
	u64 time[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct spread_key);
	__type(value, struct spread);
} spreads SEC(".maps");
static const struct spread no_spread;

/* Where the last read and the last write of a file by a process ended. */
struct end_key {
	u64 inode;
	u32 device;
	u32 tgid;
};
struct end {
	s64 at[2];
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct end_key);
	__type(value, struct end);
} ends SEC(".maps");

/* An operation. */
struct done {
	struct cell_key key;
	u64 bytes;
	u64 ns;
	/* Whether its end was seen, so that `ns` is known. */
	u32 timed;
	u32 counted;
	/* Set when it is the first one of its cell: its file may not be named yet. */
	u32 first;
	u32 unused;
};

/* The pattern of a read or write (`op`) of `bytes` at `at`, the next of its file and process. */
static __noinline u32 pattern_of(struct cell_key *key, s64 at, u64 bytes, u32 direct)
{
	struct end_key of = {};
	struct end *end, fresh = {};
	u32 write;
	bool sequential;
	if (!key)
		return PATTERN_NONE;
	of.inode = key->inode;
	of.device = key->device;
	of.tgid = key->tgid;
	write = key->op == OP_WRITE;
	end = bpf_map_lookup_elem(&ends, &of);
	if (end) {
		sequential = end->at[write] == at;
		end->at[write] = at + bytes;
	} else {
		/* The first one: who reads from the begin will read on. */
		sequential = at == 0;
		fresh.at[write] = at + bytes;
		bpf_map_update_elem(&ends, &of, &fresh, BPF_ANY);
	}
	if (direct)
		return sequential ? PATTERN_DIRECT_SEQUENTIAL : PATTERN_DIRECT_RANDOM;
	return sequential ? PATTERN_SEQUENTIAL : PATTERN_RANDOM;
}

static __always_inline struct cell *fresh_cell(void *map, struct cell_key *key)
{
	struct cell fresh = {};
	/* The process's name, which its threads do not share. */
	if (key->tgid)
		BPF_CORE_READ_STR_INTO(&fresh.comm, bpf_get_current_task_btf(), group_leader, comm);
	bpf_map_update_elem(map, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

static __always_inline struct cell *cell_of(struct done *done)
{
	struct cell_key *key = &done->key, all = {};
	struct cell *cell = bpf_map_lookup_elem(&cells, key);
	if (cell)
		return cell;
	done->first = 1;
	cell = fresh_cell(&cells, key);
	if (cell)
		return cell;
	all.device = key->device;
	all.op = key->op;
	all.pattern = key->pattern;
	cell = bpf_map_lookup_elem(&rest, &all);
	return cell ? cell : fresh_cell(&rest, &all);
}

static __always_inline void spread_out(struct done *done)
{
	struct spread_key key = { .device = done->key.device, .op = done->key.op, .pattern = done->key.pattern };
	struct spread *spread = bpf_map_lookup_elem(&spreads, &key);
	u32 bucket;
	if (!spread) {
		bpf_map_update_elem(&spreads, &key, &no_spread, BPF_NOEXIST);
		spread = bpf_map_lookup_elem(&spreads, &key);
		if (!spread) {
			lose(LOST_ROOM);
			return;
		}
	}
	bucket = bucket_of(done->bytes);
	if (done->counted && bucket < BUCKETS)
		__sync_fetch_and_add(&spread->size[bucket], 1);
	bucket = bucket_of(done->ns);
	if (done->timed && bucket < BUCKETS)
		__sync_fetch_and_add(&spread->time[bucket], 1);
}

/* Adds an operation: its count and bytes if `counted`, its time if `timed`. */
static __noinline int add(struct done *done)
{
	struct cell *cell;
	if (!done)
		return 0;
	cell = cell_of(done);
	if (!cell) {
		lose(LOST_ROOM);
		return 0;
	}
	if (done->counted) {
		__sync_fetch_and_add(&cell->ops, 1);
		__sync_fetch_and_add(&cell->bytes, done->bytes);
	}
	if (done->timed) {
		__sync_fetch_and_add(&cell->timed, 1);
		__sync_fetch_and_add(&cell->ns, done->ns);
	}
	if (done->key.op <= OP_WRITE && done->key.pattern != PATTERN_PAGE)
		spread_out(done);
	return 0;
}

/* Remembers what a file is called, the first time that it is met. */
static __noinline int name(struct file *file, struct file_id *id)
{
	static const struct file_path unnamed;
	struct file_path *path;
	if (!id)
		return 0;
	path = bpf_map_lookup_elem(&paths, id);
	if (path)
		return 0;
	bpf_map_update_elem(&paths, id, &unnamed, BPF_NOEXIST);
	path = bpf_map_lookup_elem(&paths, id);
	if (path)
		read_path(file, path);
	return 0;
}
