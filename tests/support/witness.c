/* The job of the cluster tests: appends one line when it starts and one when it ends, so that what happened is told by
   the jobs themselves. The clock is read by system call: a shim that skews its replica's clock does not reach it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long now_us(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value ? value : "-";
}

static void say(const char *file, const char *what, long long at) {
    char line[512];
    int length = snprintf(line, sizeof line, "%s %lld %s %s %s %s %s %d %s %s\n", what, at, variable("SOLOCRON_JOB"),
                          variable("SOLOCRON_TICK_MS"), variable("SOLOCRON_NODE"), variable("SOLOCRON_FENCE"),
                          variable("SOLOCRON_RUN"), getpid(), variable("SOLOCRON_ATTEMPT"),
                          variable("SOLOCRON_CAUSE"));
    int out = open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (out < 0 || write(out, line, length) != length) {
        exit(9);
    }
    close(out);
}

/* witness FILE MILLISECONDS */
int main(int argc, char **argv) {
    long long started = now_us();
    if (argc != 3) {
        return 8;
    }
    say(argv[1], "start", started);
    struct timespec pause = {atol(argv[2]) / 1000, atol(argv[2]) % 1000 * 1000000L};
    nanosleep(&pause, NULL);
    say(argv[1], "end", now_us());
    return 0;
}
