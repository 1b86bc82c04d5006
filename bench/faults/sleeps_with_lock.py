"""A thread sleeps while it holds the lock that the others need, as a retry with a pause does; before, it sleeps without it."""

from programs import SECONDS, compiled, python

TITLE = "a thread sleeps with a lock held"
FINDINGS = {"threads-take-turns", "program-sleeps"}
HOLDERS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; static int inside; static double end;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *work(void *of) {
    volatile long sum = 0; (void)of;
    while (now() < end) {
        for (int i = 0; i < 300000; i++) sum += i;
        pthread_mutex_lock(&lock); sum++; if (inside) usleep(3000); pthread_mutex_unlock(&lock);
        if (!inside) usleep(3000);
    }
    return 0;
}
int main(int n, char **words) {
    (void)n; inside = atoi(words[1]); end = now() + atof(words[2]); pthread_t of[8];
    for (int i = 0; i < 8; i++) pthread_create(&of[i], 0, work, 0);
    for (int i = 0; i < 8; i++) pthread_join(of[i], 0);
}
"""
PYTHON = """
import sys, threading
lock = threading.Lock()
def work():
    while time.monotonic() < end:
        sum(range(30000))
        if sys.argv[1] == "inside":
            with lock: time.sleep(0.003)
        else:
            with lock: pass
            time.sleep(0.003)
all_of = [threading.Thread(target=work) for _ in range(8)]
for one in all_of: one.start()
for one in all_of: one.join()
"""
LOADS = {
    "C": (lambda: [compiled("holders", HOLDERS), "0", SECONDS], lambda: [compiled("holders", HOLDERS), "1", SECONDS]),
    "Python": (lambda: python(PYTHON, "outside"), lambda: python(PYTHON, "inside")),
}
