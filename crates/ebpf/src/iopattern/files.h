/* Files: which one a descriptor is, which file system a path is on, what a file is called. */
#pragma once
#include "common.h"

#define KIND_MASK 0170000
#define KIND_REGULAR 0100000
#define O_DIRECT 040000
#define O_APPEND 02000
/* Of a file's mode: this opening made it (Linux 4.19). */
#define MODE_CREATED 0x100000
#define AT_FDCWD -100

/* A file, whatever it is called. */
struct file_id {
	u64 inode;
	u32 device;
	/* 0: keys of maps have no gaps. */
	u32 unused;
};

/* The open file of a descriptor of the current task; 0: there is none. */
static __always_inline struct file *file_of(s32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table;
	struct file **files, *file = 0;
	if (fd < 0)
		return 0;
	/* Read directly, which is much cheaper than by a helper. */
	table = task->files->fdt;
	if ((u32)fd >= table->max_fds)
		return 0;
	files = table->fd;
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}

static __always_inline u32 device_of(struct file *file)
{
	return BPF_CORE_READ(file, f_inode, i_sb, s_dev);
}

/* Whether it is a regular file; then its identity is in `id`. */
static __always_inline bool regular(struct file *file, struct file_id *id)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	if (!inode || (BPF_CORE_READ(inode, i_mode) & KIND_MASK) != KIND_REGULAR)
		return false;
	id->inode = BPF_CORE_READ(inode, i_ino);
	id->device = BPF_CORE_READ(inode, i_sb, s_dev);
	return true;
}

/* Mount points by their path with a slash at the end, and the device of what is mounted there; kept by the user part. */
#define MOUNT_PATH 124
struct mount_key {
	u32 bits;
	char path[MOUNT_PATH];
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct mount_key);
	__type(value, u32);
} mounts SEC(".maps");

/* The root directory that the paths of `mounts` begin at. */
const volatile u64 root_inode = 0;
const volatile u32 root_device = 0;

/* The device of the file system that a path names something on, by the path alone: symbolic links are not
   followed, and a relative path does not leave the file system that it begins at. */
static __always_inline u32 device_at(s32 directory, const char *path)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mount_key key = {};
	struct file *file;
	struct inode *root;
	u32 *device;
	long size = bpf_probe_read_user_str(key.path, sizeof(key.path), path);

	if (size > 1 && key.path[0] == '/') {
		root = BPF_CORE_READ(task, fs, root.dentry, d_inode);
		if (BPF_CORE_READ(root, i_ino) != root_inode || BPF_CORE_READ(root, i_sb, s_dev) != root_device)
			return BPF_CORE_READ(root, i_sb, s_dev);
		/* The name of a mount point itself has no slash at its end. */
		if (size > 0 && size < MOUNT_PATH)
			key.path[size - 1] = '/';
		key.bits = size * 8;
		device = bpf_map_lookup_elem(&mounts, &key);
		return device ? *device : 0;
	}
	if (directory == AT_FDCWD)
		return BPF_CORE_READ(task, fs, pwd.dentry, d_inode, i_sb, s_dev);
	file = file_of(directory);
	return file ? device_of(file) : 0;
}

/* A file's path within its file system: its names from the last to the first, each with a NUL behind it. */
#define PATH_ROOM 256
#define NAME_ROOM 64
#define PATH_DEPTH 24
struct file_path {
	/* Bytes of `names` in use. */
	u32 size;
	/* Whether the first name is in the root directory; else there are more above. */
	u32 whole;
	char names[PATH_ROOM + NAME_ROOM];
};

static __always_inline void read_path(struct file *file, struct file_path *path)
{
	struct dentry *entry = BPF_CORE_READ(file, f_path.dentry), *parent;
	u32 at = 0;
	path->whole = 0;
	for (int i = 0; i < PATH_DEPTH; i++) {
		long size;
		parent = BPF_CORE_READ(entry, d_parent);
		if (parent == entry || !parent) {
			path->whole = 1;
			break;
		}
		if (at >= PATH_ROOM)
			break;
		size = bpf_probe_read_kernel_str(path->names + at, NAME_ROOM, BPF_CORE_READ(entry, d_name.name));
		if (size <= 0)
			break;
		at += size & (NAME_ROOM * 2 - 1);
		entry = parent;
	}
	path->size = at;
}
