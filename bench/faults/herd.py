"""Each item wakes all threads, and one of them has work; before, it wakes one."""

from programs import SECONDS, compiled

TITLE = "a thundering herd"
FINDINGS = {"context-switch-storm", "threads-take-turns", "lock-switches", "wake-all"}
HERD = r"""
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static long waiting; static int over, all;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *work(void *of) {
    volatile long sum = 0; (void)of;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!waiting && !over) pthread_cond_wait(&more, &lock);
        if (over) { pthread_mutex_unlock(&lock); return 0; }
        waiting--; pthread_mutex_unlock(&lock);
        for (int i = 0; i < 20000; i++) sum += i;
    }
}
int main(int n, char **words) {
    (void)n; all = atoi(words[1]); double end = now() + atof(words[2]); pthread_t of[64];
    for (int i = 0; i < 64; i++) pthread_create(&of[i], 0, work, 0);
    while (now() < end) {
        pthread_mutex_lock(&lock); waiting++; if (all) pthread_cond_broadcast(&more); else pthread_cond_signal(&more); pthread_mutex_unlock(&lock);
        usleep(100);
    }
    pthread_mutex_lock(&lock); over = 1; pthread_cond_broadcast(&more); pthread_mutex_unlock(&lock);
    for (int i = 0; i < 64; i++) pthread_join(of[i], 0);
}
"""
LOADS = {"threads": (lambda: [compiled("herd", HERD), "0", SECONDS], lambda: [compiled("herd", HERD), "1", SECONDS])}
