/* One thing done many times: observers MODE BATCHES PER prints the minimum of nanoseconds that one took.
 *
 *   getppid   a system call that does nothing
 *   pipe      two context switches: a byte to another process of the same CPU, and back
 *   pread     4 KiB at a random place of a file that is in the page cache
 *   fault     a page of a file, mapped anew
 *   datagram  a datagram to oneself, which is a soft interrupt
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 16384

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int filled(void)
{
	static char page[PAGE];
	char name[] = "/tmp/fenxi-bench-XXXXXX";
	int file = mkstemp(name);
	if (file < 0 || unlink(name))
		fail("mkstemp");
	for (int i = 0; i < PAGES; i++)
		if (write(file, page, PAGE) != PAGE)
			fail("write");
	return file;
}

static void echo(int from, int to)
{
	char byte;
	while (read(from, &byte, 1) == 1)
		if (write(to, &byte, 1) != 1)
			break;
	_exit(0);
}

/* A socket that is connected to itself. */
static int loop(void)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof own;
	int ends = socket(AF_INET, SOCK_DGRAM, 0);
	if (ends < 0 || bind(ends, (struct sockaddr *)&own, size) || getsockname(ends, (struct sockaddr *)&own, &size) ||
	    connect(ends, (struct sockaddr *)&own, size))
		fail("socket");
	return ends;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	const char *mode = argv[1];
	int batches = atoi(argv[2]), per = atoi(argv[3]);
	int file = -1, there[2], back[2];
	char buffer[PAGE];
	volatile char *map = 0;
	long long least = -1;
	unsigned seed = 7;
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof first, &first);
	if (!strcmp(mode, "pread") || !strcmp(mode, "fault"))
		file = filled();
	if (!strcmp(mode, "datagram"))
		file = loop();
	if (!strcmp(mode, "pipe")) {
		if (pipe(there) || pipe(back))
			fail("pipe");
		if (!fork()) {
			close(there[1]);
			echo(there[0], back[1]);
		}
		close(there[0]);
	}
	for (int batch = 0; batch < batches; batch++) {
		if (!strcmp(mode, "fault")) {
			if (map)
				munmap((void *)map, PAGES * PAGE);
			/* Private and written to: each page faults by itself. */
			map = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
			if (map == MAP_FAILED)
				fail("mmap");
		}
		long long begin = now();
		for (int i = 0; i < per; i++) {
			if (file < 0 && mode[0] == 'g') {
				syscall(SYS_getppid);
			} else if (!strcmp(mode, "pipe")) {
				if (write(there[1], buffer, 1) != 1 || read(back[0], buffer, 1) != 1)
					fail("pipe");
			} else if (!strcmp(mode, "pread")) {
				if (pread(file, buffer, PAGE, (off_t)(rand_r(&seed) % PAGES) * PAGE) != PAGE)
					fail("pread");
			} else if (!strcmp(mode, "datagram")) {
				if (send(file, buffer, 64, 0) != 64 || recv(file, buffer, 64, 0) != 64)
					fail("datagram");
			} else {
				map[(size_t)(i % PAGES) * PAGE] = 1;
			}
		}
		long long took = now() - begin;
		if (least < 0 || took < least)
			least = took;
	}
	printf("%.1f\n", (double)least / per);
	return 0;
}
