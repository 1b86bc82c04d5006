/* Accesses to files through the page cache, and which of them had to bring pages into it, by process (Linux 6.12). */
#include "follow.h"

/* Of the size of pages; set before loading. */
const volatile u32 page_shift = 12;

struct sums {
	/* All in pages. */
	u64 accesses;
	u64 misses;
	u64 written;
	u64 removed;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct sums);
} processes SEC(".maps");
static const struct sums no_sums;

/* What a thread accessed last. */
struct access {
	struct address_space *file;
	u64 first;
	u64 last;
	/* Pages that it brought in of a file that it has not accessed yet: a read is seen when its first pages are there. */
	struct address_space *next_file;
	u64 next_pages;
	/* Whether it was a fault, and whether that is counted for the pages that it brings in. */
	u32 is_fault;
	u32 is_counted;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct access);
} accesses SEC(".maps");

/* Of a folio how many pages it has: the field has had other names, and is set in large ones only. */
struct folio {
	struct address_space *mapping;
	u32 _nr_pages;
} KERNEL;
struct folio___6_1 {
	u32 _folio_nr_pages;
} KERNEL;
/* A bit of the first word, the type of which has changed. */
enum pageflags {
	PG_head = 6,
};

static __always_inline u64 pages_of(struct folio *folio)
{
	u64 flags = 0, large = 1ULL << bpf_core_enum_value(enum pageflags, PG_head);
	u32 pages = 0;
	bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	if (!(flags & large))
		return 1;
	if (bpf_core_field_exists(folio->_nr_pages))
		pages = BPF_CORE_READ(folio, _nr_pages);
	else if (bpf_core_field_exists(((struct folio___6_1 *)folio)->_folio_nr_pages))
		pages = BPF_CORE_READ((struct folio___6_1 *)folio, _folio_nr_pages);
	return pages ? pages : 1;
}

static __always_inline struct sums *sums_of(struct task_struct *task)
{
	u32 tgid = task->tgid;
	struct sums *sums;
	if (!is_wanted(tgid))
		return NULL;
	sums = bpf_map_lookup_elem(&processes, &tgid);
	if (sums)
		return sums;
	bpf_map_update_elem(&processes, &tgid, &no_sums, BPF_NOEXIST);
	sums = bpf_map_lookup_elem(&processes, &tgid);
	if (!sums) {
		lose(LOST_ROOM);
		return NULL;
	}
	BPF_CORE_READ_STR_INTO(&sums->comm, task, group_leader, comm);
	return sums;
}

/* Whether the thread is in a system call that writes to files: what it adds to the cache is not read. */
static __always_inline bool is_writing(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	switch (BPF_CORE_READ(regs, orig_ax)) {
	case 1:   /* write */
	case 18:  /* pwrite64 */
	case 20:  /* writev */
	case 296: /* pwritev */
	case 328: /* pwritev2 */
	case 76:  /* truncate */
	case 77:  /* ftruncate */
	case 285: /* fallocate */
		return true;
	}
#endif
	return false;
}

/* Of modes of files. */
#define FORMAT 0170000
#define REGULAR 0100000

static __always_inline struct access *access_of(struct task_struct *task, bool create)
{
	return bpf_task_storage_get(&accesses, task, 0, create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

static __always_inline void missed(struct sums *sums, struct access *access, u64 pages)
{
	__sync_fetch_and_add(&sums->misses, pages);
	/* Of a fault is not known which pages of those that it brought in will be accessed: all are, and once. */
	if (access->is_fault) {
		__sync_fetch_and_add(&sums->accesses, pages - access->is_counted);
		access->is_counted = 0;
	}
}

static __always_inline void accessed(struct sums *sums, struct access *access, struct address_space *file, u64 pages,
				     bool is_fault)
{
	access->file = file;
	access->is_fault = is_fault;
	access->is_counted = is_fault;
	__sync_fetch_and_add(&sums->accesses, pages);
	if (access->next_file == file && access->next_pages)
		missed(sums, access, access->next_pages);
	access->next_file = NULL;
	access->next_pages = 0;
}

/* A read of pages `first` to `last`, which may be beyond the file's end. A long one comes here again and again, with what is
 * left of it. */
SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(read_pages, struct address_space *file, unsigned long first, unsigned long last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sums *sums = sums_of(task);
	struct access *access;
	u64 size, end = last;
	bool goes_on;
	if (!sums)
		return 0;
	access = access_of(task, true);
	if (!access) {
		lose(LOST_ROOM);
		return 0;
	}
	goes_on = access->file == file && access->last == last && first > access->first;
	access->first = first;
	access->last = last;
	size = BPF_CORE_READ(file, host, i_size);
	if (size && end > (size - 1) >> page_shift)
		end = (size - 1) >> page_shift;
	accessed(sums, access, file, goes_on || end < first ? 0 : end - first + 1, false);
	return 0;
}

static __always_inline int faulted(struct address_space *file)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sums *sums = sums_of(task);
	struct access *access = sums ? access_of(task, true) : NULL;
	if (!access)
		return 0;
	access->last = access->first = -1;
	accessed(sums, access, file, 1, true);
	return 0;
}

/* A fault that found its page in the cache, and mapped those around it. */
SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(mapped, struct address_space *file)
{
	return faulted(file);
}

/* One that did not. */
SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(fault, struct address_space *file)
{
	return faulted(file);
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(added, struct folio *folio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sums *sums = sums_of(task);
	struct address_space *file;
	struct access *access;
	if (!sums)
		return 0;
	if (is_writing(task)) {
		__sync_fetch_and_add(&sums->written, pages_of(folio));
		return 0;
	}
	file = BPF_CORE_READ(folio, mapping);
	access = access_of(task, true);
	if (!access)
		return 0;
	if (access->file == file) {
		missed(sums, access, pages_of(folio));
		return 0;
	}
	/* Others are the file system's own: its maps of blocks and folders. */
	if ((BPF_CORE_READ(file, host, i_mode) & FORMAT) != REGULAR)
		return 0;
	if (access->next_file != file)
		access->next_pages = 0;
	access->next_file = file;
	access->next_pages += pages_of(folio);
	return 0;
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(removed, struct folio *folio)
{
	struct sums *sums = sums_of(bpf_get_current_task_btf());
	if (sums)
		__sync_fetch_and_add(&sums->removed, pages_of(folio));
	return 0;
}
