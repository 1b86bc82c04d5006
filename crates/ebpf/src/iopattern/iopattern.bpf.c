/* Reads and writes of files, by system calls, io_uring, libaio and mappings; operations on their names. */
#include "iopattern.h"
#include "io_uring.h"

/* Size of a page in bytes. */
const volatile u32 page_bytes = 4096;

/* What a system call does, as set by the user part (crates/ebpf/src/iopattern/calls.rs). */
#define MEANING_OP(meaning) ((meaning) & 0xff)
#define MEANING_KIND(meaning) (((meaning) >> 8) & 0xff)
enum kind {
	/* Reads or writes: descriptor first; at the file position. */
	KIND_AT_POSITION,
	/* The same; at the fourth argument. */
	KIND_AT_OFFSET,
	/* The same, at the file position if that is -1. */
	KIND_AT_OFFSET_OR_POSITION,
	/* sendfile: reads the second descriptor. */
	KIND_SENDFILE,
	/* Names something: path first. */
	KIND_PATH,
	/* Directory, path. */
	KIND_AT_PATH,
	/* Something, path: the new name. */
	KIND_NEW_PATH,
	/* Something, directory, path. */
	KIND_NEW_AT_PATH,
	/* Directory, path, directory, path: the second is the new name. */
	KIND_AT_PATH_AT_PATH,
	/* Opens: path first, or directory and path. */
	KIND_OPEN,
	KIND_OPEN_AT,
	/* Descriptor first, no path. */
	KIND_FD,
	/* libaio. */
	KIND_SUBMIT,
	KIND_GET_EVENTS,
};

/* A system call that has begun. */
struct call {
	u64 begun;
	s64 at;
	/* libaio: the array that the program gave. */
	u64 array;
	u64 inode;
	u32 device;
	s32 fd;
	u32 op;
	u32 kind;
	u32 direct;
	u32 open;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} begun SEC(".maps");

/* What is kept of a request of io_uring or libaio until it is done. */
struct request {
	struct cell_key key;
	u64 begun;
	s64 at;
	u64 bytes;
	u32 direct;
	/* Whether file and pattern are known. */
	u32 known;
};

/* io_uring: by the kernel's request. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, struct request);
} requests SEC(".maps");

/* libaio: by the process and its own request, whose memory it uses again and again. */
struct aio_key {
	u64 request;
	u64 tgid;
};
struct aio {
	struct cell_key key;
	u64 begun;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct aio_key);
	__type(value, struct aio);
} aios SEC(".maps");

/* What each system call does, by its number, as above; 0: nothing of interest. Kept by the user part. All calls come here:
   leaving so many tracepoints of single calls again takes the kernel seconds. */
#define CALLS 1024
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALLS);
	__type(key, u32);
	__type(value, u32);
} meanings SEC(".maps");

static __always_inline u32 meaning_of(u32 number)
{
	u32 *meaning = bpf_map_lookup_elem(&meanings, &number);
	return meaning ? *meaning : 0;
}

static __always_inline u32 tgid_now(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

static __always_inline struct call *call_now(bool create)
{
	return bpf_task_storage_get(&begun, bpf_get_current_task_btf(), 0, create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/* Begins `call` on the file of a descriptor; false when it is no regular one. */
static __always_inline bool on_file(struct call *call, s32 fd, s64 at, bool position)
{
	struct file_id id = {};
	struct file *file = file_of(fd);
	u32 flags;
	if (!file || !regular(file, &id))
		return false;
	flags = BPF_CORE_READ(file, f_flags);
	if (position)
		at = call->op == OP_WRITE && (flags & O_APPEND) ? BPF_CORE_READ(file, f_inode, i_size) : BPF_CORE_READ(file, f_pos);
	call->inode = id.inode;
	call->device = id.device;
	call->fd = fd;
	call->at = at;
	call->direct = (flags & O_DIRECT) != 0;
	return true;
}

static __always_inline bool begin_io(struct call *call, struct pt_regs *regs)
{
	s64 offset = regs->r10, chosen;
	switch (call->kind) {
	case KIND_AT_POSITION:
		return on_file(call, regs->di, 0, true);
	case KIND_AT_OFFSET:
		return on_file(call, regs->di, offset, false);
	case KIND_AT_OFFSET_OR_POSITION:
		return on_file(call, regs->di, offset, offset == -1);
	case KIND_SENDFILE:
		chosen = -1;
		if (regs->dx)
			bpf_probe_read_user(&chosen, sizeof(chosen), (void *)regs->dx);
		return on_file(call, regs->si, chosen, chosen == -1);
	}
	return false;
}

/* Names the file of a descriptor, if it is still the one meant. */
static __always_inline void name_of(s32 fd, u64 inode, u32 device)
{
	struct file_id id = {}, meant = { .inode = inode, .device = device };
	struct file *file;
	if (bpf_map_lookup_elem(&paths, &meant))
		return;
	file = file_of(fd);
	if (file && regular(file, &id) && id.inode == inode && id.device == device)
		name(file, &id);
}

static __always_inline int end_io(struct call *call, s64 result)
{
	struct done done = {};
	/* At the end of a file nothing is read, and nothing that failed was. */
	if (result <= 0)
		return 0;
	done.ns = bpf_ktime_get_ns() - call->begun;
	done.key.inode = call->inode;
	done.key.device = call->device;
	done.key.tgid = tgid_now();
	done.key.op = call->op;
	done.bytes = result;
	done.timed = done.counted = 1;
	done.key.pattern = pattern_of(&done.key, call->at, done.bytes, call->direct);
	add(&done);
	if (done.first)
		name_of(call->fd, call->inode, call->device);
	return 0;
}

static __always_inline u32 begin_name(struct call *call, struct pt_regs *regs)
{
	struct file *file;
	switch (call->kind) {
	case KIND_PATH:
	case KIND_OPEN:
		return device_at(AT_FDCWD, (const char *)regs->di);
	case KIND_AT_PATH:
	case KIND_OPEN_AT:
		return device_at(regs->di, (const char *)regs->si);
	case KIND_NEW_PATH:
		return device_at(AT_FDCWD, (const char *)regs->si);
	case KIND_NEW_AT_PATH:
		return device_at(regs->si, (const char *)regs->dx);
	case KIND_AT_PATH_AT_PATH:
		return device_at(regs->dx, (const char *)regs->r10);
	case KIND_FD:
		file = file_of(regs->di);
		return file ? device_of(file) : 0;
	}
	return 0;
}

static __always_inline int end_name(struct call *call, s64 result)
{
	struct file_id id = {};
	struct done done = {};
	struct file *file;
	done.key.op = call->op;
	/* What failed created and removed nothing; it did look the name up. */
	if (result < 0 && (call->op == OP_CREATE || call->op == OP_REMOVE))
		done.key.op = OP_LOOKUP;
	if ((call->kind == KIND_OPEN || call->kind == KIND_OPEN_AT) && result >= 0) {
		file = file_of(result);
		if (file) {
			call->device = device_of(file);
			if (BPF_CORE_READ(file, f_mode) & MODE_CREATED) {
				done.key.op = OP_CREATE;
				/* It may have the number of a file that was removed. */
				if (regular(file, &id)) {
					bpf_map_delete_elem(&paths, &id);
					name(file, &id);
				}
			}
		}
	}
	if (!call->device)
		return 0;
	done.ns = bpf_ktime_get_ns() - call->begun;
	done.key.device = call->device;
	done.key.tgid = tgid_now();
	done.key.pattern = PATTERN_NONE;
	done.timed = done.counted = 1;
	return add(&done);
}

/* Bytes of the first parts of a vector of the program's; those beyond are not seen. */
#define PARTS 8
static __always_inline u64 bytes_of(u64 vector, u64 parts)
{
	struct iovec part;
	u64 bytes = 0;
	for (u32 i = 0; i < PARTS && i < parts; i++)
		if (!bpf_probe_read_user(&part, sizeof(part), (void *)(vector + i * sizeof(part))))
			bytes += part.len;
	return bytes;
}

/* The file of an io_uring request that is not yet begun. */
static __always_inline struct file *requested_file(struct io_kiocb *req)
{
	s32 fd = BPF_CORE_READ(req, cqe.fd);
	struct io_rsrc_node **nodes, *node = 0;
	if (!(BPF_CORE_READ(req, flags) & REQ_FIXED_FILE))
		return file_of(fd);
	/* Linux 6.13; before that the file is learnt when the request is done. */
	if (!bpf_core_field_exists(struct io_file_table, data) || !bpf_core_field_exists(struct io_rsrc_data, nodes))
		return 0;
	if ((u32)fd >= BPF_CORE_READ(req, ctx, file_table.data.nr))
		return 0;
	nodes = BPF_CORE_READ(req, ctx, file_table.data.nodes);
	bpf_probe_read_kernel(&node, sizeof(node), nodes + fd);
	return node ? (struct file *)(BPF_CORE_READ(node, file_ptr) & FILE_POINTER) : 0;
}

/* Learns a request's file; false when it is no regular one. */
static __always_inline bool learn(struct request *request, struct file *file)
{
	struct file_id id = {};
	if (!file || !regular(file, &id))
		return false;
	request->key.inode = id.inode;
	request->key.device = id.device;
	request->direct = (BPF_CORE_READ(file, f_flags) & O_DIRECT) != 0;
	if (request->at == -1)
		request->at = BPF_CORE_READ(file, f_pos);
	request->key.pattern = pattern_of(&request->key, request->at, request->bytes, request->direct);
	request->known = 1;
	name(file, &id);
	return true;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(io_uring_submit, struct io_kiocb *req)
{
	struct io_rw *rw = (struct io_rw *)req;
	struct request request = {};
	struct file *file;
	u64 key = (u64)req;
	request.key.tgid = tgid_now();
	if (!is_wanted(request.key.tgid))
		return 0;
	request.at = BPF_CORE_READ(rw, kiocb.ki_pos);
	request.bytes = BPF_CORE_READ(rw, len);
	switch (BPF_CORE_READ(req, opcode)) {
	case IORING_OP_READV:
		request.bytes = bytes_of(BPF_CORE_READ(rw, addr), request.bytes);
	case IORING_OP_READ_FIXED:
	case IORING_OP_READ:
		request.key.op = OP_READ;
		break;
	case IORING_OP_WRITEV:
		request.bytes = bytes_of(BPF_CORE_READ(rw, addr), request.bytes);
	case IORING_OP_WRITE_FIXED:
	case IORING_OP_WRITE:
		request.key.op = OP_WRITE;
		break;
	default:
		return 0;
	}
	file = requested_file(req);
	if (file && !learn(&request, file))
		return 0;
	request.begun = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&requests, &key, &request, BPF_ANY))
		lose(LOST_ROOM);
	return 0;
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(io_uring_done, void *ring, struct io_kiocb *req)
{
	struct request *request, own;
	struct done done = {};
	u64 key = (u64)req;
	s32 result;
	request = bpf_map_lookup_elem(&requests, &key);
	if (!request)
		return 0;
	own = *request;
	bpf_map_delete_elem(&requests, &key);
	result = BPF_CORE_READ(req, cqe.res);
	if (result <= 0 || (!own.known && !learn(&own, BPF_CORE_READ(req, file))))
		return 0;
	done.key = own.key;
	done.bytes = result;
	done.ns = bpf_ktime_get_ns() - own.begun;
	done.timed = done.counted = 1;
	return add(&done);
}

/* The requests of one call. */
struct batch {
	u64 array;
	u64 begun;
	u64 now;
	u32 tgid;
};

static long submitted(u32 place, struct batch *batch)
{
	struct file_id id = {};
	struct done done = {};
	struct aio_key key = { .tgid = batch->tgid };
	struct aio aio = {};
	struct iocb iocb;
	struct file *file;
	if (bpf_probe_read_user(&key.request, sizeof(key.request), (void *)(batch->array + place * 8ULL)) ||
	    bpf_probe_read_user(&iocb, sizeof(iocb), (void *)key.request))
		return 0;
	done.bytes = iocb.bytes;
	switch (iocb.opcode) {
	case IOCB_CMD_PREADV:
		done.bytes = bytes_of(iocb.buffer, iocb.bytes);
	case IOCB_CMD_PREAD:
		done.key.op = OP_READ;
		break;
	case IOCB_CMD_PWRITEV:
		done.bytes = bytes_of(iocb.buffer, iocb.bytes);
	case IOCB_CMD_PWRITE:
		done.key.op = OP_WRITE;
		break;
	default:
		return 0;
	}
	file = file_of(iocb.fd);
	if (!file || !regular(file, &id))
		return 0;
	done.key.inode = id.inode;
	done.key.device = id.device;
	done.key.tgid = batch->tgid;
	done.counted = 1;
	done.key.pattern = pattern_of(&done.key, iocb.offset, done.bytes, (BPF_CORE_READ(file, f_flags) & O_DIRECT) != 0);
	name(file, &id);
	add(&done);
	aio.key = done.key;
	aio.begun = batch->begun;
	bpf_map_update_elem(&aios, &key, &aio, BPF_ANY);
	return 0;
}

static long returned(u32 place, struct batch *batch)
{
	struct aio_key key = { .tgid = batch->tgid };
	struct done done = {};
	struct io_event event;
	struct aio *aio;
	if (bpf_probe_read_user(&event, sizeof(event), (void *)(batch->array + place * sizeof(event))))
		return 0;
	key.request = event.request;
	aio = bpf_map_lookup_elem(&aios, &key);
	if (!aio)
		return 0;
	done.key = aio->key;
	done.ns = batch->now - aio->begun;
	done.timed = 1;
	bpf_map_delete_elem(&aios, &key);
	add(&done);
	return 0;
}

static __always_inline int end_aio(struct call *call, s64 result)
{
	struct batch batch = { .now = bpf_ktime_get_ns(), .tgid = tgid_now() };
	if (result <= 0)
		return 0;
	batch.array = call->array;
	batch.begun = call->begun;
	if (call->kind == KIND_SUBMIT)
		bpf_loop(result, submitted, &batch, 0);
	else
		bpf_loop(result, returned, &batch, 0);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins, struct pt_regs *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 meaning = meaning_of(number);
	struct call *call;
	if (!meaning || !is_wanted(task->tgid) || call_is_32_bit(task))
		return 0;
	call = call_now(true);
	if (!call) {
		lose(LOST_ROOM);
		return 0;
	}
	call->op = MEANING_OP(meaning);
	call->kind = MEANING_KIND(meaning);
	call->open = 1;
	if (call->kind <= KIND_SENDFILE)
		call->open = begin_io(call, regs);
	else if (call->kind == KIND_SUBMIT)
		call->array = regs->dx;
	else if (call->kind == KIND_GET_EVENTS)
		call->array = regs->r10;
	else
		call->device = begin_name(call, regs);
	call->begun = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_ends, struct pt_regs *regs, long result)
{
	struct call *call;
	if (!meaning_of(regs->orig_ax))
		return 0;
	call = call_now(false);
	if (!call || !call->open)
		return 0;
	call->open = 0;
	if (call->kind <= KIND_SENDFILE)
		return end_io(call, result);
	if (call->kind >= KIND_SUBMIT)
		return end_aio(call, result);
	return end_name(call, result);
}

/* A mapping of a process, and how often its mappings had changed when it was found. */
struct mapping {
	/* Whose it is; a process that executes another program gets new ones. */
	u64 memory;
	u64 begin;
	u64 end;
	u32 changes;
	u32 shared;
	/* Whether it can be used again: the kernel counts changes. */
	u32 lasts;
};

/* The page fault that a task is at; what it is in the page cache comes after it, perhaps on another CPU. */
struct fault {
	u64 address;
	/* How many faults the task had ended when this one began. */
	u64 ended;
	u32 write;
	u32 counted;
	/* Where the last one was: to look for a mapping costs more than all the rest. */
	struct mapping mapping;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fault);
} faults SEC(".maps");

#define FAULT_WRITE 2
#define VM_SHARED 8

static __always_inline u64 faults_ended(struct task_struct *task)
{
	return task->min_flt + task->maj_flt;
}

static __always_inline int faulted(unsigned long address, unsigned long error)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fault *fault;
	if (!is_wanted(task->tgid))
		return 0;
	fault = bpf_task_storage_get(&faults, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!fault) {
		lose(LOST_ROOM);
		return 0;
	}
	fault->address = address;
	fault->ended = faults_ended(task);
	fault->write = (error & FAULT_WRITE) != 0;
	fault->counted = 0;
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(fault_user, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return faulted(address, error);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return faulted(address, error);
}

/* How often mappings of the current process have changed; false where the kernel does not say, or one changes now. */
static __always_inline bool changes_now(u32 *changes)
{
	struct mm_struct *mm = bpf_get_current_task_btf()->mm;
	if (!mm)
		return false;
	if (bpf_core_field_exists(mm->mm_lock_seq)) {
		*changes = mm->mm_lock_seq.sequence;
		return !(*changes & 1);
	}
	if (bpf_core_field_exists(((struct mm_struct___6_4 *)mm)->mm_lock_seq)) {
		*changes = BPF_CORE_READ((struct mm_struct___6_4 *)mm, mm_lock_seq);
		return true;
	}
	return false;
}

static long look_at(struct task_struct *task, struct vm_area_struct *area, struct mapping *mapping)
{
	struct file_id id = {};
	struct file *file = BPF_CORE_READ(area, vm_file);
	mapping->begin = BPF_CORE_READ(area, vm_start);
	mapping->end = BPF_CORE_READ(area, vm_end);
	mapping->shared = (BPF_CORE_READ(area, vm_flags) & VM_SHARED) != 0;
	if (file && regular(file, &id))
		name(file, &id);
	return 0;
}

/* Whether the mapping of a fault is shared. Its file is named the first time. */
static __always_inline u32 is_shared(struct task_struct *task, struct fault *fault)
{
	struct mapping fresh = {}, *last = &fault->mapping;
	fresh.memory = (u64)task->mm;
	fresh.lasts = changes_now(&fresh.changes);
	if (fresh.lasts && last->lasts && last->memory == fresh.memory && last->changes == fresh.changes &&
	    last->begin <= fault->address && fault->address < last->end)
		return last->shared;
	bpf_find_vma(task, fault->address, look_at, &fresh, 0);
	*last = fresh;
	return fresh.shared;
}

/* A page fault found its page in `file`'s cache, or has to read it. */
static __always_inline int paged(struct address_space *cache)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct done done = {};
	struct file_id id = {};
	struct fault *fault;
	struct inode *inode;
	u32 shared = 0;
	fault = bpf_task_storage_get(&faults, task, 0, 0);
	/* Pages that are mapped beforehand come without a fault, long after one that has ended; and a fault that had to wait
	   comes here again. */
	if (!fault || fault->counted || fault->ended != faults_ended(task))
		return 0;
	done.key.tgid = task->tgid;
	fault->counted = 1;
	/* Read directly, which is much cheaper than by a helper. */
	inode = cache->host;
	id.inode = done.key.inode = inode->i_ino;
	id.device = done.key.device = inode->i_sb->s_dev;
	if (fault->write || !bpf_map_lookup_elem(&paths, &id))
		shared = is_shared(task, fault);
	/* A page that is private is only read: what is written is a copy. */
	done.key.op = fault->write && shared ? OP_WRITE : OP_READ;
	done.key.pattern = PATTERN_PAGE;
	done.bytes = page_bytes;
	done.counted = 1;
	return add(&done);
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(mapped, struct address_space *cache)
{
	return paged(cache);
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(faulted_in, struct address_space *cache)
{
	return paged(cache);
}
