/* Threads of one process that map, touch and unmap memory: they meet at the lock of its mappings. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS 4
static int rounds;

static void *fight(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		char *at = mmap(NULL, 64 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			exit(3);
		for (int page = 0; page < 64; page++)
			at[page << 12] = 1;
		munmap(at, 64 << 12);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int n = argc > 2 && !strcmp(argv[2], "alone") ? 1 : THREADS;
	rounds = atoi(argv[1]);
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, fight, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
