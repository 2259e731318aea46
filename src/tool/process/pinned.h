/* pinned.h -- the content of the program files of a command line that a person agreed to.
 *
 * A configuration file of a project names programs that lie in the project. Whoever can write
 * the project, such as the agent itself, can change the programs. So the agreement covers a
 * digest of each program file below certain directories, and the files are compared right before
 * the program starts. In the sandbox the files are read-only. Without a sandbox a process that
 * already runs can still replace a file between the comparison and the start. */
#ifndef CH_TOOL_PINNED_H
#define CH_TOOL_PINNED_H
#include "base/arena.h"
#include "base/sha256.h"

struct ch_pin {       /* of one word */
    const char *file; /* NULL: the word names no program file below the directories */
    unsigned char digest[CH_SHA256_SIZE];
    uint64_t identity[6];
    bool settled; /* a later change has another identity */
};

struct ch_pins {
    const char *config;       /* the configuration file, for messages */
    const char *const *below; /* directories without links; NULL-terminated */
    size_t n;
    const struct ch_pin *words;
    bool refused;               /* nothing was agreed to: the program does not run */
    const struct ch_pins *more; /* of the same command line in another directory; NULL: none */
};

/* Find the program files of argv and read them. A program file is: the program; an argument that
 * names an executable file, a file that begins with "#!" or has the suffix of a language; and the
 * first text file that a shell or a language is given. cwd: for relative names. below and config
 * are borrowed; the rest is in the arena. */
void ch_pins_take(struct ch_arena *a, const char *const *argv, const char *cwd,
                  const char *const *below, const char *config, struct ch_pins *out);

/* NULL, or the first program file of argv that is not as it was, in the arena. Blocks. */
const char *ch_pins_changed(struct ch_arena *a, const struct ch_pins *pins,
                            const char *const *argv, const char *cwd);

/* A copy in the arena; NULL for NULL. */
const struct ch_pins *ch_pins_copy(struct ch_arena *a, const struct ch_pins *pins);

#endif
