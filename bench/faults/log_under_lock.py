"""Threads write a line into a log that is flushed while a lock is held; before, nothing is flushed."""

import pathlib

from programs import SECONDS, compiled, python

TITLE = "a log is flushed under a lock"
FINDINGS = {"writes-wait-flush": "", "flush-waits": "", "flushes-of-small-writes": "", "threads-take-turns": "flush"}
LOGGERS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; static int file, durable; static double end;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *work(void *of) {
    volatile long sum = 0; char line[200] = {'x'}; (void)of;
    while (now() < end) {
        for (int i = 0; i < 100000; i++) sum += i;
        pthread_mutex_lock(&lock);
        if (write(file, line, sizeof line) < 0) abort();
        if (durable) fdatasync(file);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(int n, char **words) {
    (void)n; file = open(words[1], O_CREAT | O_WRONLY | O_TRUNC, 0600); unlink(words[1]); durable = atoi(words[2]); end = now() + atof(words[3]);
    pthread_t of[8];
    for (int i = 0; i < 8; i++) pthread_create(&of[i], 0, work, 0);
    for (int i = 0; i < 8; i++) pthread_join(of[i], 0);
}
"""
LOGGING = """
import logging, os, sys, threading
path = os.path.join(os.path.expanduser("~"), ".cache", "fenxi-log-under-lock")
class Durable(logging.FileHandler):
    def flush(self):
        super().flush()
        if sys.argv[1] == "durable" and self.stream: os.fsync(self.stream.fileno())
log = logging.getLogger("app"); log.setLevel("INFO"); log.addHandler(Durable(path)); log.propagate = False
def work():
    while time.monotonic() < end: sum(range(5000)); log.info("a request was answered")
all_of = [threading.Thread(target=work) for _ in range(6)]
for one in all_of: one.start()
for one in all_of: one.join()
os.unlink(path)
"""


def loggers(durable):
    return [compiled("log_under_lock", LOGGERS), str(pathlib.Path.home() / ".cache" / "fenxi-log"), durable, SECONDS]


LOADS = {
    "C": (lambda: loggers("0"), lambda: loggers("1")),
    "Python": (lambda: python(LOGGING, "fast"), lambda: python(LOGGING, "durable")),
}
