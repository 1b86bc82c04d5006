/* Threads of known behaviour, each named by it, until standard input ends: spin, call, sleep, lock, pipe, fault. */
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static volatile char *missing;

static void *spin(void *unused)
{
	for (volatile uint64_t i = 0;; i++) {
	}
	return unused;
}

static void *call(void *unused)
{
	for (;;)
		syscall(SYS_getppid);
	return unused;
}

static void *nap(void *unused)
{
	for (;;)
		usleep(20000);
	return unused;
}

static void *lock(void *unused)
{
	pthread_mutex_lock(&mutex);
	return unused;
}

static void *receive(void *unused)
{
	char byte;
	(void)!read(ends[0], &byte, 1);
	return unused;
}

static void *fault(void *unused)
{
	(void)*missing;
	return unused;
}

/* A page that never comes. */
static int no_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register wanted = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int faults = syscall(SYS_userfaultfd, 0);
	missing = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	wanted.range.start = (uintptr_t)missing;
	wanted.range.len = 4096;
	return faults >= 0 && !ioctl(faults, UFFDIO_API, &api) && !ioctl(faults, UFFDIO_REGISTER, &wanted);
}

int main(void)
{
	static const struct {
		const char *name;
		void *(*does)(void *);
	} threads[] = { { "spin", spin }, { "call", call }, { "nap", nap }, { "lock", lock }, { "pipe", receive }, { "fault", fault } };
	int n = no_page() ? 6 : 5;
	char byte;
	if (pipe(ends))
		return 2;
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < n; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, threads[i].does, NULL);
		pthread_setname_np(thread, threads[i].name);
	}
	puts(n == 6 ? "all" : "no faults");
	fflush(stdout);
	(void)!read(0, &byte, 1);
	_exit(0);
}
