/* reap.c -- run a program, and wait for all processes that it leaves behind.
 *
 *     reap SECONDS PROGRAM ARG...
 *
 * A program that is killed leaves its children running. They become children of reap, which
 * waits until all of them have ended. The exit status is the program's; 128 + signal if a
 * signal ended it; 124 after a timeout, when all processes are killed. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nothing(int sig) {
    (void)sig;
}

static void end_all(void) {
    char path[64];
    long pid;

    for (;;) {
        snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
        FILE *f = fopen(path, "r");
        bool any = false;
        while (f && fscanf(f, "%ld", &pid) == 1) {
            any = true;
            kill((pid_t)pid, SIGKILL);
        }
        if (f)
            fclose(f);
        if (!any || (waitpid(-1, NULL, 0) < 0 && errno == ECHILD))
            return;
    }
}

int main(int argc, char **argv) {
    int status = 0, code = 127;
    pid_t pid, done;

    if (argc < 3)
        return 2;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if ((pid = fork()) == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = nothing}, NULL);
    alarm((unsigned)strtoul(argv[1], NULL, 10));
    while ((done = waitpid(-1, &status, 0)) > 0)
        if (done == pid)
            code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (errno != EINTR)
        return code;
    end_all();
    return 124;
}
