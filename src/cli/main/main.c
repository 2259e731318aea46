/* main.c -- dispatches argv to a command. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "chela/session.h"
#include "cli/main/command_table.h"
#include "cli/main/help.h"
#include "cli/support/draft.h"
#include "cli/support/problem.h"

/* If a standard stream is closed, the next opened file would take its place. A closed
 * stdout is opened so that writing fails and the failure is reported. */
static void open_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int mode = fd == STDERR_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode) != fd)
            abort();
    }
}

/* All threads share one arena of malloc: an arena for each thread that reads or writes the
 * store costs up to 130 kB, and the loop thread does nearly all of the allocation. */
static void share_arena(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

/* The memory holds keys and conversations. No core file is written, and other processes of the user
 * can neither attach nor read the environment. A program that is executed may decide otherwise. */
static void hide_memory(void) {
    const char *debug = getenv("CHELA_DEBUGGABLE");
    struct rlimit core;
    if (debug && strcmp(debug, "1") == 0)
        return;
    if (getrlimit(RLIMIT_CORE, &core) == 0)
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, core.rlim_max});
    prctl(PR_SET_DUMPABLE, 0);
}

/* The process's one-time settings, before any thread exists. */
static void prepare_process(void) {
    open_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe becomes an error of write() */
    share_arena();
    hide_memory();
}

static int print_version(struct ch_console *c) {
    char *line = ch_format("chela %s\n", chela_version());
    ch_console_print(c, line, strlen(line));
    free(line);
    return CH_EXIT_DONE;
}

static bool is_any(const char *word, const char *one, const char *other) {
    return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

static int usage_error(struct ch_console *c, const char *name) {
    struct ch_draft d;
    ch_draft_init(&d);
    ch_help_write(d.f, ch_command_table, name);
    ch_draft_finish(&d);
    ch_console_complain(c, d.p, d.n);
    free(d.p);
    return CH_EXIT_USAGE;
}

/* Handle argv without a command: program flags, groups, mistakes. */
static int without_command(struct ch_console *c, int argc, char **argv) {
    if (argc == 0)
        return usage_error(c, NULL);
    if (is_any(argv[0], "--version", "-V"))
        return print_version(c);
    if (is_any(argv[0], "--help", "-h")) {
        ch_help_print(c, ch_command_table, NULL);
        return CH_EXIT_DONE;
    }
    if (argv[0][0] == '-') {
        const char *use = ch_cmd_elsewhere(argv[0]);
        ch_console_error(c,
                         use ? "unknown flag %s (use '%s')"
                             : "unknown flag %s (flags follow "
                               "the command: 'chela COMMAND --help')%s",
                         argv[0], use ? use : "");
        return CH_EXIT_USAGE;
    }
    if (strpbrk(argv[0], " \n")) {
        ch_console_error(c, "a prompt is not a command (use 'chela run PROMPT')");
        return CH_EXIT_USAGE;
    }
    if (!ch_cmd_is_group(ch_command_table, argv[0]))
        return ch_cmd_unknown(c, ch_command_table, argv[0]);
    if (argc == 1)
        return usage_error(c, argv[0]);
    if (is_any(argv[1], "--help", "-h")) {
        ch_help_print(c, ch_command_table, argv[0]);
        return CH_EXIT_DONE;
    }
    char *name = ch_format("%s %s", argv[0], argv[1]);
    int code = ch_cmd_unknown(c, ch_command_table, name);
    free(name);
    return code;
}

/* The number of words of argv that name this command; 0: another command. */
static int main_words_of(const struct ch_cmd *cmd, int argc, char **argv) {
    const char *second = strchr(cmd->name, ' ');
    if (!second)
        return argc > 0 && strcmp(argv[0], cmd->name) == 0 ? 1 : 0;
    return argc > 1 && ch_cmd_in_group(cmd, argv[0]) && strcmp(argv[1], second + 1) == 0 ? 2 : 0;
}

int main(int argc, char **argv) {
    prepare_process();
    struct ch_env env = ch_env_read();
    env.commands = ch_command_table;
    argc -= argc > 0;
    argv++;
    for (ch_commands cmd = ch_command_table; *cmd; cmd++) {
        int n = main_words_of(*cmd, argc, argv);
        if (n > 0)
            return (*cmd)->run(*cmd, &env, argc - n, argv + n);
    }
    struct ch_console console;
    ch_console_init(&console, &env, CH_NORMAL, false);
    int code = ch_console_exit(&console, without_command(&console, argc, argv));
    ch_console_release(&console);
    return code;
}
