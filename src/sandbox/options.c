/* options.c -- see options.h. Only tool/ writes the command line, so an error
 * in it is a bug. */
#include "sandbox/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/mem.h"
#include "sandbox/box.h"
#include "sandbox/report.h"

enum kind { FLAG, TEXT, NUMBER, PATH, PID, OUTER };

#define AT(field) offsetof(struct ch_box, field)

static const struct option {
    const char *name;
    enum kind kind;
    size_t at;
} options[] = {
    {"outer", OUTER, AT(outer)},
    {"bwrap", TEXT, AT(bwrap)},
    {"inside", FLAG, AT(inside)},
    {"landlock", FLAG, AT(landlock)},
    {"seccomp", FLAG, AT(seccomp)},
    {"network", FLAG, AT(network)},
    {"proxy", FLAG, AT(proxy)},
    {"tty", FLAG, AT(tty)},
    {"strict", FLAG, AT(strict)},
    {"probe", FLAG, AT(probe)},
    {"trial", FLAG, AT(trial)},
    {"parent", PID, AT(parent)},
    {"hold", FLAG, AT(hold)},
    {"layer", PID, AT(layer)},
    {"upper", TEXT, AT(upper)},
    {"work", TEXT, AT(work)},
    {"workspace", TEXT, AT(workspace)},
    {"cwd", TEXT, AT(cwd)},
    {"tmp", TEXT, AT(tmp)},
    {"git-name", TEXT, AT(git_name)},
    {"git-email", TEXT, AT(git_email)},
    {"home", TEXT, AT(home)},
    {"writable", PATH, AT(writable)},
    {"readable", PATH, AT(readable)},
    {"protect", PATH, AT(protect)},
    {"hide", PATH, AT(hide)},
    {"repository", PATH, AT(repositories)},
    {"free-instructions", FLAG, AT(free_instructions)},
    {"limit-cpu", NUMBER, AT(limits.cpu_s)},
    {"limit-data", NUMBER, AT(limits.data)},
    {"limit-total", NUMBER, AT(limits.total)},
    {"limit-file", NUMBER, AT(limits.file_size)},
    {"limit-files", NUMBER, AT(limits.files)},
    {"limit-processes", NUMBER, AT(limits.processes)},
    {"limit-tmp", NUMBER, AT(limits.tmp)},
    {"limit-disk", NUMBER, AT(limits.disk)},
    {"limit-disk-files", NUMBER, AT(limits.disk_files)},
};

static const char *const outer_names[] = {
    [CH_OUTER_BWRAP] = "bwrap",
    [CH_OUTER_NAMESPACES] = "namespaces",
    [CH_OUTER_NONE] = "none",
};

static uint64_t options_number(const char *text) {
    char *end;

    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno || end == text || *end)
        ch_die("internal", "chela-sandbox: '%s' is not a number", text);
    return n;
}

static enum ch_outer outer(const char *text) {
    for (size_t i = 0; i < CH_LEN(outer_names); i++)
        if (strcmp(text, outer_names[i]) == 0)
            return (enum ch_outer)i;
    ch_die("internal", "chela-sandbox: unknown kind of box '%s'", text);
}

static void options_add_path(struct ch_paths *list, const char *path) {
    list->p = ch_realloc(list->p, (list->n + 2) * sizeof(*list->p));
    list->p[list->n++] = path;
    list->p[list->n] = NULL;
}

static void options_set(struct ch_box *box, const struct option *o, const char *value) {
    void *at = (char *)box + o->at;

    switch (o->kind) {
    case FLAG:
        *(bool *)at = true;
        break;
    case TEXT:
        *(const char **)at = value;
        break;
    case NUMBER:
        *(uint64_t *)at = options_number(value);
        break;
    case PATH:
        options_add_path(at, value);
        break;
    case PID:
        *(pid_t *)at = (pid_t)options_number(value);
        break;
    case OUTER:
        *(enum ch_outer *)at = outer(value);
        break;
    }
}

static void options_take(struct ch_box *box, const char *word) {
    const char *equals = strchr(word, '=');
    struct ch_sv name = ch_sv(word + 2, (equals ? (size_t)(equals - word) : strlen(word)) - 2);

    for (size_t i = 0; i < CH_LEN(options); i++) {
        if (!ch_sv_is(name, options[i].name) || (options[i].kind == FLAG) == (equals != NULL))
            continue;
        options_set(box, &options[i], equals ? equals + 1 : NULL);
        return;
    }
    ch_die("internal", "chela-sandbox: unknown option '%s'", word);
}

void ch_box_parse(struct ch_box *box, int argc, char **argv) {
    int i = 1;

    *box = (struct ch_box){.outer = CH_OUTER_NONE, .cwd = "/", .tmp = CH_BOX_TMP};
    box->options = argv + 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0 && argv[i][2]; i++)
        options_take(box, argv[i]);
    box->noptions = i - 1;
    if (i < argc && strcmp(argv[i], "--") == 0)
        i++;
    box->argv = argv + i;
    if (!box->probe && !box->trial && !box->hold && i >= argc)
        ch_die("internal", "chela-sandbox: the command is missing");
}

/* --- words */

void ch_argv_add(struct ch_argv *w, const char *word) {
    CH_GROW(w->p, w->n, w->cap, 64);
    w->p[w->n++] = word;
}

/* Texts are few and the process is short-lived: they are never freed. */
struct text {
    struct text *next;
    char *p;
};
static struct text *texts;

static char *options_keep(char *p) {
    struct text *t = ch_alloc(sizeof(*t));

    t->next = texts;
    t->p = p;
    texts = t;
    return p;
}

char *ch_text(const char *fmt, ...) {
    struct ch_buf text = {0};
    va_list ap;

    va_start(ap, fmt);
    ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    return options_keep(ch_buf_take(&text));
}

char *ch_real_path(const char *path) {
    char *real = realpath(path, NULL);

    return real ? options_keep(real) : NULL;
}
