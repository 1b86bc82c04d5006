/* Uses half a second of a CPU in `hot`, or as many milliseconds as given; then waits for 0.3 s, if it was not. */
#include <stdlib.h>
#include <time.h>

volatile unsigned long sink;

__attribute__((noinline)) void hot(void)
{
	for (long i = 0; i < 200000; i++)
		sink += i * i;
}

__attribute__((noinline)) void work(void)
{
	hot();
	sink++;
}

__attribute__((noinline)) void wait_a_while(void)
{
	struct timespec t = { 0, 300000000 };
	nanosleep(&t, 0);
	sink++;
}

static double used(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double enough = argc > 1 ? atoi(argv[1]) / 1e3 : 0.5;
	do {
		work();
	} while (used() < enough);
	if (argc == 1)
		wait_a_while();
	return 0;
}
