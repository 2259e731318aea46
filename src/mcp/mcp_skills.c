/* mcp_skills.c -- see mcp_skills.h. */
#include "mcp/mcp_skills.h"

#include <ctype.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/uri.h"
#include "base/utf8.h"
#include "io/loop_entry.h"
#include "mcp/mcp_protocol.h"
#include "mcp/mcp_result.h"
#include "mcp/mcp_server_connection.h"
#include "prompt/skill_file.h"
#include "prompt/skill_package.h"
#include "tool/call/call.h"

#define SCHEME "skill://"
#define MAIN_FILE "SKILL.md"
#define FILE_VERSION 1
#define NAME_MAX_BYTES 64
#define SHOWN_MAX 1024 /* bytes of one description */

struct ch_mcp_skills {
    char *path; /* owned: the file of accepted entries; NULL: nothing is stored */
    char origin[2 * CH_SHA256_SIZE + 1];
    /* Arrays of valid entries in their arenas; NULL: none. */
    struct ch_arena accepted_in, listed_in;
    const struct ch_json *accepted, *listed;
};

/* --- entries */

/* The name of a valid entry. */
static struct ch_sv skill_name(const struct ch_json *entry) {
    return ch_json_get_str(ch_json_get(entry, "frontmatter"), "name");
}

static bool is_skill_name(struct ch_sv name) {
    for (size_t i = 0; i < name.n; i++)
        if (!islower((unsigned char)name.p[i]) && !isdigit((unsigned char)name.p[i]) &&
            name.p[i] != '-')
            return false;
    return name.n > 0 && name.n <= NAME_MAX_BYTES;
}

/* The URI of the folder, with its slash; empty: the URI is not that of a SKILL.md. */
static struct ch_sv folder_of(const struct ch_json *entry) {
    struct ch_sv uri = ch_json_get_str(entry, "uri"), name = skill_name(entry);
    size_t tail = strlen("/" MAIN_FILE);

    if (!ch_sv_starts(uri, SCHEME) || uri.n > CH_LIMIT_MCP_URI || uri.n < tail + name.n + 1 ||
        memcmp(uri.p + uri.n - tail, "/" MAIN_FILE, tail) != 0)
        return ch_sv(NULL, 0);
    struct ch_sv folder = ch_sv(uri.p, uri.n - tail);
    if (!ch_sv_eq(ch_sv(folder.p + folder.n - name.n, name.n), name) ||
        folder.p[folder.n - name.n - 1] != '/')
        return ch_sv(NULL, 0);
    return ch_sv(folder.p, folder.n + 1);
}

/* The path of a file below the folder, decoded; empty: the URI is of another place. */
static struct ch_sv path_of(struct ch_arena *arena, const struct ch_json *entry,
                            const struct ch_json *file) {
    struct ch_sv folder = folder_of(entry), uri = ch_json_get_str(file, "uri");

    if (!folder.n || uri.n > CH_LIMIT_MCP_URI || uri.n <= folder.n ||
        memcmp(uri.p, folder.p, folder.n) != 0)
        return ch_sv(NULL, 0);
    return ch_uri_decode(arena, ch_sv(uri.p + folder.n, uri.n - folder.n));
}

static bool is_digest(struct ch_sv text) {
    size_t mark = strlen("sha256:");

    if (!ch_sv_starts(text, "sha256:") || text.n != mark + 2 * CH_SHA256_SIZE)
        return false;
    for (size_t i = mark; i < text.n; i++)
        if (!isdigit((unsigned char)text.p[i]) && (text.p[i] < 'a' || text.p[i] > 'f'))
            return false;
    return true;
}

static int check_file(const struct ch_json *entry, const struct ch_json *file, int64_t *total,
                      struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    int64_t size = ch_json_int(ch_json_get(file, "size"), -1);
    struct ch_sv path = path_of(&arena, entry, file);

    if (!ch_package_path_is_safe(path))
        return ch_fail(err, CHELA_EPROTO, "a file of the skill has a URI that is refused");
    if (!is_digest(ch_json_get_str(file, "digest")))
        return ch_fail(err, CHELA_EPROTO, "a file of the skill has no valid digest");
    if (size < 0 || size > (int64_t)CH_LIMIT_MCP_SKILL - *total)
        return ch_fail(err, CHELA_EPROTO, "the sizes of the skill's files are not allowed");
    *total += size;
    return 0;
}

int ch_mcp_skill_check(const struct ch_json *entry, struct chela_error *err) {
    const struct ch_json *files = ch_json_get(entry, "resources");
    int64_t total = 0;
    int rc = 0;

    if (!ch_json_is(ch_json_get(entry, "frontmatter"), CH_JSON_OBJECT) ||
        !is_skill_name(skill_name(entry)))
        return ch_fail(err, CHELA_EPROTO, "a skill has no valid name");
    if (!ch_json_get_str(ch_json_get(entry, "frontmatter"), "description").n)
        return ch_fail(err, CHELA_EPROTO, "a skill has no description");
    if (!folder_of(entry).n)
        return ch_fail(err, CHELA_EPROTO, "the URI of a skill is not " SCHEME ".../NAME/SKILL.md");
    if (!ch_json_is(files, CH_JSON_ARRAY) || files->n > CH_LIMIT_MCP_SKILL_FILES)
        return ch_fail(err, CHELA_EPROTO, "a skill has no list of files, or more than %d",
                       CH_LIMIT_MCP_SKILL_FILES);
    for (CH_JSON_EACH(file, files))
        if (rc == 0)
            rc = check_file(entry, file, &total, err);
    if (rc == 0 && !ch_mcp_skill_file(entry, CH_SV(MAIN_FILE)))
        rc = ch_fail(err, CHELA_EPROTO, "a skill has no " MAIN_FILE);
    return rc;
}

const struct ch_json *ch_mcp_skill_file(const struct ch_json *entry, struct ch_sv path) {
    const struct ch_json *found = NULL;
    CH_ARENA_AUTO arena = {0};

    for (CH_JSON_EACH(file, ch_json_get(entry, "resources")))
        if (!found && path.n && ch_sv_eq(path_of(&arena, entry, file), path))
            found = file;
    return found;
}

static bool take_contents(const struct ch_json *result, struct ch_sv uri, struct ch_buf *out) {
    const struct ch_json *contents = ch_json_get(result, "contents");
    const struct ch_json *one = ch_json_at(contents, 0);
    const struct ch_json *text = ch_json_get(one, "text");

    if (!ch_json_is(contents, CH_JSON_ARRAY) || contents->n != 1 ||
        !ch_sv_eq(ch_json_get_str(one, "uri"), uri))
        return false;
    if (!text)
        return ch_base64_read(ch_json_get_str(one, "blob"), out);
    ch_buf_add_sv(out, ch_json_str(text));
    return ch_json_is(text, CH_JSON_STRING);
}

int ch_mcp_skill_verify(const struct ch_json *entry, const struct ch_json *file,
                        const struct ch_json *result, struct ch_buf *out,
                        struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    struct ch_sv uri = ch_json_get_str(file, "uri"), want = ch_json_get_str(file, "digest");

    if (!take_contents(result, uri, out))
        return ch_fail(err, CHELA_EPROTO, "the server's answer is not the file of the skill");
    if ((int64_t)out->n != ch_json_int(ch_json_get(file, "size"), -1))
        return ch_fail(err, CHELA_EPROTO, "the file of the skill has another size than listed");
    ch_sha256_of(ch_buf_sv(out), digest);
    ch_sha256_hex(digest, hex);
    if (!ch_sv_is(ch_sv(want.p + strlen("sha256:"), want.n - strlen("sha256:")), hex))
        return ch_fail(err, CHELA_EPROTO, "the file of the skill has another digest than listed");
    if (ch_sv_eq(uri, ch_json_get_str(entry, "uri")) &&
        !ch_json_equal(ch_skill_front_matter(&arena, ch_buf_sv(out)),
                       ch_json_get(entry, "frontmatter")))
        return ch_fail(err, CHELA_EPROTO, "the front matter of the skill differs from its entry");
    return 0;
}

static const struct ch_json *find_entry(const struct ch_json *entries, struct ch_sv name) {
    for (CH_JSON_EACH(entry, entries))
        if (ch_sv_eq(skill_name(entry), name))
            return entry;
    return NULL;
}

static const struct ch_json *copy_entry(struct ch_arena *arena, const struct ch_json *entry) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    const struct ch_json *copy = NULL;

    if (entry)
        ch_jw_value(&w, entry);
    ch_json_parse(arena, ch_arena_sv(arena, ch_buf_sv(&text)), CH_JSON_STRICT, &copy, NULL, NULL);
    return copy;
}

/* --- the file of accepted entries */

static int load_accepted(struct ch_mcp_skills *s, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    const struct ch_json *root;

    int rc = ch_file_load(s->path, CH_LIMIT_MCP_MANIFEST, &text, err);
    if (rc == 0)
        rc = ch_json_parse(&s->accepted_in, ch_arena_sv(&s->accepted_in, ch_buf_sv(&text)),
                           CH_JSON_STRICT, &root, NULL, err);
    if (rc < 0)
        return rc;
    const struct ch_json *entries = ch_json_get(root, "skills");
    if (ch_json_int(ch_json_get(root, "v"), 0) != FILE_VERSION)
        return ch_fail(err, CHELA_EPARSE, "%s: unknown format", s->path);
    if (!ch_sv_is(ch_json_get_str(root, "origin"), s->origin))
        return ch_fail(err, CHELA_ENOENT, "%s: of another server", s->path);
    for (CH_JSON_EACH(entry, entries))
        if (rc == 0)
            rc = ch_mcp_skill_check(entry, err);
    if (rc == 0)
        s->accepted = entries;
    return rc;
}

/* Accept what is listed. */
static int accept_listed(struct ch_mcp_skills *s, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "v", FILE_VERSION);
    ch_jw_kcstr(&w, "origin", s->origin);
    ch_jw_kvalue(&w, "skills", s->listed);
    ch_jw_end(&w, '}');
    int rc = s->path ? ch_file_save(s->path, ch_buf_sv(&text), err) : 0;
    if (rc < 0)
        return rc;
    ch_arena_release(&s->accepted_in);
    s->accepted = copy_entry(&s->accepted_in, s->listed);
    return 0;
}

void ch_mcp_skills_open(chela_mcp *m, const char *origin) {
    struct ch_mcp_skills *s = m->skills = ch_alloc(sizeof(*s));
    struct chela_error err = {0};

    memcpy(s->origin, origin, sizeof(s->origin));
    if (!m->opts.state_dir)
        return;
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "%s/%s.skills.json", m->opts.state_dir, m->opts.name);
    s->path = ch_buf_take(&path);
    int rc = load_accepted(s, &err);
    if (rc < 0 && rc != CHELA_ENOENT)
        ch_log(CH_LOG_WARN, "mcp", "%s", err.message);
}

void ch_mcp_skills_close(chela_mcp *m) {
    struct ch_mcp_skills *s = CH_TAKE(m->skills);

    ch_arena_release(&s->accepted_in);
    ch_arena_release(&s->listed_in);
    ch_free(s->path);
    ch_free(s);
}

/* --- functions that wait */

/* As chela_mcp_request. Fails also if a callback closed the client after the answer came. */
static char *skills_request(chela_mcp *m, const char *method, const char *params,
                            struct chela_error *err) {
    bool freed = false;
    bool *outer = m->freed; /* set by a call that waits; this call is then refused */

    m->freed = &freed;
    char *text = chela_mcp_request(m, method, params, err);
    if (!freed) {
        m->freed = outer;
        return text;
    }
    if (text)
        ch_fail(err, CHELA_ESTATE, "the client is closed");
    chela_free(text);
    return NULL;
}

/* Append the valid entries of a page. */
static void take_page(const chela_mcp *m, const struct ch_json *page, struct ch_jw *w, size_t *n) {
    for (CH_JSON_EACH(entry, ch_json_get(page, "skills"))) {
        struct chela_error err = {0};
        if (*n == CH_LIMIT_SKILLS)
            ch_fail(&err, CHELA_ELIMIT, "there are more than %d", CH_LIMIT_SKILLS);
        if (err.code || ch_mcp_skill_check(entry, &err) < 0) {
            ch_log(CH_LOG_WARN, "mcp", "%s: a skill is left out: %s", m->opts.name, err.message);
            continue;
        }
        ch_jw_value(w, entry);
        (*n)++;
    }
}

static int list_skills(chela_mcp *m, struct ch_buf *out, struct chela_error *err) {
    struct ch_jw w = ch_jw(out);
    CH_BUF_AUTO params = {0};
    size_t n = 0;

    ch_buf_add_str(&params, "{}");
    ch_jw_begin(&w, '[');
    for (unsigned pages = 0; params.n; pages++) {
        CH_ARENA_AUTO arena = {0};
        const struct ch_json *page;
        CH_AUTOFREE char *text = skills_request(m, "skills/list", ch_buf_str(&params), err);
        if (!text)
            return err->code;
        int rc = ch_json_parse(&arena, ch_sv_str(text), CH_JSON_REPLACE, &page, NULL, err);
        if (rc < 0)
            return rc;
        struct ch_sv next = ch_json_get_str(page, "nextCursor");
        if (next.n && (pages >= CH_LIMIT_MCP_PAGES || next.n > CH_LIMIT_MCP_CURSOR))
            return ch_fail(err, CHELA_ELIMIT, "the server's list of skills is too long");
        take_page(m, page, &w, &n);
        ch_buf_clear(&params);
        if (next.n) {
            struct ch_jw p = ch_jw(&params);
            ch_jw_begin(&p, '{');
            ch_jw_kstr(&p, "cursor", next);
            ch_jw_end(&p, '}');
        }
    }
    ch_jw_end(&w, ']');
    return 0;
}

static void write_skill(struct ch_jw *w, const struct ch_json *entry, const char *state) {
    CH_BUF_AUTO about = {0};
    int64_t bytes = 0;
    const struct ch_json *files = ch_json_get(entry, "resources");

    ch_mcp_clean(&about, ch_json_get_str(ch_json_get(entry, "frontmatter"), "description"));
    for (CH_JSON_EACH(file, files))
        bytes += ch_json_int(ch_json_get(file, "size"), 0);
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "name", skill_name(entry));
    ch_jw_kstr(w, "description", ch_utf8_cut(ch_buf_sv(&about), SHOWN_MAX));
    ch_jw_kstr(w, "uri", ch_json_get_str(entry, "uri"));
    ch_jw_kint(w, "files", (int64_t)files->n);
    ch_jw_kint(w, "bytes", bytes);
    ch_jw_kcstr(w, "state", state);
    ch_jw_end(w, '}');
}

char *chela_mcp_skills_json(chela_mcp *m, int accept, struct chela_error *err) {
    CH_ENTER_OR(m, m->rt->loop, err, NULL);
    struct ch_mcp_skills *s = m->skills;
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    struct chela_error own = {0};
    CH_LOG_SCOPE(m->rt->sink);

    int rc = list_skills(m, &text, &own);
    if (rc == 0) {
        ch_arena_release(&s->listed_in);
        rc = ch_json_parse(&s->listed_in, ch_arena_sv(&s->listed_in, ch_buf_sv(&text)),
                           CH_JSON_STRICT, &s->listed, NULL, &own);
    }
    if (rc == 0 && accept)
        rc = accept_listed(s, &own);
    if (rc < 0 && err)
        *err = own;
    if (rc < 0)
        return NULL;
    ch_jw_begin(&w, '[');
    for (CH_JSON_EACH(entry, s->listed)) {
        const struct ch_json *was = find_entry(s->accepted, skill_name(entry));
        write_skill(&w, entry,
                    !was ? "new" : ch_json_equal(was, entry) ? "accepted" : "changed");
    }
    for (CH_JSON_EACH(entry, s->accepted))
        if (!find_entry(s->listed, skill_name(entry)))
            write_skill(&w, entry, "gone");
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}

/* The request for a file. */
static void write_read(struct ch_buf *out, const struct ch_json *file) {
    struct ch_jw w = ch_jw(out);

    ch_jw_kstr(&w, "uri", ch_json_get_str(file, "uri"));
}

char *chela_mcp_skill_read(chela_mcp *m, const char *skill, const char *path,
                           struct chela_error *err) {
    CH_ENTER_OR(m, m->rt->loop, err, NULL);
    const struct ch_mcp_skills *s = m->skills;
    const struct ch_json *entry = find_entry(s->listed ? s->listed : s->accepted, ch_sv_str(skill));
    const struct ch_json *file = ch_mcp_skill_file(entry, ch_sv_str(path ? path : MAIN_FILE));
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO params = {0};
    CH_BUF_AUTO out = {0};
    const struct ch_json *result;

    if (ch_loop_may_run(m->rt->loop, err) < 0)
        return NULL;
    if (!file) {
        ch_fail(err, CHELA_ENOENT, "MCP server %s: there is no such skill, or no such file of it",
                m->opts.name);
        return NULL;
    }
    ch_buf_addc(&params, '{');
    write_read(&params, file);
    ch_buf_addc(&params, '}');
    CH_AUTOFREE char *text = skills_request(m, "resources/read", ch_buf_str(&params), err);
    if (!text || ch_json_parse(&arena, ch_sv_str(text), CH_JSON_REPLACE, &result, NULL, err) < 0 ||
        ch_mcp_skill_verify(entry, file, result, &out, err) < 0)
        return NULL;
    if (!ch_utf8_valid(ch_buf_sv(&out)) || memchr(out.p, '\0', out.n)) {
        ch_fail(err, CHELA_EPROTO, "the file of the skill is not text");
        return NULL;
    }
    return ch_buf_take(&out);
}

/* --- the tool */

bool ch_mcp_skills_describe(const chela_mcp *m, struct ch_buf *about, struct ch_buf *schema) {
    struct ch_jw w = ch_jw(schema);
    size_t n = 0, left = 0;

    ch_buf_addf(about,
                "Reads a skill of the MCP server %s: instructions for one kind of task. If a task "
                "clearly fits one of the skills below, read the skill first and follow it. A skill "
                "may name further files, which are read with `path`. Skills:",
                m->opts.name);
    ch_buf_add_str(schema, "{\"type\":\"object\",\"properties\":{\"skill\":{\"type\":\"string\","
                           "\"enum\":");
    ch_jw_begin(&w, '[');
    for (CH_JSON_EACH(entry, m->skills->accepted)) {
        CH_BUF_AUTO clean = {0};
        ch_mcp_clean(&clean, ch_json_get_str(ch_json_get(entry, "frontmatter"), "description"));
        struct ch_sv text = ch_utf8_cut(ch_buf_sv(&clean), SHOWN_MAX);
        n++;
        ch_jw_str(&w, skill_name(entry));
        if (about->n + text.n > CH_LIMIT_MCP_TEXT)
            left++;
        else
            ch_buf_addf(about, "\n- %.*s: %.*s", CH_SV_FMT(skill_name(entry)),
                        CH_SV_FMT(text));
    }
    ch_jw_end(&w, ']');
    ch_buf_add_str(schema, "},\"path\":{\"type\":\"string\",\"description\":\"file of the skill; "
                           "default: " MAIN_FILE "\"}},\"required\":[\"skill\"],"
                           "\"additionalProperties\":false}");
    if (left)
        ch_buf_addf(about, "\n%zu further skills are not described.", left);
    return n > 0;
}

struct ch_mcp_reading {
    chela_call *call;
    struct ch_mcp_op *op;
    struct ch_arena arena;
    const struct ch_json *entry, *file; /* in the arena: the client may change its own */
};

static void end_reading(struct ch_mcp_reading *r) {
    chela_call *call = r->call;

    ch_arena_release(&r->arena);
    ch_free(r);
    chela_call_finish(call);
}

static void reading_on_cancel(chela_call *call, void *user) {
    struct ch_mcp_reading *r = user;

    (void)call;
    ch_mcp_cancel(r->op);
    end_reading(r);
}

static void reading_on_done(const struct ch_mcp_reply *reply, void *user) {
    struct ch_mcp_reading *r = user;
    struct ch_mcp_reply failed = *reply;
    CH_BUF_AUTO text = {0};

    chela_call_on_cancel(r->call, NULL, NULL);
    if (!reply->result ||
        ch_mcp_skill_verify(r->entry, r->file, reply->result, &text, &failed.err) < 0)
        ch_mcp_result_failed(r->call, &failed);
    else if (!ch_utf8_valid(ch_buf_sv(&text)))
        chela_result_error(r->call, "internal", "The file is not text.");
    else
        chela_result_text(r->call, ch_buf_str(&text), text.n);
    end_reading(r);
}

int ch_mcp_skills_call(chela_call *call, chela_mcp *m) {
    const struct ch_json *args = call->args;
    struct ch_sv name = ch_json_get_str(args, "skill"), path = ch_json_get_str(args, "path");
    struct ch_mcp_reading *r = ch_alloc(sizeof(*r));
    CH_BUF_AUTO members = {0};

    r->call = call;
    r->entry = copy_entry(&r->arena, find_entry(m->skills->accepted, name));
    r->file = ch_mcp_skill_file(r->entry, path.n ? path : CH_SV(MAIN_FILE));
    if (!r->file) {
        ch_arena_release(&r->arena);
        ch_free(r);
        return chela_result_error(call, "not_found", "There is no such skill, or no such file of "
                                  "it.");
    }
    write_read(&members, r->file);
    chela_call_defer(call);
    chela_call_on_cancel(call, reading_on_cancel, r);
    r->op = ch_mcp_start(m, &(struct ch_mcp_request){.method = "resources/read",
                                                     .members = ch_buf_sv(&members),
                                                     .name = ch_json_get_str(r->file, "uri"),
                                                     .done = reading_on_done,
                                                     .user = r});
    return 0;
}
