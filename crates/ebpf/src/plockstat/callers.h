/* Who called: return addresses that stand on a thread's user stack. Most programs and libraries are built without frame
   pointers, and what the kernel walks then misses those who matter, so the stack is searched for addresses of code that
   come right after a call. Only where no unwind tables are there (unwind.h). */
#pragma once
#include "common.h"

/* Return addresses that are kept, from the innermost. */
#define CALLERS 7
/* Words of the stack that are searched. */
#define WORDS 128

#define VM_EXEC 4
/* So far from the stack pointer are words that point into the stack. Of threads it ends below the next library, whose
 * code is farther away than this. */
#define STACK_REACH (1ULL << 13)
/* Below is no code, above is no user's. */
#define LOWEST_CODE 0x10000ULL
#define HIGHEST_CODE 0x7fffffffffffULL

struct search {
	u64 words[WORDS];
	u64 found[CALLERS];
	/* The last mapping with code that was met. */
	u64 begin, end;
	/* Where the stack is: what points into it is no code. */
	u64 stack;
	u32 n;
	u32 code;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct search);
} searches SEC(".maps");

/* What callbacks are given: it has to stand on the stack. */
struct searching {
	struct search *search;
};

static long is_code(struct task_struct *task, struct vm_area_struct *area, struct searching *searching)
{
	struct search *search = searching->search;
	search->code = (BPF_CORE_READ(area, vm_flags) & VM_EXEC) != 0;
	if (search->code) {
		search->begin = BPF_CORE_READ(area, vm_start);
		search->end = BPF_CORE_READ(area, vm_end);
	}
	return 0;
}

/* Whether a call of x86-64 ends where these 7 bytes do: call rel32, call *register, call *memory in its lengths. */
static __always_inline bool ends_a_call(const u8 *b)
{
	if (b[2] == 0xe8)
		return true;
	return (b[5] == 0xff && (b[6] & 0x38) == 0x10) || (b[4] == 0xff && (b[5] & 0x38) == 0x10) ||
	       (b[3] == 0xff && (b[4] & 0x38) == 0x10) || (b[1] == 0xff && (b[2] & 0x38) == 0x10) ||
	       (b[0] == 0xff && (b[1] & 0x38) == 0x10);
}

static long look_at_word(u32 place, struct searching *searching)
{
	struct search *search = searching->search;
	u64 word;
	u8 before[8];
	if (place >= WORDS || search->n >= CALLERS)
		return 1;
	word = search->words[place];
	if (word < LOWEST_CODE || word > HIGHEST_CODE || word - search->stack + STACK_REACH < 2 * STACK_REACH)
		return 0;
	if (bpf_probe_read_user(before, 7, (void *)(word - 7)) || !ends_a_call(before))
		return 0;
	if (word < search->begin || word >= search->end) {
		search->code = 0;
		/* When the map of memory is being changed it cannot be asked: the call must do. */
		if (bpf_find_vma(bpf_get_current_task_btf(), word, is_code, searching, 0) == 0 && !search->code)
			return 0;
	}
	if (search->n < CALLERS)
		search->found[search->n] = word;
	search->n += 1;
	return 0;
}

/* The callers of who has the stack pointer `sp`; 0: fewer were found. */
static __always_inline void callers(u64 sp, u64 *into)
{
	u32 zero = 0;
	struct searching searching;
	struct search *search = bpf_map_lookup_elem(&searches, &zero);
	if (!search)
		return;
	search->n = 0;
	search->stack = sp;
	search->begin = search->end = 0;
	__builtin_memset(search->found, 0, sizeof(search->found));
	/* A stack may end before that. */
	if (bpf_probe_read_user(search->words, sizeof(search->words), (void *)sp)) {
		__builtin_memset(search->words + 32, 0, sizeof(search->words) - 32 * 8);
		if (bpf_probe_read_user(search->words, 32 * 8, (void *)sp)) {
			lose(LOST_STACK);
			return;
		}
	}
	searching.search = search;
	bpf_loop(WORDS, look_at_word, &searching, 0);
	__builtin_memcpy(into, search->found, sizeof(search->found));
}
