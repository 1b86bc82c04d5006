/* One thread holds the lock of a pipe while others wait for it: the write that holds it copies from a page that is not there
 * until userfaultfd brings it. Prints how often and how many nanoseconds the others waited, by the clock of each call. */
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAITERS 2
static int ends[2], faults;
static char *page;
static long size;
static pthread_barrier_t round_begins, round_ends;
static uint64_t waited_ns[WAITERS];
static volatile pid_t tids[WAITERS];
static int rounds;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void *hold(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		pthread_barrier_wait(&round_begins);
		if (write(ends[1], page, 1) != 1)
			exit(3);
		pthread_barrier_wait(&round_ends);
	}
	return unused;
}

/* Whether a thread is blocked by what no signal ends, as those are that wait for a lock of the kernel. */
static int is_blocked(pid_t tid)
{
	char path[64], state = 0;
	FILE *file;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		exit(3);
	fclose(file);
	return state == 'D';
}

static void *wait(void *number)
{
	tids[(intptr_t)number] = syscall(SYS_gettid);
	for (int i = 0; i < rounds; i++) {
		uint64_t begun;
		pthread_barrier_wait(&round_begins);
		usleep(5000);
		begun = now();
		if (write(ends[1], "w", 1) != 1)
			exit(3);
		waited_ns[(intptr_t)number] += now() - begun;
		pthread_barrier_wait(&round_ends);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register wanted = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t holder, waiters[WAITERS];
	uint64_t all = 0;
	rounds = argc > 1 ? atoi(argv[1]) : 10;
	size = sysconf(_SC_PAGESIZE);
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	faults = syscall(SYS_userfaultfd, 0);
	wanted.range.start = (uintptr_t)page;
	wanted.range.len = size;
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &wanted) || pipe(ends))
		return 2;
	pthread_barrier_init(&round_begins, NULL, WAITERS + 2);
	pthread_barrier_init(&round_ends, NULL, WAITERS + 2);
	pthread_create(&holder, NULL, hold, NULL);
	for (intptr_t i = 0; i < WAITERS; i++)
		pthread_create(&waiters[i], NULL, wait, (void *)i);
	for (int i = 0; i < rounds; i++) {
		struct uffd_msg message;
		struct uffdio_zeropage zero = { .range = wanted.range };
		char rest[WAITERS + 1];
		pthread_barrier_wait(&round_begins);
		if (read(faults, &message, sizeof(message)) != sizeof(message))
			return 3;
		for (int i = 0; i < WAITERS; i++)
			while (!tids[i] || !is_blocked(tids[i]))
				usleep(500);
		usleep(20000);
		if (ioctl(faults, UFFDIO_ZEROPAGE, &zero))
			return 3;
		pthread_barrier_wait(&round_ends);
		if (read(ends[0], rest, sizeof(rest)) < 1 || madvise(page, size, MADV_DONTNEED))
			return 3;
	}
	pthread_join(holder, NULL);
	for (int i = 0; i < WAITERS; i++) {
		pthread_join(waiters[i], NULL);
		all += waited_ns[i];
	}
	printf("%d %llu\n", rounds * WAITERS, (unsigned long long)all);
	return 0;
}
