/* Frames of CPython beside a native stack: the functions that the interpreter runs in the current thread, the innermost first,
   and their names, read here, where they are alive. Included by unwind.h. */
#pragma once

/* Where an interpreter's structures have their fields, and two addresses; crates/ebpf/src/unwind/python.rs has the same. */
struct python {
	/* The variable with the first interpreter, and the type of code objects. */
	u64 interpreters, code_type;
	u32 interpreter_next, interpreter_threads;
	u32 thread_next, thread_id, thread_frame;
	/* Where `thread_frame` leads to something that has the frame: its place there, else NO_FIELD. */
	u32 indirect_frame;
	u32 frame_previous, frame_code, frame_mark;
	/* What the mark of a frame means, `enum python_mark`. */
	u32 mark;
	u32 code_file, code_name;
	/* Of what each object begins with, and where in it the type is. */
	u32 object_size, object_type;
	/* Of a string of ASCII without its characters. */
	u32 text_size, none;
};
#define NO_FIELD 0xffffffffU

/* How it is known which frames one call of the interpreter runs. */
enum python_mark {
	/* Each has its own. */
	MARK_NONE,
	/* A byte of the outermost one is not 0. */
	MARK_OUTERMOST,
	/* A frame without a function follows the outermost one; its byte is 3 or more. */
	MARK_BETWEEN,
};

/* By the number of a layout. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, u32);
	__type(value, struct python);
} pythons SEC(".maps");

/* A string's characters: so many, in so many bytes each, of `length`. */
#define NAME_BYTES 128
/* Whole characters of any width, and no power of two, which the verifier likes less. */
#define NAME_MOST 124
struct python_text {
	u32 length;
	u16 bytes, width;
	u8 characters[NAME_BYTES];
};

/* A function. */
struct python_code {
	struct python_text name;
	/* The end of its file's name. */
	struct python_text file;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct python_code);
} python_codes SEC(".maps");

/* A frame in `struct stack`: PYTHON, some of the others, and a key of `python_codes`. */
#define PYTHON (1ULL << 63)
/* Outermost of those that one call of the interpreter runs. */
#define PYTHON_OUTERMOST (1ULL << 60)
/* On the first frame: the native stack was walked to its end. On the last: so were these, and they are all that the thread has. */
#define PYTHON_NATIVE_WHOLE (1ULL << 59)
#define PYTHON_WHOLE (1ULL << 58)
#define PYTHON_KEY ((1ULL << 56) - 1)
