/* A job that multiplies as fast as it is killed: chains of processes, each link of which forks the next in a session of
   its own and ends. Where a chain is broken, another begins it anew. Each link notes that it lives.

   hydra FILE CHAINS SECONDS

   FILE begins with the latest sign of life, in nanoseconds of the boot clock. After SECONDS all of it ends by itself. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 256
/* A chain without a sign of life for this long is taken for broken. */
#define BROKEN_NS 30000000LL

struct chain {
    _Atomic long long alive;
    _Atomic int owner;
};

struct shared {
    _Atomic long long alive;
    struct chain chains[MOST];
};

static long long now_ns(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void live(struct shared *all, int count, int own, int owner, long long end) {
    for (int other = own;; other = (other + 1) % count) {
        long long now = now_ns();
        if (now > end || atomic_load(&all->chains[own].owner) != owner) {
            _exit(0);
        }
        atomic_store(&all->chains[own].alive, now);
        atomic_store(&all->alive, now);
        struct chain *looked_at = &all->chains[other];
        int broken = atomic_load(&looked_at->owner);
        if (now - atomic_load(&looked_at->alive) > BROKEN_NS
            && atomic_compare_exchange_strong(&looked_at->owner, &broken, broken + 1)) {
            atomic_store(&looked_at->alive, now);
            if (fork() == 0) {
                setsid();
                own = other;
                owner = broken + 1;
                continue;
            }
        }
        if (fork() > 0) {
            _exit(0);
        }
        setsid();
    }
}

int main(int argc, char **argv) {
    int file = argc == 4 ? open(argv[1], O_RDWR | O_CREAT, 0644) : -1;
    if (file < 0 || ftruncate(file, sizeof(struct shared)) != 0) {
        return 8;
    }
    struct shared *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int count = atoi(argv[2]);
    if (all == MAP_FAILED || count < 1 || count > MOST) {
        return 9;
    }
    long long end = now_ns() + atoll(argv[3]) * 1000000000LL;
    signal(SIGTERM, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    for (int own = 0; own < count; own++) {
        atomic_store(&all->chains[own].alive, now_ns());
        if (fork() == 0) {
            setsid();
            live(all, count, own, 0, end);
        }
    }
    for (;;) {
        pause();
    }
}
