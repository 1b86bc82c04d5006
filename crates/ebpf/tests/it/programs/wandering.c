/* Reads pages of a mapped file, each after a page of its memory, while another thread moves it from CPU to CPU. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, APART = 16, PAGES = 1024 };

static pid_t reader;
static volatile int done;

static void *move(void *unused)
{
	cpu_set_t may, one;
	sched_getaffinity(0, sizeof(may), &may);
	while (!done)
		for (int cpu = 0; cpu < CPU_SETSIZE && !done; cpu++) {
			if (!CPU_ISSET(cpu, &may))
				continue;
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(reader, sizeof(one), &one);
			usleep(20);
		}
	return unused;
}

int main(int argc, char **argv)
{
	size_t bytes = (size_t)PAGES * APART * PAGE;
	int file = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	volatile char *mapped, *own, sum = 0;
	pthread_t mover;
	if (file < 0 || fsync(file) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED))
		return 1;
	mapped = mmap(0, bytes, PROT_READ, MAP_SHARED, file, 0);
	own = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED || own == MAP_FAILED || madvise((void *)mapped, bytes, MADV_RANDOM))
		return 1;
	reader = gettid();
	if (pthread_create(&mover, 0, move, 0))
		return 1;
	for (size_t i = 0; i < PAGES; i++) {
		own[i * PAGE] = 1;
		sum += mapped[i * APART * PAGE];
	}
	done = 1;
	pthread_join(mover, 0);
	return sum & 0;
}
