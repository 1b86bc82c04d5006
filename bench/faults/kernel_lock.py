"""Threads that change one thing of the kernel: the map of their memory, or one directory; before, each has its own."""

from programs import SECONDS, compiled, python

TITLE = "a lock of the kernel is contended"
FINDINGS = {"kernel-lock-waits"}
MAPS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double end;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *work(void *of) {
    size_t size = 2 << 20; (void)of;
    while (now() < end) {
        char *area = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t i = 0; i < size; i += 4096) area[i] = 1;
        munmap(area, size);
    }
    return 0;
}
int main(int n, char **words) {
    (void)n; int shared = atoi(words[1]); end = now() + atof(words[2]);
    pthread_t all_of[12];
    for (int i = 0; i < 12; i++) if (shared) pthread_create(&all_of[i], 0, work, 0); else if (fork() == 0) { work(0); _exit(0); }
    for (int i = 0; i < 12; i++) if (shared) pthread_join(all_of[i], 0); else wait(0);
}
"""
FILES = """
import os, shutil, sys, tempfile
folder = tempfile.mkdtemp()
for number in range(12):
    if os.fork() == 0:
        own = folder if sys.argv[1] == "one" else os.path.join(folder, str(number))
        os.makedirs(own, exist_ok=True)
        while time.monotonic() < end:
            for i in range(50): os.close(os.open(f"{own}/{number}-{i}", os.O_CREAT | os.O_WRONLY))
            for i in range(50): os.unlink(f"{own}/{number}-{i}")
        os._exit(0)
for _ in range(12): os.wait()
shutil.rmtree(folder)
"""
LOADS = {
    "memory maps": (lambda: [compiled("kernel_lock", MAPS), "0", SECONDS], lambda: [compiled("kernel_lock", MAPS), "1", SECONDS]),
    "directory": (lambda: python(FILES, "each"), lambda: python(FILES, "one")),
}
