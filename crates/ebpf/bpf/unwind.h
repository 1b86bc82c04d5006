/* User stacks of programs that keep no frame pointers: the rules of their `.eh_frame`, as tables that the user part fills
   (crates/ebpf/src/unwind), walked here on the CPU where the thread is. Code without a table (of run-time compilers, of Go) is
   walked by frame pointers, and so is all of a process that the user part does not know yet. */
#pragma once
#include "met.h"

/* 0: the kernel walks by frame pointers, whatever program it is. */
const volatile u32 with_tables = 0;

#define DEPTH 127
/* Frames of Python follow the addresses where there is room for them: a program defines PYTHON_DEPTH for it (python.h). */
#ifdef PYTHON_DEPTH
#define FRAMES (DEPTH + PYTHON_DEPTH)
#else
#define FRAMES DEPTH
#endif
/* A stack: how many bytes of addresses, and these, the innermost first. */
struct stack {
	u64 size;
	u64 addresses[FRAMES];
};

/* Rows of a table: addresses, ascending, relative to the table's first; what holds from there on. The last chunk is filled up
   with the highest address. */
#define CHUNK 512
#define NO_ADDRESS 0xffffffffU
struct chunk {
	u32 addresses[CHUNK];
	u32 rules[CHUNK];
};

struct table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct chunk));
};

/* By file. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 4096);
	__type(key, u32);
	__array(values, struct table);
} tables SEC(".maps");
#define NO_TABLE 0xffffffffU

/* Code that a process has mapped. */
struct mapping {
	u64 begin, end;
	/* Less this, an address is relative to the table's first. */
	u64 base;
	u32 table;
	u32 chunks;
};

/* All that a process has mapped, in the order of addresses, under a number that is never used again. */
struct mapping_key {
	u32 layout;
	u32 place;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct mapping_key);
	__type(value, struct mapping);
} mappings SEC(".maps");

/* The processes that the user part knows. */
struct layout {
	/* As the program's image was when its mappings were read: another image is another program, or another process. */
	u64 start_code, start_stack;
	/* Until then it need not be asked to read them again. */
	u64 quiet_until;
	u32 number;
	u32 n;
	/* Whether `pythons` has it (python.h). */
	u32 is_python;
	u32 none;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct layout);
} layouts SEC(".maps");

/* What a row has; crates/ebpf/src/unwind/rules.rs has the same. CFA: the stack pointer before the call. */
enum rule {
	/* Nothing is known here: frame pointers. */
	RULE_NONE,
	/* The CFA is so far from the stack pointer, from the frame pointer. */
	RULE_SP,
	RULE_FP,
	/* The CFA is where the frame pointer points to, and the caller's frame pointer there, too. */
	RULE_AT_FP,
	/* A stub of the linker, which pushes a word before its given byte of 16. */
	RULE_PLT,
	/* What the kernel returns to from a handler of signals: all registers are below. */
	RULE_SIGNAL,
	/* The outermost function. */
	RULE_END,
	/* What these cannot express. */
	RULE_OTHER,
};
#define RULE_KIND(rule) ((rule) & 15)
/* Both in words of 8 bytes: of the CFA, 16 bits; of the caller's frame pointer, 12 bits, from the CFA, 0: it is as it was. */
#define RULE_OFFSET(rule) ((s64)(s32)((rule) << 12) >> 16)
#define RULE_FRAME(rule) ((s64)(s32)(rule) >> 20)

/* How a walk ended, in the order of `ENDS` of crates/ebpf/src/unwind/mod.rs. */
enum end {
	/* At the outermost function. */
	END_WHOLE,
	/* There are more frames than are kept. */
	END_DEEP,
	/* In code that is mapped nowhere that is known. */
	END_UNMAPPED,
	/* In code without a table, which keeps no frame pointers either. */
	END_NO_TABLE,
	/* At a rule that tables cannot have. */
	END_OTHER,
	/* Where the stack could not be read, or went backwards. */
	END_BROKEN,
	/* The process was not known yet: frame pointers throughout. */
	END_UNKNOWN,
	ENDS,
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ENDS);
	__type(key, u32);
	__type(value, u64);
} ends SEC(".maps");

static __always_inline void end_as(u32 how)
{
	u64 *count = bpf_map_lookup_elem(&ends, &how);
	if (count)
		*count += 1;
}

#ifdef PYTHON_DEPTH
#include "python.h"
#endif

/* A walk. Bounds of searches are here, where the verifier knows nothing of them, and takes each step for any other. */
struct walk {
	struct stack stack;
	u64 ip, sp, fp;
	struct mapping mapping;
	u32 layout;
	u32 n_mappings;
	u32 n;
	u32 end;
	/* The address is that of the next instruction, not one that a call returns to. */
	u32 exact;
	/* A frame pointer led here. */
	u32 guessed;
	/* Times that a frame pointer led to another stack: Go's runtime changes them. */
	u32 switches;
	u32 low, high;
#ifdef PYTHON_DEPTH
	struct python python;
	struct python_code code;
	/* The current thread, as Python knows it; what is being looked at. */
	u64 self, interpreter, thread, frame;
	u32 tgid;
	/* The place of the last frame of Python. */
	u32 last;
	/* The thread has frames in several interpreters, of which one is followed. */
	u32 has_others, none;
#endif
};

/* Where a stack is walked to before it is kept; one for each kind of program, as one may interrupt the other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct walk);
} walks SEC(".maps");
enum walker { WALKER_TIMED, WALKER_TRACED };

/* What a callback is given: it has to stand on the stack. */
struct walking {
	struct walk *walk;
};

#define MOST_SWITCHES 8
#define MAPPING_STEPS 12
#define CHUNK_STEPS 17

static __always_inline bool find_mapping(struct walk *w, u64 at)
{
	struct mapping_key key = { .layout = w->layout };
	struct mapping *found;
	u32 i;
	if (at >= w->mapping.begin && at < w->mapping.end)
		return true;
	w->low = 0;
	w->high = w->n_mappings;
	for (i = 0; i < MAPPING_STEPS; i++) {
		u32 low = w->low, high = w->high;
		if (low >= high)
			break;
		key.place = (low + high) / 2;
		found = bpf_map_lookup_elem(&mappings, &key);
		if (!found)
			return false;
		if (found->begin <= at)
			w->low = key.place + 1;
		else
			w->high = key.place;
	}
	key.place = w->low - 1;
	found = bpf_map_lookup_elem(&mappings, &key);
	if (!found || at >= found->end)
		return false;
	w->mapping = *found;
	return true;
}

static __always_inline u32 find_rule(struct walk *w, u64 at)
{
	u64 relative = at - w->mapping.base;
	struct chunk *chunk;
	u32 i, address = relative, place;
	void *table;
	if (w->mapping.table == NO_TABLE || relative >= NO_ADDRESS)
		return RULE_NONE;
	place = w->mapping.table;
	table = bpf_map_lookup_elem(&tables, &place);
	if (!table)
		return RULE_NONE;
	w->low = 0;
	w->high = w->mapping.chunks;
	for (i = 0; i < CHUNK_STEPS; i++) {
		u32 low = w->low, high = w->high;
		if (low >= high)
			break;
		place = (low + high) / 2;
		chunk = bpf_map_lookup_elem(table, &place);
		if (!chunk)
			return RULE_NONE;
		if (chunk->addresses[0] <= address)
			w->low = place + 1;
		else
			w->high = place;
	}
	place = w->low - 1;
	chunk = bpf_map_lookup_elem(table, &place);
	if (!chunk)
		return RULE_NONE;
	w->low = 0;
	for (i = CHUNK / 2; i; i /= 2) {
		u32 next = (w->low + i) & (CHUNK - 1);
		if (chunk->addresses[next] <= address)
			w->low = next;
	}
	return chunk->rules[w->low & (CHUNK - 1)];
}

static __always_inline bool read_word(u64 *into, u64 at)
{
	return bpf_probe_read_user(into, sizeof(*into), (void *)at) == 0;
}

/* Ends the walk. */
static __always_inline long end_walk(struct walk *w, u32 how)
{
	w->end = how;
	return 1;
}

/* Goes on in the caller, whose stack pointer is the CFA. */
static __always_inline long go_on(struct walk *w, u64 cfa, u64 return_to)
{
	if (!return_to)
		return end_walk(w, END_WHOLE);
	if (cfa <= w->sp)
		return end_walk(w, END_BROKEN);
	w->sp = cfa;
	w->ip = return_to;
	w->exact = 0;
	return 0;
}

#if defined(__TARGET_ARCH_x86)
#define USER_CODE 0x33
/* `struct rt_sigframe` of the kernel's interface, when its return address has been taken. */
#define SIGNAL_FP 120
#define SIGNAL_SP 160
#define SIGNAL_IP 168

static __always_inline long leave_handler(struct walk *w)
{
	u64 sp = w->sp;
	if (!read_word(&w->ip, sp + SIGNAL_IP) || !read_word(&w->fp, sp + SIGNAL_FP) || !read_word(&w->sp, sp + SIGNAL_SP))
		return end_walk(w, END_BROKEN);
	w->exact = 1;
	return 0;
}

static __always_inline long by_frame_pointer(struct walk *w)
{
	u64 fp = w->fp, return_to;
	if (!fp)
		return end_walk(w, END_WHOLE);
	/* Of a function that has not pushed it yet it is its caller's, which is one frame less. */
	if (fp & 7 || (fp < w->sp && w->switches++ >= MOST_SWITCHES))
		return end_walk(w, END_NO_TABLE);
	if (!read_word(&return_to, fp + 8) || !read_word(&w->fp, fp))
		return end_walk(w, END_NO_TABLE);
	w->guessed = 1;
	w->sp = fp;
	return go_on(w, fp + 16, return_to);
}

static __always_inline long by_rule(struct walk *w, u32 rule, u64 at)
{
	s64 offset = RULE_OFFSET(rule), frame = RULE_FRAME(rule);
	u64 cfa, return_to, fp = w->fp;
	switch (RULE_KIND(rule)) {
	case RULE_SP:
		cfa = w->sp + offset * 8;
		break;
	case RULE_FP:
		cfa = fp + offset * 8;
		break;
	case RULE_AT_FP:
		if (!read_word(&cfa, fp + offset * 8))
			return end_walk(w, END_BROKEN);
		break;
	case RULE_PLT:
		cfa = w->sp + ((at & 15) >= offset ? 16 : 8);
		break;
	case RULE_SIGNAL:
		return leave_handler(w);
	case RULE_END:
		return end_walk(w, END_WHOLE);
	case RULE_NONE:
		return by_frame_pointer(w);
	default:
		return end_walk(w, END_OTHER);
	}
	if (RULE_KIND(rule) == RULE_AT_FP) {
		if (!read_word(&w->fp, fp + frame * 8))
			return end_walk(w, END_BROKEN);
	} else if (frame && !read_word(&w->fp, cfa + frame * 8)) {
		return end_walk(w, END_BROKEN);
	}
	if (!read_word(&return_to, cfa - 8))
		return end_walk(w, END_BROKEN);
	w->guessed = 0;
	return go_on(w, cfa, return_to);
}

static __always_inline bool start_walk(struct walk *w, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	/* Of a 32-bit program nothing is known. */
	if (BPF_CORE_READ(regs, cs) != USER_CODE)
		return false;
	w->ip = BPF_CORE_READ(regs, ip);
	w->sp = BPF_CORE_READ(regs, sp);
	w->fp = BPF_CORE_READ(regs, bp);
	return true;
}
#else
static __always_inline long by_rule(struct walk *w, u32 rule, u64 at)
{
	return end_walk(w, END_OTHER);
}

static __always_inline bool start_walk(struct walk *w, struct task_struct *task)
{
	return false;
}
#endif

static long walk_on(u32 i, struct walking *walking)
{
	struct walk *w = walking->walk;
	u64 at = w->ip - !w->exact;
	bool is_known = find_mapping(w, at);
	/* Data that was taken for a frame. */
	if (!is_known && w->guessed)
		return end_walk(w, END_NO_TABLE);
	if (i >= DEPTH)
		return 1;
	/* All but the innermost address are looked up by the byte before. */
	w->stack.addresses[i] = w->ip + (w->exact && i);
	w->n = i + 1;
	return is_known ? by_rule(w, find_rule(w, at), at) : end_walk(w, END_UNMAPPED);
}

#ifdef PYTHON_DEPTH
#include "python_walk.h"
#endif

/* What is known of the process: as it is itself, else as its parent is, when it was forked and has begun no other program. */
static __always_inline struct layout *layout_of(struct task_struct *task)
{
	u64 start_code = BPF_CORE_READ(task, mm, start_code), start_stack = BPF_CORE_READ(task, mm, start_stack);
	u32 tgid = BPF_CORE_READ(task, tgid);
	struct layout *layout = bpf_map_lookup_elem(&layouts, &tgid);
	if (layout && layout->start_code == start_code && layout->start_stack == start_stack)
		return layout;
	/* It has begun another program, and is met anew. */
	if (layout)
		bpf_map_delete_elem(&known, &tgid);
	tgid = BPF_CORE_READ(task, real_parent, tgid);
	layout = bpf_map_lookup_elem(&layouts, &tgid);
	if (layout && layout->start_code == start_code && layout->start_stack == start_stack)
		return layout;
	return NULL;
}

/* How long the user part has to read mappings anew. */
#define READING_NS 100000000ULL

/* Walks the current thread's user stack into `w->stack`; false: by frame pointers it is better. */
static __always_inline bool walk_user(struct walk *w, struct task_struct *task)
{
	struct walking walking = { .walk = w };
	struct layout *layout = layout_of(task);
	u64 now;
	if (!layout || !start_walk(w, task)) {
		end_as(END_UNKNOWN);
		return false;
	}
	w->layout = layout->number;
	w->n_mappings = layout->n;
	w->mapping.begin = w->mapping.end = 0;
	w->n = 0;
	w->exact = 1;
	w->guessed = 0;
	w->switches = 0;
	w->end = END_DEEP;
	bpf_loop(DEPTH, walk_on, &walking, 0);
#ifdef PYTHON_DEPTH
	if (layout->is_python)
		walk_python(w, task, layout->number);
#endif
	w->stack.size = w->n * sizeof(u64);
	end_as(w->end);
	/* Something was mapped since. */
	if (w->end == END_UNMAPPED) {
		now = bpf_ktime_get_ns();
		if (now > layout->quiet_until) {
			layout->quiet_until = now + READING_NS;
			report_met(task->tgid);
		}
	}
	return true;
}

/* Walks the current thread's stack, as seen from `context`, and gives its bytes; 0: there is none. */
static __always_inline u32 walk_stack(void *context, struct walk *w, u64 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	long size;
	if (with_tables && flags & BPF_F_USER_STACK && walk_user(w, task))
		return w->stack.size;
	size = bpf_get_stack(context, w->stack.addresses, DEPTH * sizeof(u64), flags);
	w->stack.size = size > 0 ? size : 0;
	return w->stack.size;
}

/* Stacks by a hash of their addresses. (A map of the kernel's own kind for stacks loses those that fall on the same
 * place as another: a fiftieth of them when it is a twentieth full.) Room is set before loading. */
#define STACK_MAP(name) struct { \
	__uint(type, BPF_MAP_TYPE_HASH); \
	__uint(max_entries, 8192); \
	__type(key, u64); \
	__type(value, struct stack); \
} name SEC(".maps")

/* Keeps the current thread's stack, as seen from `context`, and gives its key. */
static __always_inline u64 keep_stack(void *context, void *stacks, u32 walker, u64 flags)
{
	struct walk *w = bpf_map_lookup_elem(&walks, &walker);
	/* Steps of FNV-1a, over words. */
	u64 key = 0xcbf29ce484222325ULL;
	long failed;
	u32 i, n;

	if (!w)
		return 0;
	n = walk_stack(context, w, flags) / sizeof(u64);
	if (!n)
		return 0;
	for (i = 0; i < FRAMES; i++) {
		if (i >= n)
			break;
		key = (key ^ w->stack.addresses[i]) * 0x100000001b3ULL;
	}
	key |= 1;
	failed = bpf_map_update_elem(stacks, &key, &w->stack, BPF_NOEXIST);
	if (failed && failed != -EEXIST) {
		lose(LOST_STACK);
		return 0;
	}
	return key;
}
