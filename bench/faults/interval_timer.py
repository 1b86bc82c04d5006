"""A timer that interrupts a program many times a second, as a careless profiler does; before, there is none."""

from programs import SECONDS, compiled

TITLE = "a storm of signals"
FINDINGS = {"timer-interrupts"}
TIMER = r"""
#include <signal.h>
#include <stdlib.h>
#include <time.h>
static volatile long caught;
static void catch(int of) { (void)of; caught++; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int n, char **words) {
    (void)n; volatile long sum = 0; double end = now() + atof(words[2]); signal(SIGALRM, catch);
    if (atoi(words[1])) {
        struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM}; timer_t timer; timer_create(CLOCK_MONOTONIC, &how, &timer);
        struct itimerspec each = {{0, 30000}, {0, 30000}}; timer_settime(timer, 0, &each, 0);
    }
    while (now() < end) for (int i = 0; i < 10000; i++) sum += i;
    return 0;
}
"""
LOADS = {"C": (lambda: [compiled("interrupted", TIMER), "0", SECONDS], lambda: [compiled("interrupted", TIMER), "1", SECONDS])}
