/* mcp_server_skills.c -- skills of an agent for clients: the extension
 * io.modelcontextprotocol/skills.
 *
 *     skills/list, skills/get   entries: front matter, and size and digest of every file
 *     resources/read            skill://NAME/PATH
 *
 * Files are read on worker threads, on request. Links, hidden files and skills whose front
 * matter is not YAML are not offered. */
#include "mcp/mcp_server_skills.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "base/uri.h"
#include "base/utf8.h"
#include "prompt/skill_file.h"

#define SCHEME "skill://"
#define MAIN_FILE "SKILL.md"

/* The skills that are offered. Does not change, so threads share it. */
struct ch_mcp_shelf {
    struct ch_arena arena;
    struct ch_mcp_shelved {
        const char *name, *description;
        const char *dir; /* real path of its folder */
    } *skills;
    size_t n;
    unsigned refs; /* loop thread only */
};

/* The files of one skill, while they are looked for. */
struct ch_mcp_files {
    struct ch_arena arena;
    const char *paths[CH_LIMIT_MCP_SKILL_FILES]; /* below the folder */
    size_t n;
    bool too_many;
};

static void find_files(struct ch_mcp_files *f, const char *dir, const char *below,
                       unsigned depth) {
    DIR *d = opendir(dir);
    const struct dirent *e;

    while (d && !f->too_many && (e = readdir(d))) {
        struct stat st;
        const char *path = ch_arena_printf(&f->arena, "%s/%s", dir, e->d_name);
        const char *name = ch_arena_printf(&f->arena, "%s%s", below, e->d_name);
        if (e->d_name[0] == '.' || lstat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < CH_LIMIT_MCP_SKILL_DEPTH)
            find_files(f, path, ch_arena_printf(&f->arena, "%s/", name), depth + 1);
        else if (S_ISREG(st.st_mode) && f->n == CH_LEN(f->paths))
            f->too_many = true;
        else if (S_ISREG(st.st_mode))
            f->paths[f->n++] = name;
    }
    if (d)
        closedir(d);
}

static int by_path(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_uri(struct ch_jw *w, const struct ch_mcp_shelved *s, const char *path) {
    CH_BUF_AUTO uri = {0};
    struct ch_sv rest = ch_sv_str(path);

    ch_buf_addf(&uri, SCHEME "%s", s->name);
    while (rest.n) {
        ch_buf_addc(&uri, '/');
        ch_uri_encode(&uri, ch_sv_split(&rest, '/'));
    }
    ch_jw_kstr(w, "uri", ch_buf_sv(&uri));
}

/* A file with its digest; *total grows by its size. */
static bool write_file(struct ch_jw *w, const struct ch_mcp_shelved *s, const char *path,
                       size_t *total) {
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO file = {0};
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];

    ch_buf_addf(&file, "%s/%s", s->dir, path);
    if (ch_file_load(ch_buf_str(&file), CH_LIMIT_MCP_SKILL, &text, NULL) < 0)
        return false;
    *total += text.n;
    ch_sha256_of(ch_buf_sv(&text), digest);
    ch_sha256_hex(digest, hex);
    CH_BUF_AUTO named = {0};
    ch_buf_addf(&named, "sha256:%s", hex);
    ch_jw_begin(w, '{');
    write_uri(w, s, path);
    ch_jw_kstr(w, "digest", ch_buf_sv(&named));
    ch_jw_kint(w, "size", (int64_t)text.n);
    ch_jw_end(w, '}');
    return true;
}

static bool write_front_matter(struct ch_jw *w, const struct ch_mcp_shelved *s) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO file = {0};

    ch_buf_addf(&file, "%s/" MAIN_FILE, s->dir);
    if (ch_file_load(ch_buf_str(&file), CH_LIMIT_SKILL_FILE, &text, NULL) < 0)
        return false;
    const struct ch_json *head = ch_skill_front_matter(&arena, ch_buf_sv(&text));
    if (!ch_sv_is(ch_json_get_str(head, "name"), s->name))
        return false;
    ch_jw_kvalue(w, "frontmatter", head);
    return true;
}

/* Append the entry of a skill; false: the skill cannot be offered. */
static bool write_skill(struct ch_buf *out, const struct ch_mcp_shelved *s) {
    struct ch_mcp_files *f = ch_alloc(sizeof(*f));
    struct ch_jw w = ch_jw(out);
    size_t total = 0;

    find_files(f, s->dir, "", 0);
    qsort(f->paths, f->n, sizeof(*f->paths), by_path);
    ch_jw_begin(&w, '{');
    write_uri(&w, s, MAIN_FILE);
    bool ok = !f->too_many && write_front_matter(&w, s);
    ch_jw_kbegin(&w, "resources", '[');
    for (size_t i = 0; ok && i < f->n; i++)
        ok = write_file(&w, s, f->paths[i], &total) && total <= CH_LIMIT_MCP_SKILL;
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_arena_release(&f->arena);
    ch_free(f);
    return ok;
}

static int list_skills(chela_mcp_call *call, void *user) {
    const struct ch_mcp_shelf *shelf = user;
    const char *cursor = chela_mcp_call_argument(call, "cursor");
    CH_BUF_AUTO out = {0};
    size_t n = 0;

    if (cursor) { /* the list has only one page */
        chela_mcp_result_not_found(call);
        return chela_mcp_result_error(call, "the cursor is invalid");
    }
    ch_buf_add_str(&out, "{\"skills\":[");
    for (size_t i = 0; i < shelf->n; i++) {
        CH_BUF_AUTO one = {0};
        if (!write_skill(&one, &shelf->skills[i]))
            continue;
        ch_buf_addf(&out, "%s%s", n++ ? "," : "", ch_buf_str(&one));
    }
    ch_buf_add_str(&out, "]}");
    chela_mcp_result_json(call, ch_buf_str(&out));
    return 0;
}

static const struct ch_mcp_shelved *find_skill(const struct ch_mcp_shelf *shelf,
                                               struct ch_sv name) {
    for (size_t i = 0; i < shelf->n; i++)
        if (ch_sv_is(name, shelf->skills[i].name))
            return &shelf->skills[i];
    return NULL;
}

static int get_skill(chela_mcp_call *call, void *user) {
    const char *uri = chela_mcp_call_argument(call, "uri");
    struct ch_sv rest = ch_sv_str(uri ? uri : "");
    CH_BUF_AUTO out = {0};
    const struct ch_mcp_shelved *s = NULL;

    if (ch_sv_starts(rest, SCHEME)) {
        rest = ch_sv(rest.p + strlen(SCHEME), rest.n - strlen(SCHEME));
        struct ch_sv name = ch_sv_split(&rest, '/');
        s = ch_sv_is(rest, MAIN_FILE) ? find_skill(user, name) : NULL;
    }
    ch_buf_add_str(&out, "{\"skill\":");
    if (!s || !write_skill(&out, s))
        return chela_mcp_result_not_found(call);
    ch_buf_addc(&out, '}');
    chela_mcp_result_json(call, ch_buf_str(&out));
    return 0;
}

/* A path below the folder, without links and hidden files. */
static bool is_plain_path(const char *path) {
    struct ch_sv rest = ch_sv_str(path);

    if (rest.n == 0 || rest.p[rest.n - 1] == '/')
        return false;
    while (rest.n) {
        struct ch_sv part = ch_sv_split(&rest, '/');
        if (part.n == 0 || part.p[0] == '.')
            return false;
    }
    return true;
}

static int read_skill_file(chela_mcp_call *call, void *user) {
    const char *name = chela_mcp_call_argument(call, "name"),
               *path = chela_mcp_call_argument(call, "path");
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    char real[PATH_MAX];

    const struct ch_mcp_shelved *s = find_skill(user, ch_sv_str(name));
    if (!s || !is_plain_path(path))
        return chela_mcp_result_not_found(call);
    const char *file = ch_arena_printf(&arena, "%s/%s", s->dir, path);
    if (!realpath(file, real) || strcmp(file, real) != 0 ||
        ch_file_load(file, CH_LIMIT_MCP_SKILL, &text, NULL) < 0)
        return chela_mcp_result_not_found(call);
    if (ch_utf8_valid(ch_buf_sv(&text)))
        chela_mcp_result_text(call, ch_buf_str(&text), text.n);
    else
        chela_mcp_result_media(call, "application/octet-stream", text.p, text.n);
    return 0;
}

static int list_skill_files(chela_mcp_call *call, void *user) {
    const struct ch_mcp_shelf *shelf = user;

    for (size_t i = 0; i < shelf->n; i++) {
        CH_BUF_AUTO uri = {0};
        ch_buf_addf(&uri, SCHEME "%s/" MAIN_FILE, shelf->skills[i].name);
        chela_mcp_result_link(call, ch_buf_str(&uri), shelf->skills[i].name, "text/markdown",
                              shelf->skills[i].description);
    }
    return 0;
}

/* --- offering */

static void shelf_release(void *user) {
    struct ch_mcp_shelf *shelf = user;

    if (--shelf->refs > 0)
        return;
    ch_arena_release(&shelf->arena);
    ch_free(shelf);
}

static void shelve(struct ch_mcp_shelf *shelf, const struct ch_json *skill) {
    CH_BUF_AUTO file = {0};
    char real[PATH_MAX];

    ch_buf_add_sv(&file, ch_json_get_str(skill, "file"));
    char *slash = strrchr(ch_buf_str(&file), '/');
    if (!ch_json_bool(ch_json_get(skill, "used"), false) || !slash)
        return;
    *slash = '\0';
    if (!realpath(file.p, real))
        return;
    shelf->skills[shelf->n++] = (struct ch_mcp_shelved){
        .name = ch_arena_str(&shelf->arena, ch_json_get_str(skill, "name")),
        .description = ch_arena_str(&shelf->arena, ch_json_get_str(skill, "description")),
        .dir = ch_arena_str(&shelf->arena, ch_sv_str(real)),
    };
}

int ch_mcp_server_skills(chela_mcp_server *s, const struct ch_json *skills,
                         struct chela_error *err) {
    struct chela_mcp_resource_opts files = CHELA_MCP_RESOURCE_OPTS(
        .uri = SCHEME "{name}/{+path}", .name = "skills",
        .description = "A file of a skill of the agent.", .fn = read_skill_file,
        .list = list_skill_files, .release = shelf_release);
    size_t n = 0;

    if (s->skills) /* the skills of one agent are offered */
        return 0;
    for (CH_JSON_EACH(skill, skills))
        n += ch_json_is(skill, CH_JSON_OBJECT);
    struct ch_mcp_shelf *shelf = ch_alloc(sizeof(*shelf));
    shelf->refs = 1;
    shelf->skills = ch_arena_zalloc(&shelf->arena, (n + 1) * sizeof(*shelf->skills));
    for (CH_JSON_EACH(skill, skills))
        if (ch_json_is(skill, CH_JSON_OBJECT))
            shelve(shelf, skill);
    files.user = shelf;
    int rc = chela_mcp_server_resource(s, &files, err);
    if (rc == 0) {
        shelf->refs += 3;
        ch_mcp_server_skill_items(s, list_skills, get_skill, shelf, shelf_release);
    }
    shelf_release(shelf);
    return rc;
}
