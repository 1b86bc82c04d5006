/* What querystat keeps: servers, the query of each thread, sums by the form of the statement. */
#pragma once
#include "common.h"

/* What a thread waits for. The order is that of the columns of the table `query`. */
enum wait { RUN_QUEUE, BLOCK_IO, LOCK, NETWORK, OTHER, WAITS };

/* Bytes of a statement that are looked at. */
#define TEXT 512
#define IN_TEXT(at) ((at) & (TEXT - 1))

enum cache { CACHE_UNKNOWN, CACHE_MISS, CACHE_HIT };

/* A server, known by the number of its process. */
struct server {
	u32 place;
	/* Whether "..." is a name, as the standard has it, and no string. */
	u32 quoted_names;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct server);
} servers SEC(".maps");

/* The query that a thread executes. */
struct query {
	/* When the request was read; 0: none is open. */
	u64 begun;
	/* When its thread last left the CPU; 0: it is on one. */
	u64 left;
	/* When it was woken; 0: it has not been since it left. */
	u64 woken;
	u64 waited[WAITS];
	u32 why;
	u32 preemptions;
	/* Who runs instead. */
	u32 by_pid;
	char by_comm[16];
	struct server server;
	u32 length;
	u32 cache;
	/* Whether it waits for a lock of the server's own making. */
	u32 in_lock;
	/* PostgreSQL: it was executed, not only prepared. */
	u32 executed;
	/* MariaDB: the text is to be kept, as its statement will be executed by a number. */
	u32 preparing;
	u64 session;
	char text[TEXT];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct query);
} open SEC(".maps");

struct key {
	u64 form;
	u32 server;
	u32 preempted;
};

struct sums {
	u64 queries;
	u64 elapsed_ns;
	u64 waited_ns[WAITS];
	/* The longest, by the parity of `turn`, so that that of an interval that has ended can be read. */
	u64 longest_ns[2];
	u64 of_turn[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 8192);
	__type(key, struct key);
	__type(value, struct sums);
} queries SEC(".maps");

/* Counts intervals from 1; the user part counts on before it reads. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} turn SEC(".maps");

struct form {
	u32 length;
	/* Of the text as it was sent, which may have been longer than what was looked at. */
	u32 cut;
	char text[TEXT];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct form);
} forms SEC(".maps");

/* Which distribution: of the not pre-empted and of the pre-empted, of misses and hits of the query cache. */
enum distribution { NOT_PREEMPTED, PREEMPTED, MISSES, HITS };

struct place {
	u32 server;
	u32 distribution;
};

struct histogram {
	u64 counts[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct place);
	__type(value, struct histogram);
} latencies SEC(".maps");

struct by {
	u32 server;
	u32 pid;
	char comm[16];
};

struct taken {
	u64 times;
	u64 ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct by);
	__type(value, struct taken);
} preemptors SEC(".maps");

struct slow {
	u64 begun;
	u64 elapsed_ns;
	u64 waited_ns[WAITS];
	u32 server;
	u32 thread;
	u32 preemptions;
	u32 length;
	char text[TEXT];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} slow SEC(".maps");

/* A statement that MariaDB executes by a number. */
struct prepared {
	u64 session;
	u32 server;
	u32 number;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct prepared);
	__type(value, struct form);
} texts SEC(".maps");

/* Where a form is made; too large for the stack. */
struct scratch {
	struct form form;
	u32 quoted_names;
	u32 length;
	/* The quote that the text is within; 0: none. */
	u32 quote;
	u32 escaped;
	/* Whether a backslash within the quotes escapes what follows. */
	u32 escapes;
	/* The byte before, within a comment; COMMENT_LINE: it ends with the line. 0: there is no comment. */
	u32 comment;
	/* The last byte that was put. */
	u32 last;
	/* The one before. */
	u32 before_last;
	u32 in_number;
	u64 hash;
	char text[TEXT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");
