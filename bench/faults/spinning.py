"""Threads that wait for a lock by looking at it again and again; before, they sleep until it is free."""

from programs import SECONDS, compiled

TITLE = "threads spin for a lock"
FINDINGS = {"threads-yield"}
THREADS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_flag taken = ATOMIC_FLAG_INIT;
static const char *how; static double end;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) static void spin_until_free(void) {
    while (atomic_flag_test_and_set(&taken)) if (!strcmp(how, "yield")) sched_yield();
}
static void *work(void *of) {
    volatile long sum = 0; (void)of;
    while (now() < end) {
        if (!strcmp(how, "sleep")) pthread_mutex_lock(&mutex); else spin_until_free();
        for (int i = 0; i < 200000; i++) sum += i;
        if (!strcmp(how, "sleep")) pthread_mutex_unlock(&mutex); else atomic_flag_clear(&taken);
        struct timespec pause = {0, 300000}; nanosleep(&pause, 0);
    }
    return 0;
}
int main(int n, char **words) {
    (void)n; how = words[1]; end = now() + atof(words[2]);
    pthread_t all_of[4];
    for (int i = 0; i < 4; i++) pthread_create(&all_of[i], 0, work, 0);
    for (int i = 0; i < 4; i++) pthread_join(all_of[i], 0);
}
"""


def threads(how):
    return [compiled("spinning", THREADS), how, SECONDS]


LOADS = {
    "yield": (lambda: threads("sleep"), lambda: threads("yield")),
    "busy": (lambda: threads("sleep"), lambda: threads("spin")),
}
