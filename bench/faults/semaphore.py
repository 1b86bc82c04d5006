"""Processes share a semaphore (System V) with one permit; before, there are as many as processes."""

from programs import SECONDS, compiled

TITLE = "a semaphore with one permit"
FINDINGS = {"threads-take-turns", "lock-switches"}
PERMITS = r"""
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int n, char **words) {
    (void)n; double end = now() + atof(words[2]); int set = semget(IPC_PRIVATE, 1, 0600); semctl(set, 0, SETVAL, atoi(words[1]));
    for (int i = 0; i < 6; i++) if (fork() == 0) {
        volatile long sum = 0; struct sembuf take = {0, -1, 0}, give = {0, 1, 0};
        while (now() < end) { semop(set, &take, 1); for (int i = 0; i < 400000; i++) sum += i; semop(set, &give, 1); }
        _exit(0);
    }
    for (int i = 0; i < 6; i++) wait(0);
    semctl(set, 0, IPC_RMID);
}
"""
LOADS = {"six": (lambda: [compiled("permits", PERMITS), "6", SECONDS], lambda: [compiled("permits", PERMITS), "1", SECONDS])}
