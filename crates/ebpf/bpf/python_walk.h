/* Walks frames of Python and reads their names (python.h has what they are). Included by unwind.h. */
#pragma once

#define MOST_THREADS 1024
#define NO_PLACE 0xffffffffU

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
} KERNEL;
struct task_struct___thread {
	struct thread_struct thread;
} KERNEL;

/* What `pthread_self` is in the program. */
static __always_inline u64 thread_self(struct task_struct *task)
{
	return BPF_CORE_READ((struct task_struct___thread *)task, thread.fsbase);
}
#else
static __always_inline u64 thread_self(struct task_struct *task)
{
	return 0;
}
#endif

static __always_inline bool read_byte(u8 *into, u64 at)
{
	return bpf_probe_read_user(into, sizeof(*into), (void *)at) == 0;
}

/* Looks at a thread, for the current one. New ones come first, and new interpreters. */
static long python_thread(u32 i, struct walking *walking)
{
	struct walk *w = walking->walk;
	struct python *of = &w->python;
	u64 id, interpreter = w->interpreter;
	if (!w->thread) {
		if (!interpreter || !read_word(&w->thread, interpreter + of->interpreter_threads) ||
		    !read_word(&w->interpreter, interpreter + of->interpreter_next))
			return 1;
		return 0;
	}
	if (!read_word(&id, w->thread + of->thread_id))
		return 1;
	if (id == w->self) {
		u64 frame = 0;
		if (!read_word(&frame, w->thread + of->thread_frame) ||
		    (frame && of->indirect_frame != NO_FIELD && !read_word(&frame, frame + of->indirect_frame)))
			return 1;
		if (frame && !w->frame)
			w->frame = frame;
		else if (frame)
			w->has_others = 1;
		/* It may be one of another interpreter, too. */
		w->thread = 0;
		return 0;
	}
	return !read_word(&w->thread, w->thread + of->thread_next);
}

/* The last characters of a string, or the first. */
static __always_inline void read_text(struct python_text *text, struct python *of, u64 object, bool is_end)
{
	u64 length, state, from;
	u32 bits, n;
	text->length = text->bytes = text->width = 0;
	if (!read_word(&length, object + of->object_size) || !read_word(&state, object + of->object_size + 16))
		return;
	/* How it is interned, in 2, 8 or 16 bits; then 3 for the width of a character, "compact", "ASCII". */
	bits = (u32)state >> 2;
	if (!(bits & 7))
		bits >>= 6;
	if (!(bits & 7))
		bits >>= 8;
	n = bits & 7;
	if (!(bits & 8) || (n != 1 && n != 2 && n != 4) || length > 0xffffff)
		return;
	text->width = n;
	text->length = length;
	from = object + of->text_size;
	if (!(bits & 16))
		from += of->text_size == of->object_size + 24 ? 16 : 24;
	n *= length;
	if (n > NAME_MOST) {
		if (is_end)
			from += n - NAME_MOST;
		n = NAME_MOST;
	}
	n &= NAME_BYTES - 1;
	if (bpf_probe_read_user(text->characters, n, (void *)from) == 0)
		text->bytes = n;
}

static __always_inline u64 python_key(struct walk *w, u64 code)
{
	u64 key = 0xcbf29ce484222325ULL, file, name, hash;
	if (!read_word(&file, code + w->python.code_file) || !read_word(&name, code + w->python.code_name) ||
	    !read_word(&hash, name + w->python.object_size + 8))
		return 0;
	/* Code that is gone may leave its place to other code: what its names are, too, distinguishes it. */
	key = (key ^ w->tgid) * 0x100000001b3ULL;
	key = (key ^ code) * 0x100000001b3ULL;
	key = (key ^ file) * 0x100000001b3ULL;
	key = (key ^ name) * 0x100000001b3ULL;
	key = (key ^ hash) * 0x100000001b3ULL;
	key = (key ^ key >> 56) & PYTHON_KEY;
	if (!bpf_map_lookup_elem(&python_codes, &key)) {
		read_text(&w->code.name, &w->python, name, false);
		read_text(&w->code.file, &w->python, file, true);
		if (w->code.name.bytes)
			bpf_map_update_elem(&python_codes, &key, &w->code, BPF_ANY);
	}
	return key;
}

static __always_inline void mark_last(struct walk *w, u64 mark)
{
	u32 last = w->last;
	if (last < FRAMES)
		w->stack.addresses[last] |= mark;
}

static long python_frame(u32 i, struct walking *walking)
{
	struct walk *w = walking->walk;
	struct python *of = &w->python;
	u64 code, previous, type, frame = w->frame;
	u32 n = w->n;
	u8 mark = 1;
	if (!frame) {
		if (!w->has_others)
			mark_last(w, PYTHON_WHOLE);
		return 1;
	}
	if (!read_word(&code, frame + of->frame_code) || !read_word(&previous, frame + of->frame_previous) ||
	    (of->mark != MARK_NONE && !read_byte(&mark, frame + of->frame_mark)))
		return 1;
	w->frame = previous;
	if (of->mark == MARK_BETWEEN && mark >= 3) {
		mark_last(w, PYTHON_OUTERMOST);
		return 0;
	}
	/* Low bits of a reference are its own. */
	code &= ~7ULL;
	if (n >= FRAMES || !read_word(&type, code + of->object_type) || type != of->code_type)
		return 1;
	w->stack.addresses[n] = PYTHON | python_key(w, code);
	w->last = n;
	w->n = n + 1;
	if (of->mark != MARK_BETWEEN && mark)
		mark_last(w, PYTHON_OUTERMOST);
	return 0;
}

/* Adds the current thread's frames of Python to `w->stack`, if it has any. */
static __always_inline void walk_python(struct walk *w, struct task_struct *task, u32 layout)
{
	struct walking walking = { .walk = w };
	struct python *python = bpf_map_lookup_elem(&pythons, &layout);
	u32 n_native = w->n;
	if (!python)
		return;
	w->python = *python;
	w->self = thread_self(task);
	w->tgid = BPF_CORE_READ(task, tgid);
	w->thread = w->frame = 0;
	w->has_others = 0;
	w->last = NO_PLACE;
	if (!w->self || !read_word(&w->interpreter, w->python.interpreters))
		return;
	bpf_loop(MOST_THREADS, python_thread, &walking, 0);
	if (!w->frame)
		return;
	bpf_loop(2 * PYTHON_DEPTH, python_frame, &walking, 0);
	if (w->n > n_native && n_native < FRAMES && w->end == END_WHOLE)
		w->stack.addresses[n_native] |= PYTHON_NATIVE_WHOLE;
}
