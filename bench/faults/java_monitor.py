"""Threads of Java share one monitor for all that they do; before, each has its own."""

from programs import FOLDER, SECONDS, built

TITLE = "threads of Java share one monitor"
FINDINGS = {"threads-take-turns", "lock-switches"}
SOURCE = """
public class Monitor {
    static volatile long out;
    static long work(long seed) { long sum = seed; for (int i = 0; i < 50000; i++) sum = sum * 31 + (sum >>> 7); return sum; }
    public static void main(String[] words) throws Exception {
        long end = System.nanoTime() + (long) (Double.parseDouble(words[0]) * 1e9);
        Object shared = new Object(); Thread[] all = new Thread[6];
        for (int i = 0; i < all.length; i++) {
            Object lock = words[1].equals("shared") ? shared : new Object();
            all[i] = new Thread(() -> { long sum = 1; while (System.nanoTime() < end) synchronized (lock) { sum = work(sum); } out = sum; });
            all[i].start();
        }
        for (Thread one : all) one.join();
    }
}
"""


def monitor(kind):
    built("Monitor.java", SOURCE, ["javac", "Monitor.java"])
    return ["java", "-XX:-UsePerfData", "-Xmx64m", "-cp", str(FOLDER), "Monitor", SECONDS, kind]


LOADS = {"six threads": (lambda: monitor("own"), lambda: monitor("shared"))}
