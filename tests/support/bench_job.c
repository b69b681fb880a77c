/* The job of the benchmarks: its first instruction reads the clock, and it appends one line to a file.

   bench_job FILE [JOB TICK_MS]   job and tick are taken from solocron's variables, where they are not given */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value ? value : "-";
}

int main(int argc, char **argv) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char line[256];
    int length = snprintf(line, sizeof line, "%s %s %lld\n", argc > 3 ? argv[2] : variable("SOLOCRON_JOB"),
                          argc > 3 ? argv[3] : variable("SOLOCRON_TICK_MS"),
                          now.tv_sec * 1000000LL + now.tv_nsec / 1000);
    int out = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    return out < 0 || write(out, line, length) != length;
}
