/* A job that leaves no process to its user: it forks until it cannot, and goes on trying. After SECONDS it and all of its
   children are over.

   bomb SECONDS */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    unsigned seconds = argc == 2 ? (unsigned)atoi(argv[1]) : 0;
    time_t end = time(NULL) + seconds;
    while (time(NULL) < end) {
        if (fork() == 0) {
            sleep(seconds);
            _exit(0);
        }
    }
    return 0;
}
