/* What the programs use of the kernel's types: only these fields, found where the running kernel has them (CO-RE). */
#pragma once
/* Lets bpf_tracing.h use the kernel's names of registers. */
#define __VMLINUX_H__ 1

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __sum16;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

/* Numbers of the kernel's interface; they never change. */
enum bpf_map_type_numbers {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_STACK_TRACE = 7,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LRU_PERCPU_HASH = 10,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};
enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_INNER_MAP = 4096,
};
enum {
	BPF_F_USER_STACK = 256,
	BPF_F_FAST_STACK_CMP = 512,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};
#define BPF_F_CURRENT_CPU 0xffffffffULL
#define EEXIST 17

#define KERNEL __attribute__((preserve_access_index))

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
} KERNEL;
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	u64 regs[31];
	u64 sp, pc, pstate;
} KERNEL;
struct pt_regs {
	struct user_pt_regs user_regs;
	s32 syscallno;
} KERNEL;
#endif

typedef struct {
	int counter;
} atomic_t;

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
} KERNEL;

struct inode {
	u16 i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
	s64 i_size;
} KERNEL;

struct qstr {
	const unsigned char *name;
} KERNEL;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
} KERNEL;

struct path {
	struct dentry *dentry;
} KERNEL;

struct file {
	s64 f_pos;
	unsigned int f_flags;
	unsigned int f_mode;
	struct inode *f_inode;
	struct path f_path;
} KERNEL;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} KERNEL;

struct files_struct {
	struct fdtable *fdt;
} KERNEL;

struct fs_struct {
	struct path root, pwd;
} KERNEL;

struct address_space {
	struct inode *host;
} KERNEL;

struct signal_struct {
	atomic_t live;
} KERNEL;

struct thread_info {
	u32 status;
} KERNEL;

struct seqcount {
	unsigned int sequence;
} KERNEL;

/* `mm_lock_seq` counts changes of the mappings; odd while there is one. */
struct mm_struct {
	struct seqcount mm_lock_seq;
	unsigned long start_code, start_stack;
} KERNEL;

/* Linux 6.4 to 6.12. */
struct mm_struct___6_4 {
	int mm_lock_seq;
} KERNEL;

struct task_struct {
	struct thread_info thread_info;
	int pid;
	int tgid;
	char comm[16];
	unsigned int flags;
	unsigned int __state;
	struct signal_struct *signal;
	struct files_struct *files;
	struct fs_struct *fs;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	unsigned int in_iowait : 1;
	unsigned long min_flt, maj_flt;
} KERNEL;

/* Before Linux 5.14. */
struct task_struct___old {
	long state;
} KERNEL;

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct file *vm_file;
} KERNEL;

struct irqaction {
	unsigned int irq;
	const char *name;
	void *handler;
	void *thread_fn;
} KERNEL;

struct trace_event_raw_sys_enter {
	u64 ent;
	long id;
	unsigned long args[6];
} KERNEL;

struct trace_event_raw_sys_exit {
	u64 ent;
	long id;
	long ret;
} KERNEL;

struct bpf_perf_event_data;
struct linux_binprm;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";
