/* Has all that an interpreter of Python has, by name, and in it what leads nowhere, or round in a circle. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <pthread.h>

/* 3.12 */
const unsigned long Py_Version = 0x030c00f0;
uint64_t PyCode_Type[64];
uint64_t _PyRuntime[64];

static uint64_t interpreter[64], thread[64], inner[64], frame[64], code[64], name[64];

__attribute__((noinline)) static uint64_t burn(double seconds)
{
	struct timespec begin, now;
	uint64_t sum = 0;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (uint64_t i = 0; i < 100000; i++)
			sum += i * sum + 1;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) / 1e9 < seconds);
	return sum;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t sum = 0;
	_PyRuntime[40 / 8] = (uint64_t)interpreter;
	interpreter[0] = (uint64_t)interpreter;
	interpreter[72 / 8] = (uint64_t)thread;
	thread[8 / 8] = (uint64_t)thread;
	/* Threads, none of them this one. */
	sum += burn(seconds / 3);
	thread[136 / 8] = (uint64_t)pthread_self();
	thread[56 / 8] = (uint64_t)inner;
	inner[0] = (uint64_t)frame;
	frame[0] = (uint64_t)code;
	frame[8 / 8] = (uint64_t)frame;
	code[8 / 8] = (uint64_t)PyCode_Type;
	code[112 / 8] = 0xffff800000000000;
	code[128 / 8] = (uint64_t)name;
	/* Compact characters, endlessly many. */
	name[16 / 8] = ~0ULL;
	name[32 / 8] = 1 << 2 | 1 << 5 | 1 << 6;
	sum += burn(seconds / 3);
	/* What is no code. */
	frame[0] = (uint64_t)name;
	inner[0] = (uint64_t)&frame[1];
	sum += burn(seconds / 3);
	return sum == 7;
}
