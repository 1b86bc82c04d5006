/*
 * Queries of database servers, from the request read to the response written: how long, on a CPU or waiting for what, and
 * who pushed their threads off it. Added up by the statement's form: texts that differ in numbers and strings only are one.
 */
#include "querystat_form.h"
#include "querystat_waits.h"

/* Queries that take longer are reported one by one; 0: none are. */
const volatile u64 slower_ns = 0;

static __always_inline u64 current_turn(void)
{
	u32 zero = 0;
	u64 *now = bpf_map_lookup_elem(&turn, &zero);
	return now ? *now : 0;
}

static __always_inline struct sums *sums_of(struct key *key)
{
	return bpf_map_lookup_elem(&queries, key);
}

/* The sums of a query; those of all others where there is no room for its own. */
static __always_inline struct sums *place_of(struct query *query, struct key *key)
{
	struct scratch *s = query->length ? form_of(query) : 0;
	struct sums *sums;
	struct sums fresh = {};

	key->form = s ? s->hash : 0;
	sums = sums_of(key);
	if (sums || !s)
		return sums;
	if (!bpf_map_lookup_elem(&forms, &key->form) && s->form.length < TEXT) {
		/* What was there from the last form is not part of this one. */
		s->form.text[IN_TEXT(s->form.length)] = 0;
		bpf_map_update_elem(&forms, &key->form, &s->form, BPF_ANY);
	}
	bpf_map_update_elem(&queries, key, &fresh, BPF_NOEXIST);
	sums = sums_of(key);
	if (!sums) {
		key->form = 0;
		sums = sums_of(key);
	}
	return sums;
}

static __always_inline void count_in(u32 server, u32 distribution, u64 ns)
{
	struct place place = { .server = server, .distribution = distribution };
	struct histogram *histogram = bpf_map_lookup_elem(&latencies, &place);
	u32 bucket = bucket_of(ns);
	if (!histogram || bucket >= BUCKETS) {
		lose(LOST_ROOM);
		return;
	}
	histogram->counts[bucket] += 1;
}

static __always_inline void tell(struct query *query, u64 elapsed)
{
	struct slow *told = bpf_ringbuf_reserve(&slow, sizeof(*told), 0);
	if (!told) {
		lose(LOST_RING);
		return;
	}
	told->begun = query->begun;
	told->elapsed_ns = elapsed;
	__builtin_memcpy(told->waited_ns, query->waited, sizeof(told->waited_ns));
	told->server = query->server.place;
	told->thread = bpf_get_current_pid_tgid();
	told->preemptions = query->preemptions;
	told->length = query->length;
	__builtin_memcpy(told->text, query->text, TEXT);
	bpf_ringbuf_submit(told, 0);
}

/* The response of the thread's query was written. */
static __noinline void end(struct query *query)
{
	u64 elapsed = bpf_ktime_get_ns() - query->begun, now = current_turn();
	u32 half = now & 1;
	struct key key = { .server = query->server.place, .preempted = query->preemptions > 0 };
	struct sums *sums = place_of(query, &key);

	if (!sums) {
		query->begun = 0;
		lose(LOST_ROOM);
		return;
	}
	sums->queries += 1;
	sums->elapsed_ns += elapsed;
#pragma unroll
	for (int i = 0; i < WAITS; i++)
		sums->waited_ns[i] += query->waited[i];
	if (sums->of_turn[half] != now) {
		sums->of_turn[half] = now;
		sums->longest_ns[half] = 0;
	}
	if (elapsed > sums->longest_ns[half])
		sums->longest_ns[half] = elapsed;
	count_in(key.server, query->preemptions ? PREEMPTED : NOT_PREEMPTED, elapsed);
	if (query->cache != CACHE_UNKNOWN)
		count_in(key.server, query->cache == CACHE_HIT ? HITS : MISSES, elapsed);
	if (slower_ns && elapsed >= slower_ns)
		tell(query, elapsed);
	query->begun = 0;
}

/* What the thread that runs executes, if it belongs to a server that is observed. */
static __always_inline struct query *of_this_thread(struct server **server)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 pid = task->tgid;
	struct query *query;

	*server = bpf_map_lookup_elem(&servers, &pid);
	if (!*server) {
		/* A PostgreSQL session is a process, a child of the server. */
		pid = BPF_CORE_READ(task, real_parent, tgid);
		*server = bpf_map_lookup_elem(&servers, &pid);
		if (!*server)
			return 0;
	}
	query = bpf_task_storage_get(&open, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!query)
		lose(LOST_ROOM);
	return query;
}

static __always_inline struct query *of_this_thread_if_open(void)
{
	struct query *query = bpf_task_storage_get(&open, bpf_get_current_task_btf(), 0, 0);
	return query && query->begun ? query : 0;
}

static __always_inline void begin(struct query *query, struct server *server)
{
	query->server = *server;
	query->left = query->woken = 0;
	query->preemptions = query->in_lock = query->executed = query->preparing = 0;
	query->cache = CACHE_UNKNOWN;
	query->length = 0;
	__builtin_memset(query->waited, 0, sizeof(query->waited));
	query->begun = bpf_ktime_get_ns();
}

/* `length` is with the NUL, as helpers count. */
static __always_inline void set_length(struct query *query, long length)
{
	query->length = length > 0 ? length - 1 : 0;
}

/* MariaDB and MySQL */

enum command { COM_QUERY = 3, COM_STMT_PREPARE = 22, COM_STMT_EXECUTE = 23 };
#define LAST_PREPARED 0xffffffff

static __always_inline void take_prepared(struct query *query, const void *packet)
{
	struct prepared key = { .session = query->session, .server = query->server.place };
	struct form *form;
	if (bpf_probe_read_user(&key.number, sizeof(key.number), packet))
		return;
	form = bpf_map_lookup_elem(&texts, &key);
	if (!form)
		return;
	query->length = form->length;
	__builtin_memcpy(query->text, form->text, TEXT);
}

static __always_inline int request(u32 command, u64 session, const void *packet)
{
	struct server *server;
	struct query *query;
	if (command != COM_QUERY && command != COM_STMT_EXECUTE && command != COM_STMT_PREPARE)
		return 0;
	query = of_this_thread(&server);
	if (!query)
		return 0;
	begin(query, server);
	query->session = session;
	query->preparing = command == COM_STMT_PREPARE;
	if (command == COM_STMT_EXECUTE)
		take_prepared(query, packet);
	else
		set_length(query, bpf_probe_read_user_str(query->text, TEXT, packet));
	return 0;
}

/* dispatch_command(command, THD *, char *packet, ...) */
SEC("uprobe")
int BPF_KPROBE(mariadb_request, u32 command, u64 session, const void *packet)
{
	return request(command, session, packet);
}

/* dispatch_command(THD *, const COM_DATA *, command): the data begins with the text, or for an execution with the number. */
SEC("uprobe")
int BPF_KPROBE(mysql_request, u64 session, const void *data, u32 command)
{
	const void *text = data;
	if (command != COM_STMT_EXECUTE && bpf_probe_read_user(&text, sizeof(text), data))
		return 0;
	return request(command, session, text);
}

SEC("uretprobe")
int response(void *ctx)
{
	struct query *query = of_this_thread_if_open();
	if (!query)
		return 0;
	if (query->preparing)
		query->begun = 0;
	else
		end(query);
	return 0;
}

/* Statement(LEX *, MEM_ROOT *, state, number): the number that the statement that is being prepared gets. */
SEC("uprobe")
int BPF_KPROBE(statement_made, void *self, void *lex, void *memory, int state, u64 number)
{
	struct query *query = of_this_thread_if_open();
	struct prepared key = {};
	struct scratch *s;
	u32 zero = 0;
	if (!query || !query->preparing)
		return 0;
	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	key.session = query->session;
	key.server = query->server.place;
	key.number = number;
	s->form.length = query->length;
	s->form.cut = 0;
	__builtin_memcpy(s->form.text, query->text, TEXT);
	bpf_map_update_elem(&texts, &key, &s->form, BPF_ANY);
	key.number = LAST_PREPARED;
	bpf_map_update_elem(&texts, &key, &s->form, BPF_ANY);
	return 0;
}

/* Query_cache::send_result_to_client() returns 1 when it has sent the result. */
SEC("uretprobe")
int BPF_KRETPROBE(cache_asked, int sent)
{
	struct query *query = of_this_thread_if_open();
	if (query)
		query->cache = sent == 1 ? CACHE_HIT : CACHE_MISS;
	return 0;
}

/*
 * PostgreSQL. A session reports its activity with a text at each message (Query, Parse, Bind, Execute) and without one when
 * it is ready for the next. What came to executing between two of these is a query: one for each Query and Execute.
 */

static __noinline int activity(const char *text)
{
	struct server *server;
	struct query *query;
	if (!text) {
		query = of_this_thread_if_open();
		if (query && query->executed)
			end(query);
		else if (query)
			query->begun = 0;
		return 0;
	}
	query = of_this_thread(&server);
	if (!query)
		return 0;
	/* Another message before the session was ready: pipelined, or Bind and Execute after Parse. */
	if (query->begun && query->executed)
		end(query);
	if (!query->begun)
		begin(query, server);
	set_length(query, bpf_probe_read_user_str(query->text, TEXT, text));
	return 0;
}

static __always_inline int executes(void)
{
	struct query *query = of_this_thread_if_open();
	if (query)
		query->executed = 1;
	return 0;
}

static __always_inline int waits_for_lock(u32 yes)
{
	struct query *query = of_this_thread_if_open();
	if (query)
		query->in_lock = yes;
	return 0;
}

/*
 * The place of the text is in the probe's cookie: the place of a register. These are probes that PostgreSQL's authors put
 * there (USDT), or functions where it was built without them: pgstat_report_activity(state, text), PortalRun, ProcSleep.
 * libbpf's own way to such probes' arguments would need headers of exactly its version.
 */
SEC("uprobe")
int postgres_activity(struct pt_regs *registers)
{
	const char *text = 0;
	u64 place = bpf_get_attach_cookie(registers);
	bpf_probe_read_kernel(&text, sizeof(text), (void *)registers + (place & 255));
	return activity(text);
}

SEC("uprobe")
int postgres_executes(void *ctx)
{
	return executes();
}

SEC("uprobe")
int postgres_lock_begin(void *ctx)
{
	return waits_for_lock(1);
}

SEC("uprobe")
int postgres_lock_end(void *ctx)
{
	return waits_for_lock(0);
}

SEC("uretprobe")
int postgres_lock_end_function(void *ctx)
{
	return waits_for_lock(0);
}
