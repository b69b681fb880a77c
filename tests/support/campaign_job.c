/* The job of the campaign: writes down by itself when it starts, every 20 ms that it lives, and how it ends. Each record
   is one write to a file that is only ever appended to. Clocks are read by system call, so that no shim reaches them.

   campaign_job FOLDER MILLISECONDS [stubborn] [family] [fails]

   stubborn: SIGTERM does not end it. family: a process of a session of its own, forked twice, writes along; it ends with
   the job when that ends by itself, and is left to others when the job is killed. fails: it ends with exit code 3. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BEAT_NS 20000000L
/* A process that nobody stopped ends after this long all the same. */
#define ORPHAN_NS 90000000000LL

static int out;

static long long now_ns(clockid_t clock) {
    struct timespec now;
    syscall(SYS_clock_gettime, clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value ? value : "-";
}

static void put(const char *line, int length) {
    if (write(out, line, length) != length) {
        _exit(9);
    }
}

static void say(const char *what, const char *how) {
    char line[512];
    int length = snprintf(line, sizeof line, "%s %lld %lld %s %s %s %s %s %s %s %d %d %s\n", what,
                          now_ns(CLOCK_BOOTTIME), now_ns(CLOCK_REALTIME), variable("SOLOCRON_JOB"),
                          variable("SOLOCRON_TICK_MS"), variable("SOLOCRON_RUN"), variable("SOLOCRON_FENCE"),
                          variable("SOLOCRON_ATTEMPT"), variable("SOLOCRON_CAUSE"), variable("SOLOCRON_NODE"),
                          getpid(), getppid(), how);
    put(line, length);
}

static void beat(void) {
    char line[160];
    int length = snprintf(line, sizeof line, "beat %lld %s %d\n", now_ns(CLOCK_BOOTTIME), variable("SOLOCRON_RUN"),
                          getpid());
    put(line, length);
}

/* Waits for a beat's time; true when SIGTERM came. */
static int told_to_stop(void) {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    struct timespec pause = {0, BEAT_NS};
    return sigtimedwait(&stop, NULL, &pause) == SIGTERM;
}

/* The grandchild: beats until the job has ended by itself. A job that was killed tells nothing. */
static void live_along(int told) {
    long long until = now_ns(CLOCK_BOOTTIME) + ORPHAN_NS;
    int job_lives = 1;
    while (now_ns(CLOCK_BOOTTIME) < until) {
        char byte;
        struct pollfd fd = {told, POLLIN, 0};
        if (job_lives && poll(&fd, 1, 0) > 0) {
            if (read(told, &byte, 1) == 1) {
                _exit(0);
            }
            job_lives = 0;
        }
        beat();
        told_to_stop();
    }
    _exit(0);
}

/* Starts the grandchild; `tell` ends it, and `gone` has its end when it has ended. */
static void found_family(int *tell, int *gone) {
    int orders[2], life[2];
    if (pipe2(orders, O_CLOEXEC) || pipe2(life, O_CLOEXEC)) {
        _exit(7);
    }
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            close(orders[1]);
            close(life[0]);
            live_along(orders[0]);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    close(orders[0]);
    close(life[1]);
    *tell = orders[1];
    *gone = life[0];
}

int main(int argc, char **argv) {
    int stubborn = 0, family = 0, fails = 0, tell = -1, gone = -1;
    char file[512];
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    for (int i = 3; i < argc; i++) {
        stubborn |= !strcmp(argv[i], "stubborn");
        family |= !strcmp(argv[i], "family");
        fails |= !strcmp(argv[i], "fails");
    }
    if (argc < 3) {
        return 8;
    }
    snprintf(file, sizeof file, "%s/%s", argv[1], variable("SOLOCRON_JOB"));
    out = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (out < 0) {
        return 9;
    }
    say("start", "-");
    if (family) {
        found_family(&tell, &gone);
    }
    long long until = now_ns(CLOCK_BOOTTIME) + atoll(argv[2]) * 1000000LL;
    while (now_ns(CLOCK_BOOTTIME) < until) {
        int told = told_to_stop();
        beat();
        if (told && !stubborn) {
            say("end", "sigterm");
            return 143;
        }
    }
    if (family) {
        char byte = 0;
        if (write(tell, &byte, 1) != 1 || read(gone, &byte, 1) != 0) {
            return 6;
        }
    }
    say("end", fails ? "failed" : "normal");
    return fails ? 3 : 0;
}
