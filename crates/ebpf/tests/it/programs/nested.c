/* Five functions, one inside the other, that use the CPU for as many milliseconds as given: in the main thread, in a second
   thread, and inside the handler of a signal. Compiled without frame pointers, its callers are in `.eh_frame` only. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

volatile unsigned long sink;

#define NOINLINE __attribute__((noinline, noclone))

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Needs so many registers that the frame pointer's is one of them: taken for a frame, it leads to nowhere. */
NOINLINE unsigned long fifth(unsigned long n)
{
	unsigned long a = n, b = n * 3, c = n * 5, d = n * 7, e = n * 11, f = n * 13;
	for (long i = 0; i < 20000; i++) {
		a += b ^ i;
		b += c ^ a;
		c += d ^ b;
		d += e ^ c;
		e += f ^ d;
		f += a ^ e;
		sink += f;
	}
	return a + b + c + d + e + f;
}

NOINLINE unsigned long fourth(unsigned long n)
{
	/* So many that the frame's size depends on them. */
	volatile char room[n % 64 + 64];
	memset((void *)room, 1, sizeof(room));
	return fifth(n) + room[n % 64];
}

NOINLINE unsigned long third(unsigned long n)
{
	volatile unsigned long room[40];
	room[n % 40] = n;
	return fourth(room[n % 40]) + room[n % 40];
}

NOINLINE unsigned long second(unsigned long n)
{
	return third(n + 1) + n;
}

NOINLINE void first(double enough)
{
	double until = now() + enough;
	do {
		sink += second(sink);
	} while (now() < until);
	sink++;
}

static double enough;

NOINLINE void *threaded(void *unused)
{
	first(enough);
	sink++;
	return unused;
}

NOINLINE void handler(int number)
{
	first(enough);
	sink += number;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	enough = (argc > 1 ? atoi(argv[1]) : 500) / 3e3;
	first(enough);
	pthread_create(&thread, 0, threaded, 0);
	pthread_join(thread, 0);
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	return 0;
}
