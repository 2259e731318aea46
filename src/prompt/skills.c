/* skills.c -- see skills.h. */
#include "prompt/skills.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "prompt/skill_command.h"
#include "prompt/skill_package.h"
#include "tool/process/executable.h"
#include "tool/registry/registry.h"

/* --- checks ----------------------------------------------------------------------- */

static const char *missing_bin(struct ch_skills *s, const struct ch_skill_head *h,
                               const struct ch_skills_opts *o) {
    for (const char *const *b = h->bins; *b; b++)
        if (!ch_executable_find(&s->arena, *b, o->path, o->workspace))
            return ch_arena_printf(&s->arena, "it needs the program %s", *b);
    for (const char *const *b = h->any_bins; *b; b++)
        if (ch_executable_find(&s->arena, *b, o->path, o->workspace))
            return NULL;
    return h->any_bins[0]
               ? ch_arena_printf(&s->arena, "it needs %s or one of its like", h->any_bins[0])
               : NULL;
}

static const char *unmet(struct ch_skills *s, const struct ch_skill_head *h,
                         const struct ch_skills_opts *o) {
    for (const char *const *e = h->env; *e; e++) {
        const char *value = o->env ? o->env(*e, o->user) : NULL;
        if (!value || !*value)
            return ch_arena_printf(&s->arena, "it needs the variable %s", *e);
    }
    return missing_bin(s, h, o);
}

/* The version of a skill that gives none: a hash of its text. */
static const char *version_of(struct ch_arena *a, struct ch_sv text) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    ch_sha256_of(text, digest);
    ch_sha256_hex(digest, hex);
    return ch_arena_str(a, ch_sv(hex, 8));
}

/* A relative path inside the workspace, which the tools accept. */
static const char *location_of(struct ch_skills *s, const char *workspace, const char *file) {
    size_t n = strlen(workspace);
    if (strncmp(file, workspace, n) == 0 && file[n] == '/')
        return ch_arena_printf(&s->arena, ".%s", file + n);
    return file;
}

/* --- finding ---------------------------------------------------------------------- */

static struct ch_skill *new_skill(struct ch_skills *s) {
    if (!s->places) {
        s->cut = true;
        return NULL;
    }
    s->places--;
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 16;
        struct ch_skill *list = ch_arena_zalloc(&s->arena, cap * sizeof(*list));
        if (s->n)
            memcpy(list, s->list, s->n * sizeof(*list));
        s->list = list;
        s->cap = cap;
    }
    return &s->list[s->n++];
}

static bool skills_allowed(struct ch_skills *s, const char *allow, const struct ch_skill *skill) {
    if (!allow || ch_tool_matches(ch_sv_str(allow), ch_sv_str(skill->head.name)))
        return true;
    if (!skill->of_user)
        return false;
    const char *name = ch_arena_printf(&s->arena, "user:%s", skill->head.name);
    return ch_tool_matches(ch_sv_str(allow), ch_sv_str(name));
}

/* A skill file that was found. */
struct found {
    const char *path, *folder;
    const char *real; /* the path without links */
    struct stat st;
};

/* Two names of one file have one inode: few paths are compared. In the home directory, a folder of
 * the user is also one of the workspace: a skill that is not allowed there may be allowed here. */
static bool skills_has_file(const struct ch_skills *s, const char *path, ino_t inode,
                            bool of_user) {
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].inode == inode && strcmp(s->list[i].file, path) == 0 &&
            (s->list[i].allowed || s->list[i].of_user == of_user))
            return true;
    return false;
}

static void add_skill(struct ch_skills *s, const struct ch_skills_opts *o, const struct found *f,
                      bool of_user) {
    CH_BUF_AUTO text = {0};
    struct chela_error err = {0};
    const char *path = of_user ? f->real : f->path; /* `read` opens a path without links */
    if (skills_has_file(s, path, f->st.st_ino, of_user))
        return; /* a link to a skill of another root */
    struct ch_skill *skill = new_skill(s);
    if (!skill)
        return;
    skill->file = ch_arena_str(&s->arena, ch_sv_str(path));
    skill->location = location_of(s, o->workspace, skill->file);
    skill->inode = f->st.st_ino;
    skill->changed = f->st.st_mtim;
    if (ch_file_load(f->path, CH_LIMIT_SKILL_FILE, &text, &err) < 0)
        skill->problem = ch_arena_str(&s->arena, ch_sv_str(err.message));
    skill->head = ch_skill_head_read(&s->arena, ch_buf_sv(&text), f->folder);
    if (!skill->problem)
        skill->problem = skill->head.problem ? skill->head.problem : unmet(s, &skill->head, o);
    if (!skill->head.version[0])
        skill->head.version = version_of(&s->arena, ch_buf_sv(&text));
    skill->of_user = of_user;
    skill->allowed = skills_allowed(s, o->allow, skill);
}

static bool skills_is_below(const char *root, const char *real) {
    char *real_root = realpath(root, NULL);
    size_t n = real_root ? strlen(real_root) : 0;
    bool below = n && strncmp(real, real_root, n) == 0 && (real[n] == '/' || !real[n]);
    free(real_root);
    return below;
}

/* A link must not lead out of the roots, because their owner did not create its target. A
 * link to another root of the same owner is fine. real NULL: the path cannot be resolved. */
static bool leads_out(const char *const *roots, const char *real) {
    bool out = true;
    for (; real && out && *roots; roots++)
        out = !skills_is_below(*roots, real);
    return out;
}

static const char is_out[] = "it is a link that leads out of its folder";

static void refuse(struct ch_skills *s, const char *path, const char *folder, const char *problem) {
    struct ch_skill *skill = new_skill(s);
    if (!skill)
        return;
    skill->file = skill->location = ch_arena_str(&s->arena, ch_sv_str(path));
    skill->head = ch_skill_head_read(&s->arena, ch_sv("", 0), folder);
    skill->problem = problem;
}

struct tree { /* the roots of one owner */
    const struct ch_skills_opts *opts;
    const char *const *roots;
    bool of_user;
};

/* A folder of a root. */
struct place {
    const char *path;
    const char *real; /* the path without links */
    unsigned depth;
};

static void scan(struct ch_skills *s, const struct tree *t, const struct place *p);

/* Reads the state of the file or folder that a path names. *linked becomes true if the path is a
 * link. False: there is none of this type. */
static bool skills_look(const char *path, mode_t type, struct stat *st, bool *linked) {
    if (lstat(path, st) < 0)
        return false;
    if (S_ISLNK(st->st_mode)) {
        *linked = true;
        if (stat(path, st) < 0)
            return false;
    }
    return (st->st_mode & S_IFMT) == type;
}

/* Most file systems tell the type of an entry, which saves a system call. */
static bool skills_is_folder(const char *path, unsigned char type, bool *linked) {
    struct stat st;
    if (type != DT_LNK && type != DT_UNKNOWN)
        return type == DT_DIR;
    return skills_look(path, S_IFDIR, &st, linked);
}

/* The skill file of a folder; false: none. */
static bool skills_find_file(const char *folder, struct ch_buf *file, struct stat *st,
                             bool *linked) {
    static const char *const names[] = {"SKILL.md", "skill.md"};
    for (size_t i = 0; i < CH_LEN(names); i++) {
        ch_buf_clear(file);
        ch_buf_add_str(file, folder);
        ch_buf_addc(file, '/');
        ch_buf_add_str(file, names[i]);
        bool is_link = false;
        if (skills_look(ch_buf_str(file), S_IFREG, st, &is_link)) {
            *linked |= is_link;
            return true;
        }
    }
    return false;
}

/* The path without links; NULL: it cannot be resolved. Only the last parts may be links. */
static const char *skills_resolve(struct ch_skills *s, const struct place *p, const char *path,
                                  bool linked) {
    if (!linked)
        return ch_arena_printf(&s->arena, "%s%s", p->real, path + strlen(p->path));
    char *real = realpath(path, NULL);
    const char *kept = real ? ch_arena_str(&s->arena, ch_sv_str(real)) : NULL;
    free(real);
    return kept;
}

static void visit(struct ch_skills *s, const struct tree *t, const struct place *p,
                  const struct dirent *entry) {
    CH_BUF_AUTO path = {0}, file = {0};
    struct found f = {.folder = entry->d_name};
    bool linked = false;
    ch_buf_addf(&path, "%s/%s", p->path, entry->d_name);
    if (!skills_is_folder(ch_buf_str(&path), entry->d_type, &linked))
        return;
    bool found = skills_find_file(ch_buf_str(&path), &file, &f.st, &linked);
    f.path = found ? file.p : path.p;
    f.real = skills_resolve(s, p, f.path, linked);
    /* The prompt shows the path: a name must not be able to add lines to the prompt. */
    const char *problem = linked && leads_out(t->roots, f.real) ? is_out : NULL;
    if (!ch_package_path_is_safe(ch_sv_str(entry->d_name)))
        problem = "the name of its folder is refused";
    if (problem && found)
        refuse(s, file.p, entry->d_name, problem);
    if (problem)
        return;
    if (found)
        add_skill(s, t->opts, &f, t->of_user);
    else if (p->depth < CH_LIMIT_SKILL_DEPTH)
        scan(s, t, &(struct place){f.path, f.real, p->depth + 1});
}

static int skills_by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *e) {
    return e->d_name[0] != '.' && strcmp(e->d_name, "node_modules") != 0;
}

/* Recursion is bounded by CH_LIMIT_SKILL_DEPTH. */
static void scan(struct ch_skills *s, const struct tree *t, const struct place *p) {
    struct dirent **entries = NULL;
    int n = scandir(p->path, &entries, not_hidden, skills_by_name);
    for (int i = 0; i < n; i++) {
        s->cut |= i >= CH_LIMIT_SKILL_ENTRIES;
        if (!s->cut)
            visit(s, t, p, entries[i]);
        free(entries[i]);
    }
    free(entries);
}

/* The author of the workspace may have made a link of the root itself. */
static void scan_root(struct ch_skills *s, const struct tree *t, const char *root) {
    const char *const workspace[] = {t->opts->workspace, NULL};
    if (access(root, F_OK) < 0)
        return; /* most roots: one system call, where realpath needs one for each folder */
    char *real = realpath(root, NULL);
    if (real && (t->of_user || !leads_out(workspace, real)))
        scan(s, t, &(struct place){root, real, 0});
    else if (!t->of_user)
        refuse(s, root, "skills", is_out);
    free(real);
}

/* --- commands ---------------------------------------------------------------------- */

/* "git/fix.md" below the folder is the command "git:fix". */
static const char *command_name(struct ch_skills *s, const char *prefix, const char *file) {
    size_t n = strlen(file) - strlen(".md");
    return ch_arena_printf(&s->arena, "%s%s%.*s", prefix, *prefix ? ":" : "", (int)n, file);
}

static bool is_command(const char *file) {
    size_t n = strlen(file);
    return n > 3 && strcmp(file + n - 3, ".md") == 0 && strcasecmp(file, "README.md") != 0 &&
           ch_command_is_file(file);
}

static void add_command(struct ch_skills *s, const struct tree *t, const struct found *f,
                        const char *name) {
    CH_BUF_AUTO text = {0};
    struct chela_error err = {0};
    if (skills_has_file(s, f->path, f->st.st_ino, t->of_user))
        return;
    struct ch_skill *c = new_skill(s);
    if (!c)
        return;
    c->of_user = t->of_user;
    c->file = ch_arena_str(&s->arena, ch_sv_str(f->path));
    c->location = location_of(s, t->opts->workspace, c->file);
    c->inode = f->st.st_ino;
    c->changed = f->st.st_mtim;
    if (ch_file_load(f->path, CH_LIMIT_SKILL_FILE, &text, &err) < 0)
        c->problem = ch_arena_str(&s->arena, ch_sv_str(err.message));
    c->head = ch_skill_head_read(&s->arena, ch_buf_sv(&text), name);
    c->head.name = name;
    c->head.problem = c->head.warning = NULL;
    c->head.for_users = true;
    c->head.for_models = false;
    c->head.version = version_of(&s->arena, ch_buf_sv(&text));
    c->allowed = skills_allowed(s, t->opts->allow, c);
}

static void scan_commands(struct ch_skills *s, const struct tree *t, const struct place *p,
                          const char *prefix);

static void visit_command(struct ch_skills *s, const struct tree *t, const struct place *p,
                          const char *prefix, const struct dirent *entry) {
    const char *path = ch_arena_printf(&s->arena, "%s/%s", p->path, entry->d_name);
    struct found f = {.path = path};
    bool linked = false;
    if (!ch_package_path_is_safe(ch_sv_str(entry->d_name)))
        return;
    if (skills_is_folder(path, entry->d_type, &linked)) {
        const char *below = ch_arena_printf(&s->arena, "%s%s%s", prefix, *prefix ? ":" : "",
                                            entry->d_name);
        if (!linked && p->depth < CH_LIMIT_SKILL_DEPTH)
            scan_commands(s, t, &(struct place){path, path, p->depth + 1}, below);
    } else if (is_command(entry->d_name) && skills_look(path, S_IFREG, &f.st, &linked)) {
        if (!linked) /* a link may lead anywhere */
            add_command(s, t, &f, command_name(s, prefix, entry->d_name));
    }
}

static void scan_commands(struct ch_skills *s, const struct tree *t, const struct place *p,
                          const char *prefix) {
    struct dirent **entries = NULL;
    int n = scandir(p->path, &entries, not_hidden, skills_by_name);
    for (int i = 0; i < n; i++) {
        s->cut |= i >= CH_LIMIT_SKILL_ENTRIES;
        if (!s->cut)
            visit_command(s, t, p, prefix, entries[i]);
        free(entries[i]);
    }
    free(entries);
}

/* A folder of commands. A link of the folder itself is not followed. */
static void scan_command_root(struct ch_skills *s, const struct tree *t, const char *root) {
    struct stat st;
    if (lstat(root, &st) == 0 && S_ISDIR(st.st_mode))
        scan_commands(s, t, &(struct place){root, root, 0}, "");
}

/* The folder `commands` beside a folder `skills` of the user. */
static void scan_user_commands(struct ch_skills *s, const struct tree *t, const char *skills) {
    size_t n = strlen(skills), end = strlen("/skills");
    if (n > end && strcmp(skills + n - end, "/skills") == 0)
        scan_command_root(s, t, ch_arena_printf(&s->arena, "%.*s/commands", (int)(n - end),
                                                skills));
}

static void scan_all_commands(struct ch_skills *s, const struct tree *t) {
    static const char *const folders[] = {".chela/commands", ".agents/commands",
                                          ".claude/commands"};
    s->places = CH_LIMIT_SKILLS;
    for (size_t i = 0; !t->of_user && i < CH_LEN(folders); i++)
        scan_command_root(s, t,
                          ch_arena_printf(&s->arena, "%s/%s", t->opts->workspace, folders[i]));
    for (const char *const *root = t->roots; t->of_user && root && *root; root++)
        scan_user_commands(s, t, *root);
}

/* --- all roots ---------------------------------------------------------------------- */

/* Skills that are not allowed take no place from skills of the next tree: a workspace that is not
 * trusted must not hide the user's skills. */
static void scan_tree(struct ch_skills *s, const struct tree *t) {
    bool cut = s->cut;
    s->cut = false;
    s->places = CH_LIMIT_SKILLS;
    for (size_t i = 0; i < s->n; i++)
        s->places -= s->list[i].allowed;
    for (const char *const *root = t->roots; root && *root; root++)
        scan_root(s, t, *root);
    s->cut |= cut;
}

/* --- the list --------------------------------------------------------------------- */

static bool skills_usable(const struct ch_skill *skill) {
    return !skill->problem && skill->allowed;
}

static void settle_doubles(struct ch_skills *s) {
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < i && !s->list[i].problem; j++)
            if (skills_usable(&s->list[j]) &&
                strcmp(s->list[i].head.name, s->list[j].head.name) == 0)
                s->list[i].problem =
                    ch_arena_printf(&s->arena, "%s has the same name and comes first",
                                    s->list[j].location);
}

static int in_order(const void *a, const void *b) {
    const struct ch_skill *x = a, *y = b;
    if (skills_usable(x) != skills_usable(y))
        return skills_usable(x) ? -1 : 1;
    int names = strcmp(x->head.name, y->head.name);
    return names ? names : strcmp(x->file, y->file);
}

static void skills_describe(const struct ch_skill *skill, struct ch_buf *out);

static void choose_told(struct ch_skills *s) {
    CH_BUF_AUTO text = {0};
    for (size_t i = 0; i < s->n && skills_usable(&s->list[i]); i++) {
        struct ch_skill *skill = &s->list[i];
        if (!skill->head.for_models)
            continue;
        size_t before = text.n;
        skills_describe(skill, &text);
        skill->told = s->untold == 0 && text.n <= CH_LIMIT_SKILLS_PROMPT;
        s->untold += !skill->told;
        if (!skill->told)
            text.n = before;
    }
}

void ch_skills_load(struct ch_skills *s, const struct ch_skills_opts *opts) {
    ch_skills_release(s);
    const char *const usual[] = {
        ch_arena_printf(&s->arena, "%s/skills", opts->workspace),
        ch_arena_printf(&s->arena, "%s/.agents/skills", opts->workspace),
        ch_arena_printf(&s->arena, "%s/.claude/skills", opts->workspace), NULL};
    const struct tree trees[] = {{opts, opts->roots ? opts->roots : usual, false},
                                 {opts, opts->user_roots, true}};
    for (size_t i = 0; i < CH_LEN(trees); i++)
        scan_tree(s, &trees[i]);
    for (size_t i = 0; i < CH_LEN(trees); i++)
        scan_all_commands(s, &trees[i]);
    settle_doubles(s);
    if (s->n)
        qsort(s->list, s->n, sizeof(*s->list), in_order);
    choose_told(s);
}

void ch_skills_release(struct ch_skills *s) {
    ch_arena_release(&s->arena);
    *s = (struct ch_skills){0};
}

const struct ch_skill *ch_skills_find(const struct ch_skills *s, struct ch_sv name) {
    for (size_t i = 0; i < s->n && skills_usable(&s->list[i]); i++)
        if (ch_sv_is(name, s->list[i].head.name))
            return &s->list[i];
    return NULL;
}

/* --- detecting changes ------------------------------------------------------------- */

static const char *version_now(const struct ch_skill *skill, struct ch_arena *a) {
    CH_BUF_AUTO text = {0};
    if (ch_file_load(skill->file, CH_LIMIT_SKILL_FILE, &text, NULL) < 0)
        return NULL;
    struct ch_skill_head head = ch_skill_head_read(a, ch_buf_sv(&text), skill->head.name);
    return head.version[0] ? head.version : version_of(a, ch_buf_sv(&text));
}

/* The author of the file must not be able to inject text into a note of the runtime. */
static bool skills_is_plain(const char *version) {
    static const char plain[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-_";
    size_t n = strspn(version, plain);
    return n > 0 && n <= 40 && !version[n];
}

static bool is_untouched(const struct ch_skill *skill) {
    struct stat st;
    return stat(skill->file, &st) == 0 && st.st_mtim.tv_sec == skill->changed.tv_sec &&
           st.st_mtim.tv_nsec == skill->changed.tv_nsec;
}

void ch_skills_changes(const struct ch_skills *s, struct ch_buf *out) {
    for (size_t i = 0; i < s->n && skills_usable(&s->list[i]); i++) {
        CH_ARENA_AUTO arena = {0};
        const struct ch_skill *skill = &s->list[i];
        if (!skill->head.for_models || is_untouched(skill))
            continue;
        const char *version = version_now(skill, &arena);
        if (!version)
            ch_buf_addf(out, "%sthe skill %s (gone)", out->n ? ", " : "", skill->head.name);
        else if (strcmp(version, skill->head.version) != 0)
            ch_buf_addf(out, "%sthe skill %s (version %s)", out->n ? ", " : "", skill->head.name,
                        skills_is_plain(version) ? version : "unknown");
    }
}

/* --- for the model ----------------------------------------------------------------- */

static void add_element(struct ch_buf *out, const char *tag, const char *text) {
    ch_buf_addf(out, "    <%s>", tag);
    for (; *text; text++) {
        const char *escaped = *text == '<' ? "&lt;" : *text == '>' ? "&gt;"
                                                  : *text == '&'   ? "&amp;"
                                                                   : NULL;
        if (escaped)
            ch_buf_addf(out, "%s", escaped);
        else
            ch_buf_add(out, text, 1);
    }
    ch_buf_addf(out, "</%s>\n", tag);
}

static void skills_describe(const struct ch_skill *skill, struct ch_buf *out) {
    ch_buf_addf(out, "  <skill>\n");
    add_element(out, "name", skill->head.name);
    add_element(out, "description", skill->head.description);
    add_element(out, "location", skill->location);
    add_element(out, "version", skill->head.version);
    ch_buf_addf(out, "  </skill>\n");
}

void ch_skills_describe(const struct ch_skills *s, struct ch_buf *out) {
    size_t shown = 0;
    for (size_t i = 0; i < s->n && skills_usable(&s->list[i]); i++) {
        if (!s->list[i].told)
            continue;
        if (!shown++)
            ch_buf_addf(out, "<available_skills>\n");
        skills_describe(&s->list[i], out);
    }
    if (s->untold)
        ch_buf_addf(out,
                    "  <more>%zu more are not listed here: if none of these fits, look for "
                    "SKILL.md below ./skills and ./.agents/skills.</more>\n",
                    s->untold);
    if (shown)
        ch_buf_addf(out, "</available_skills>\n");
}
