"""A heap that is hardly larger than what is alive, so that a runtime collects garbage most of the time; before, it is large."""

from programs import FOLDER, SECONDS, built

TITLE = "a runtime collects garbage"
FINDINGS = {"garbage-collection"}
SOURCE = """
import java.util.*;
public class Churn {
    static void work(long end) {
        ArrayList<byte[]> kept = new ArrayList<>();
        for (int i = 0; i < 20000; i++) kept.add(new byte[1000]);
        Random random = new Random(1); long sum = 0;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 2000; i++) { byte[] one = new byte[1000]; sum += one.length; if (i % 4 == 0) kept.set(random.nextInt(20000), one); }
        }
        System.out.println(sum);
    }
    public static void main(String[] words) throws Exception {
        long end = System.nanoTime() + (long) (Double.parseDouble(words[0]) * 1e9);
        Thread[] all = new Thread[Integer.parseInt(words[1])];
        for (int i = 0; i < all.length; i++) { all[i] = new Thread(() -> work(end)); all[i].start(); }
        for (Thread one : all) one.join();
    }
}
"""


def churn(collector, heap, threads):
    built("Churn.java", SOURCE, ["javac", "Churn.java"])
    return ["java", f"-XX:+Use{collector}GC", "-XX:-UsePerfData", "-XX:-UseGCOverheadLimit", f"-Xms{heap}m", f"-Xmx{heap}m", "-cp", str(FOLDER), "Churn", SECONDS, str(threads)]


LOADS = {
    "one thread": (lambda: churn("Serial", 1500, 1), lambda: churn("Serial", 31, 1)),
    "two threads": (lambda: churn("Parallel", 3000, 2), lambda: churn("Parallel", 62, 2)),
}
