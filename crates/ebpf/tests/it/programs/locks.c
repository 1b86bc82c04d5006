/* Four threads that fight over one lock, and a little over another; or, on request, over malloc's; or one thread alone. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t cool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t nothing_comes = PTHREAD_COND_INITIALIZER;
static volatile unsigned long work;
static int rounds;

static void nap(long us)
{
	struct timespec time = { 0, us * 1000 };
	nanosleep(&time, 0);
}

/* The holder sleeps, so that the others have to wait whatever the number of CPUs. */
__attribute__((noinline)) void take_the_hot_lock(void)
{
	pthread_mutex_lock(&hot_lock);
	work++;
	nap(200);
	pthread_mutex_unlock(&hot_lock);
}

__attribute__((noinline)) void take_the_cool_lock(void)
{
	pthread_mutex_lock(&cool_lock);
	work++;
	pthread_mutex_unlock(&cool_lock);
}

/* A wait that is for no lock. */
static void wait_for_nothing(void)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 300 * 1000 * 1000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&own);
	pthread_cond_timedwait(&nothing_comes, &own, &until);
	pthread_mutex_unlock(&own);
}

static void *fight(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		take_the_hot_lock();
		if (i % 10 == 0)
			take_the_cool_lock();
	}
	wait_for_nothing();
	return unused;
}

static void *allocate(void *unused)
{
	for (int i = 0; i < rounds; i++) {
		void *all[64];
		for (int j = 0; j < 64; j++)
			all[j] = malloc(2000 + 64 * j);
		for (int j = 0; j < 64; j++)
			free(all[j]);
	}
	return unused;
}

int main(int argc, char **argv)
{
	void *(*run)(void *) = argc > 2 && !strcmp(argv[2], "malloc") ? allocate : fight;
	int alone = argc > 2 && !strcmp(argv[2], "alone");
	pthread_t threads[4];
	rounds = argc > 1 ? atoi(argv[1]) : 100;
	for (int i = 0; i < (alone ? 1 : 4); i++)
		pthread_create(&threads[i], 0, run, 0);
	for (int i = 0; i < (alone ? 1 : 4); i++)
		pthread_join(threads[i], 0);
	return 0;
}
