/* eval_files.c -- see eval_files.h. */
#include "cli/command/eval_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"

#define MOST (32 << 20)

static bool eval_files_is_case(const struct dirent *e) {
    static const char *const ends[] = {".yaml", ".yml", ".json"};
    size_t n = strlen(e->d_name);
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        size_t m = strlen(ends[i]);
        if (e->d_name[0] != '.' && n > m && strcmp(e->d_name + n - m, ends[i]) == 0)
            return true;
    }
    return false;
}

static int eval_files_filter(const struct dirent *e) {
    return eval_files_is_case(e);
}

/* Takes path. */
static int eval_files_add(struct ch_eval_files *f, char *path, struct chela_error *err) {
    size_t n = f->n++;
    f->names = ch_must(realloc(f->names, f->n * sizeof(*f->names)));
    f->texts = ch_must(realloc(f->texts, f->n * sizeof(*f->texts)));
    f->names[n] = path;
    f->texts[n] = (struct ch_cli_input){0};
    int rc = ch_input_file(path, MOST, &f->texts[n], err);
    return rc < 0 ? err->code = CHELA_EINVAL : 0; /* any error: exit 2 */
}

static int eval_files_add_folder(struct ch_eval_files *f, const char *folder,
                                 struct chela_error *err) {
    struct dirent **list = NULL;
    int n = scandir(folder, &list, eval_files_filter, alphasort), rc = 0;
    if (n < 0)
        return ch_problem(err, CHELA_EINVAL, "%s: %s", folder, strerror(errno));
    if (n == 0)
        rc = ch_problem(err, CHELA_EINVAL, "%s: the folder has no file of cases (.yaml, .json)",
                        folder);
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            rc = eval_files_add(f, ch_format("%s/%s", folder, list[i]->d_name), err);
        free(list[i]);
    }
    free(list);
    return rc;
}

int ch_eval_files_read(struct ch_eval_files *f, const struct ch_args *args,
                       struct chela_error *err) {
    int rc = args->n ? 0
                     : ch_problem(err, CHELA_EINVAL, "name a file or a folder with cases");
    for (size_t i = 0; rc == 0 && i < args->n; i++) {
        struct stat st;
        bool folder = stat(args->words[i], &st) == 0 && S_ISDIR(st.st_mode);
        rc = folder ? eval_files_add_folder(f, args->words[i], err)
                    : eval_files_add(f, ch_dup(args->words[i]), err);
    }
    f->list = ch_must(calloc(f->n + 1, sizeof(*f->list)));
    for (size_t i = 0; i < f->n; i++)
        f->list[i] = (struct chela_eval_file){f->names[i], f->texts[i].p, f->texts[i].n};
    return rc;
}

void ch_eval_files_release(struct ch_eval_files *f) {
    for (size_t i = 0; i < f->n; i++) {
        ch_input_release(&f->texts[i]);
        free(f->names[i]);
    }
    free(f->texts);
    free(f->names);
    free(f->list);
    *f = (struct ch_eval_files){0};
}

int ch_eval_file_write(const char *path, const char *text, struct chela_error *err) {
    char *temp = ch_format("%s.tmp", path);
    FILE *f = fopen(temp, "we");
    bool lost = !f || fputs(text, f) < 0;
    lost |= f && fflush(f) != 0;
    lost |= f && fsync(fileno(f)) != 0;
    lost |= f && fclose(f) != 0;
    lost = lost || rename(temp, path) != 0;
    int rc = lost ? ch_problem(err, CHELA_EIO, "%s: %s", path, strerror(errno)) : 0;
    if (lost)
        unlink(temp);
    free(temp);
    return rc;
}

char *ch_eval_scratch_new(struct chela_error *err) {
    const char *base = getenv("TMPDIR");
    char *path = ch_format("%s/chela-eval-XXXXXX", base && *base == '/' ? base : "/tmp");
    if (mkdtemp(path))
        return path;
    ch_problem(err, CHELA_EIO, "%s: %s", path, strerror(errno));
    free(path);
    return NULL;
}

void ch_eval_scratch_remove(char *folder) {
    if (folder)
        rmdir(folder); /* each trial has removed its own folder */
    free(folder);
}
