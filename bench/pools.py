"""Pools of threads that take jobs from a queue which fills evenly: in C, Python, Java, Go and JavaScript. Each prints how many jobs a second it did; with a
rate of 0 as many as it can."""

from programs import FOLDER, built, compiled, python

WORKERS = 8
C = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int waiting, is_over;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void *work(void *of) {
    volatile long sum = 0; (void)of;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!waiting && !is_over) pthread_cond_wait(&filled, &lock);
        if (is_over) { pthread_mutex_unlock(&lock); return 0; }
        waiting--; pthread_cond_signal(&emptied); pthread_mutex_unlock(&lock);
        for (int i = 0; i < 2000000; i++) sum += i;
    }
}
int main(int n, char **words) {
    (void)n; double rate = atof(words[1]), seconds = atof(words[2]), began = now(); int workers = atoi(words[3]); long done = 0;
    pthread_t all_of[64];
    for (int i = 0; i < workers; i++) pthread_create(&all_of[i], 0, work, 0);
    while (now() < began + seconds) {
        double pause = rate ? began + done / rate - now() : 0;
        if (pause > 0) { struct timespec t = { pause, (pause - (long)pause) * 1e9 }; nanosleep(&t, 0); }
        pthread_mutex_lock(&lock);
        while (waiting >= 2 * workers) pthread_cond_wait(&emptied, &lock);
        waiting++; done++; pthread_cond_signal(&filled); pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock); is_over = 1; pthread_cond_broadcast(&filled); pthread_mutex_unlock(&lock);
    for (int i = 0; i < workers; i++) pthread_join(all_of[i], 0);
    printf("%f\n", done / (now() - began));
}
"""
# Hashing lets other threads of the interpreter work.
PYTHON = """
import hashlib, queue, sys, threading
rate, workers = float(sys.argv[1]), int(sys.argv[2])
inbox, text = queue.Queue(2 * workers), b"some text" * 1000
def work():
    while inbox.get(): hashlib.pbkdf2_hmac("sha256", text, b"salt", 8000)
pool = [threading.Thread(target=work) for _ in range(workers)]
for one in pool: one.start()
began, done = time.monotonic(), 0
while time.monotonic() < end:
    if rate: time.sleep(max(0, began + done / rate - time.monotonic()))
    inbox.put(1)
    done += 1
for one in pool: inbox.put(0)
for one in pool: one.join()
print(done / (time.monotonic() - began))
"""
JAVA = """
import java.util.concurrent.*;
public class Pool {
    static double sum(int n) { double all = 0; for (int i = 1; i < n; i++) all += Math.sqrt(i); return all; }
    public static void main(String[] words) throws Exception {
        double rate = Double.parseDouble(words[0]), seconds = Double.parseDouble(words[1]); int workers = Integer.parseInt(words[2]);
        ThreadPoolExecutor pool = new ThreadPoolExecutor(workers, workers, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(2 * workers), new ThreadPoolExecutor.CallerRunsPolicy());
        long began = System.nanoTime(), done = 0;
        while (System.nanoTime() < began + seconds * 1e9) {
            if (rate > 0) { long pause = began + (long) (done / rate * 1e9) - System.nanoTime(); if (pause > 0) TimeUnit.NANOSECONDS.sleep(pause); }
            pool.execute(() -> { if (sum(2000000) < 0) System.out.println(); });
            done++;
        }
        pool.shutdown(); pool.awaitTermination(10, TimeUnit.SECONDS);
        System.out.println(done / ((System.nanoTime() - began) / 1e9));
    }
}
"""
GO = """
package main
import ("fmt"; "os"; "strconv"; "sync"; "time")
func main() {
	rate, _ := strconv.ParseFloat(os.Args[1], 64)
	seconds, _ := strconv.ParseFloat(os.Args[2], 64)
	workers, _ := strconv.Atoi(os.Args[3])
	inbox := make(chan int, 2*workers)
	var all sync.WaitGroup
	for n := 0; n < workers; n++ {
		all.Add(1)
		go func() { defer all.Done(); sum := 0; for range inbox { for i := 0; i < 3000000; i++ { sum += i ^ (sum >> 3) } }; if sum == 42 { fmt.Println() } }()
	}
	began, done := time.Now(), 0
	for time.Since(began).Seconds() < seconds {
		if rate > 0 { time.Sleep(time.Until(began.Add(time.Duration(float64(done) / rate * 1e9)))) }
		inbox <- 1
		done++
	}
	close(inbox); all.Wait()
	fmt.Println(float64(done) / time.Since(began).Seconds())
}
"""
# The event loop hands work to the threads of libuv.
NODE = """
const crypto = require("crypto");
const [rate, seconds] = process.argv.slice(1).map(Number);
const began = process.hrtime.bigint(), since = () => Number(process.hrtime.bigint() - began) / 1e9;
let done = 0, open = 0;
function start() {
    open++;
    done++;
    crypto.pbkdf2("text", "salt", 20000, 32, "sha256", () => { open--; if (!rate) next(); });
}
function next() {
    if (since() >= seconds) return;
    while (open < 8 && (!rate || done / rate <= since())) start();
    if (rate) setTimeout(next, Math.max(0, 1000 * (done / rate - since())));
}
process.on("exit", () => console.log(done / since()));
next();
"""


def words(name, rate, seconds):
    """The words that run the pool called `name`."""
    rate = str(rate or 0)
    if name == "C pool":
        return [compiled("pool", C), rate, str(seconds), str(WORKERS)]
    if name == "Python pool of threads":
        return python(PYTHON, rate, str(WORKERS), seconds=seconds)
    if name == "Java pool":
        built("Pool.java", JAVA, ["javac", "Pool.java"])
        return ["java", "-cp", str(FOLDER), "Pool", rate, str(seconds), str(WORKERS)]
    if name == "Go pool":
        built("pool.go", GO, ["go", "build", "-o", "go-pool", "pool.go"])
        return [str(FOLDER / "go-pool"), rate, str(seconds), str(WORKERS)]
    return ["node", "-e", NODE, rate, str(seconds)]


POOLS = ["C pool", "Python pool of threads", "Java pool", "Go pool", "libuv pool"]
