"""Workers meet after each step, and one has most of the work; before, it is shared evenly."""

from programs import SECONDS, compiled, python

TITLE = "work is shared unevenly"
FINDINGS = {"one-thread-saturated", "one-cpu-saturated"}
# Of several processes nothing is full: what is left is that only one works.
SENTENCE = "uses one cpu"
STEPS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static pthread_barrier_t all; static int uneven, threads; static double end;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static volatile int over;
static void *work(void *of) {
    long me = (long)of; volatile long sum = 0; long whole = 4000000, mine = uneven ? (me ? whole / 40 : whole * 9 / 10) : whole / threads;
    while (!over) {
        for (long i = 0; i < mine; i++) sum += i;
        pthread_barrier_wait(&all);
        if (me == 0 && now() > end) over = 1;
        pthread_barrier_wait(&all);
    }
    return 0;
}
int main(int n, char **words) {
    (void)n; uneven = atoi(words[1]); threads = atoi(words[2]); end = now() + atof(words[3]); pthread_barrier_init(&all, 0, threads);
    pthread_t of[16];
    for (long i = 0; i < threads; i++) pthread_create(&of[i], 0, work, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(of[i], 0);
}
"""
POOL = """
import multiprocessing, sys
def work(n): return sum(range(n))
if __name__ == "__main__":
    parts = [2500000] * 4 if sys.argv[1] == "even" else [9700000, 100000, 100000, 100000]
    with multiprocessing.Pool(4) as pool:
        while time.monotonic() < end: pool.map(work, parts, chunksize=1)
"""
LOADS = {
    "threads": (lambda: [compiled("uneven_work", STEPS), "0", "4", SECONDS], lambda: [compiled("uneven_work", STEPS), "1", "4", SECONDS]),
    "processes": (lambda: python(POOL, "even"), lambda: python(POOL, "uneven")),
}
