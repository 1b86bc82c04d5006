"""One lock around all the work of several threads; before, each has its own."""

from programs import SECONDS, compiled, python

TITLE = "threads share one mutex"
FINDINGS = {"threads-take-turns"}
THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
static int shared, hold; static double end;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *work(void *of) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER; volatile long sum = 0; (void)of;
    while (now() < end) {
        pthread_mutex_t *lock = shared ? &all : &own;
        pthread_mutex_lock(lock); for (int i = 0; i < hold; i++) sum += i; pthread_mutex_unlock(lock);
    }
    return 0;
}
int main(int n, char **words) {
    (void)n; shared = atoi(words[1]); hold = atoi(words[2]); int threads = atoi(words[3]); end = now() + atof(words[4]);
    pthread_t all_of[64];
    for (int i = 0; i < threads; i++) pthread_create(&all_of[i], 0, work, 0);
    for (int i = 0; i < threads; i++) pthread_join(all_of[i], 0);
}
"""


def threads(shared, hold, number):
    return [compiled("mutex", THREADS), shared, str(hold), str(number), SECONDS]


# Python's own lock lets one thread compute at a time; processes have one each.
WORKERS = """
import sys, threading, multiprocessing
def work():
    total = 0
    while time.monotonic() < end:
        for i in range(20000): total += i
kind = threading.Thread if sys.argv[1] == "threads" else multiprocessing.Process
all_of = [kind(target=work) for _ in range(4)]
for one in all_of: one.start()
for one in all_of: one.join()
"""
# Processes that share one lock, which is in memory that they share.
PROCESSES = """
import sys, multiprocessing
def work(lock):
    while time.monotonic() < end:
        with lock: sum(range(20000))
shared = multiprocessing.Lock()
all_of = [multiprocessing.Process(target=work, args=(shared if sys.argv[1] == "shared" else multiprocessing.Lock(),)) for _ in range(5)]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {
    "long holds": (lambda: threads("0", 20000, 3), lambda: threads("1", 20000, 8)),
    "processes": (lambda: python(PROCESSES, "own"), lambda: python(PROCESSES, "shared")),
    "Python": (lambda: python(WORKERS, "processes"), lambda: python(WORKERS, "threads")),
}
