/* meter.c -- run a command and tell what it cost.
 *
 *   meter FILE COMMAND ARGUMENT...      into FILE: exit status, CPU in us, peak memory in KB
 *
 * A small program of its own, because the peak of a process counts that of the process it was
 * forked from. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct rusage used;
    int status;
    if (argc < 3)
        return 2;
    pid_t child = vfork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) < 0)
        return 2;
    long long us = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL +
                   used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    FILE *out = fopen(argv[1], "w");
    if (!out)
        return 2;
    fprintf(out, "%d %lld %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128, us,
            used.ru_maxrss);
    return fclose(out) == 0 ? 0 : 2;
}
