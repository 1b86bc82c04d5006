/* What is used of io_uring's and libaio's own types. */
#pragma once
#include "kernel.h"

struct kiocb {
	s64 ki_pos;
	int ki_flags;
} KERNEL;

struct io_rw {
	struct kiocb kiocb;
	u64 addr;
	u32 len;
} KERNEL;

struct io_cqe {
	s32 res;
	int fd;
} KERNEL;

struct io_rsrc_node {
	unsigned long file_ptr;
} KERNEL;

struct io_rsrc_data {
	unsigned int nr;
	struct io_rsrc_node **nodes;
} KERNEL;

struct io_file_table {
	struct io_rsrc_data data;
} KERNEL;

struct io_ring_ctx {
	struct io_file_table file_table;
} KERNEL;

struct io_kiocb {
	struct file *file;
	u8 opcode;
	u64 flags;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
} KERNEL;

/* Numbers of the interface. */
enum {
	IORING_OP_READV = 1,
	IORING_OP_WRITEV = 2,
	IORING_OP_READ_FIXED = 4,
	IORING_OP_WRITE_FIXED = 5,
	IORING_OP_READ = 22,
	IORING_OP_WRITE = 23,
};
/* Of a request's flags: its descriptor is one of the files registered with the ring. */
#define REQ_FIXED_FILE 1
/* Of a registered file's pointer: these bits are flags. */
#define FILE_POINTER (~7UL)

struct iovec {
	u64 base;
	u64 len;
};

/* libaio: what a program asks for, and what it gets when it is done. */
struct iocb {
	u64 data;
	u32 key, rw_flags;
	u16 opcode;
	__s16 priority;
	u32 fd;
	u64 buffer, bytes;
	s64 offset;
	u64 reserved;
	u32 flags, event_fd;
};

enum {
	IOCB_CMD_PREAD = 0,
	IOCB_CMD_PWRITE = 1,
	IOCB_CMD_PREADV = 7,
	IOCB_CMD_PWRITEV = 8,
};

struct io_event {
	u64 data, request;
	s64 result, result2;
};
