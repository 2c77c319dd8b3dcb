// SPDX-License-Identifier: MIT
// As chain.c.
public class Chain {
    static long sink;

    static void inner() {
        for (long i = 0; i < 1000000; i++)
            sink += i ^ sink;
    }

    static void middle(long end) {
        while (System.nanoTime() < end) {
            inner();
            sink++;
        }
    }

    static long outer(double seconds) {
        middle(System.nanoTime() + (long) (seconds * 1e9));
        return sink;
    }

    public static void main(String[] arguments) {
        outer(Double.parseDouble(arguments[0]));
    }
}
