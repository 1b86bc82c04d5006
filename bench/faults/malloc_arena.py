"""Threads that share one arena of malloc; before, each has its own."""

from programs import SECONDS, compiled

TITLE = "threads share one arena of malloc"
FINDINGS = {"threads-take-turns", "malloc-locks", "lock-switches"}
SOURCE = r"""
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double end; static int size;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *work(void *of) {
    char *kept[64] = {0}; unsigned n = 1 + (unsigned)(long)of;
    while (now() < end) for (int i = 0; i < 500; i++) {
        n = n * 1103515245u + 12345u; char **place = &kept[n >> 26];
        free(*place); *place = malloc(size + (n >> 20) % 4000); **place = 1;
    }
    return 0;
}
int main(int n, char **words) {
    (void)n; if (words[1][0] == '1') mallopt(M_ARENA_MAX, 1);
    int threads = atoi(words[2]); size = atoi(words[3]); end = now() + atof(words[4]);
    pthread_t all_of[64];
    for (long i = 0; i < threads; i++) pthread_create(&all_of[i], 0, work, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(all_of[i], 0);
}
"""


def allocate(shared, threads, size):
    return [compiled("malloc", SOURCE), shared, str(threads), str(size), SECONDS]


LOADS = {
    "four threads": (lambda: allocate("0", 4, 2000), lambda: allocate("1", 4, 2000)),
    "sixteen threads": (lambda: allocate("0", 16, 20000), lambda: allocate("1", 16, 20000)),
}
