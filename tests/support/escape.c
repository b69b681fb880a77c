/* A set-uid program of root's, as sudo is one: becomes root for good where its set-uid bit counts, so that who started it
   may not kill it, ignores SIGTERM, and says who it is. It ends when a file is there, and after a minute in any case.

   escape SAID END */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 3 || (geteuid() == 0 && setuid(0) != 0)) {
        return 8;
    }
    signal(SIGTERM, SIG_IGN);
    char new[4096];
    snprintf(new, sizeof new, "%s.new", argv[1]);
    FILE *said = fopen(new, "w");
    if (said == NULL || fprintf(said, "%d\n", getpid()) < 0 || fclose(said) != 0 || rename(new, argv[1]) != 0) {
        return 9;
    }
    for (int tenths = 0; tenths < 600 && access(argv[2], F_OK) != 0; tenths++) {
        usleep(100000);
    }
    return 0;
}
