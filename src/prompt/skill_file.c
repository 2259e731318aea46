/* skill_file.c -- see skill_file.h. The author of the file is not trusted: every text taken
 * from it is one short line of valid UTF-8 without control characters. */
#include "prompt/skill_file.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/yaml.h"

/* --- texts ---------------------------------------------------------------------- */

/* White space and line ends become single spaces; unprintable characters are removed. */
static const char *skill_file_one_line(struct ch_arena *a, struct ch_sv s, size_t max) {
    CH_BUF_AUTO valid = {0};
    CH_BUF_AUTO out = {0};
    ch_utf8_add_valid(&valid, s);
    for (size_t i = 0; i < valid.n; i++) {
        unsigned char c = (unsigned char)valid.p[i];
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            if (out.n && out.p[out.n - 1] != ' ')
                ch_buf_add(&out, " ", 1);
        } else if (c >= 0x20 && c != 0x7f) {
            ch_buf_add(&out, &valid.p[i], 1);
        }
    }
    struct ch_sv line = ch_sv_trim(ch_buf_sv(&out));
    if (line.n <= max)
        return ch_arena_str(a, line);
    return ch_arena_printf(a, "%.*s…", CH_SV_FMT(ch_utf8_cut(line, max)));
}

static bool skill_file_name_ok(struct ch_sv s) {
    if (!s.n || s.n > CH_LIMIT_SKILL_NAME || s.p[0] == '-' || s.p[s.n - 1] == '-')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool plain = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9');
        if (!plain && !(s.p[i] == '-' && s.p[i - 1] != '-'))
            return false;
    }
    return true;
}

/* "Create Python Script" -> "create-python-script"; "" if nothing is left. */
static const char *as_name(struct ch_arena *a, struct ch_sv s) {
    CH_BUF_AUTO out = {0};
    for (size_t i = 0; i < s.n && out.n < CH_LIMIT_SKILL_NAME; i++) {
        char c = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (plain)
            ch_buf_add(&out, &c, 1);
        else if (out.n && out.p[out.n - 1] != '-')
            ch_buf_add(&out, "-", 1);
    }
    while (out.n && out.p[out.n - 1] == '-')
        out.n--;
    return ch_arena_str(a, ch_buf_sv(&out));
}

/* --- the head, YAML or similar --------------------------------------------------- */

/* The lines between the first two "---"; false if the file does not begin with one. *rest
 * is the text after them. An unclosed head extends to the end of the file. */
static bool skill_file_split_head(struct ch_sv file, struct ch_sv *head, struct ch_sv *rest,
                                  bool *closed) {
    struct ch_sv left = file;
    if (ch_sv_starts(left, "\xef\xbb\xbf"))
        left = ch_sv(left.p + 3, left.n - 3);
    *rest = left;
    if (!ch_sv_is(ch_sv_trim(ch_sv_split(&left, '\n')), "---"))
        return false;
    head->p = left.p;
    *closed = false;
    while (left.n) {
        struct ch_sv line = ch_sv_split(&left, '\n');
        if (ch_sv_is(ch_sv_trim(line), "---")) {
            *head = ch_sv(head->p, (size_t)(line.p - head->p));
            *rest = left;
            *closed = true;
            return true;
        }
    }
    return true;
}

static struct ch_sv skill_file_unquoted(struct ch_sv s) {
    if (s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0])
        return ch_sv(s.p + 1, s.n - 2);
    return s;
}

/* The value of a top-level "key: value" line. */
static struct ch_sv line_value(struct ch_sv head, const char *key) {
    while (head.n) {
        struct ch_sv line = ch_sv_split(&head, '\n'), rest = line;
        if (memchr(line.p, ':', line.n) && ch_sv_is(ch_sv_split(&rest, ':'), key))
            return skill_file_unquoted(ch_sv_trim(rest));
    }
    return ch_sv("", 0);
}

static void skill_file_read_lines(struct ch_arena *a, struct ch_sv head,
                                  struct ch_skill_head *out) {
    out->name = skill_file_one_line(a, line_value(head, "name"), CH_LIMIT_SKILL_TEXT);
    out->description = skill_file_one_line(a, line_value(head, "description"), CH_LIMIT_SKILL_TEXT);
    out->version = skill_file_one_line(a, line_value(head, "version"), CH_LIMIT_SKILL_NAME);
    out->for_users = !ch_sv_is(line_value(head, "user-invocable"), "false");
    out->for_models = !ch_sv_is(line_value(head, "disable-model-invocation"), "true");
}

static struct ch_sv scalar(const struct ch_json *v) {
    return v && (v->type == CH_JSON_STRING || v->type == CH_JSON_NUMBER) ? ch_sv(v->s, v->n)
                                                                        : ch_sv("", 0);
}

/* A list of words, or one word. */
static const char *const *skill_file_words(struct ch_arena *a, const struct ch_json *v) {
    size_t n = 0, most = ch_json_is(v, CH_JSON_ARRAY) ? v->n : 1;
    if (most > CH_LIMIT_SKILL_NEEDS)
        most = CH_LIMIT_SKILL_NEEDS;
    const char **list = ch_arena_zalloc(a, (most + 1) * sizeof(*list));
    if (scalar(v).n)
        list[n++] = skill_file_one_line(a, scalar(v), CH_LIMIT_SKILL_NAME);
    for (CH_JSON_EACH(e, v))
        if (n < most && scalar(e).n)
            list[n++] = skill_file_one_line(a, scalar(e), CH_LIMIT_SKILL_NAME);
    return list;
}

static void read_yaml(struct ch_arena *a, const struct ch_json *root, struct ch_skill_head *out) {
    const struct ch_json *needs = ch_json_get(root, "requires");
    const struct ch_json *users = ch_json_get(root, "user-invocable");
    const struct ch_json *no_models = ch_json_get(root, "disable-model-invocation");
    const struct ch_json *version = ch_json_get(root, "version");

    if (!version)
        version = ch_json_path(root, "metadata", "version", NULL);
    if (!needs)
        needs = ch_json_path(root, "metadata", "openclaw", "requires", NULL);
    out->name = skill_file_one_line(a, scalar(ch_json_get(root, "name")), CH_LIMIT_SKILL_TEXT);
    out->description =
        skill_file_one_line(a, scalar(ch_json_get(root, "description")), CH_LIMIT_SKILL_TEXT);
    out->version = skill_file_one_line(a, scalar(version), CH_LIMIT_SKILL_NAME);
    out->bins = skill_file_words(a, ch_json_get(needs, "bins"));
    out->any_bins = skill_file_words(a, ch_json_get(needs, "anyBins"));
    out->env = skill_file_words(a, ch_json_get(needs, "env"));
    out->for_users = !ch_json_is(users, CH_JSON_FALSE);
    out->for_models = !ch_json_is(no_models, CH_JSON_TRUE);
}

/* --- the text below it ------------------------------------------------------------ */

static struct ch_sv first_heading(struct ch_sv body) {
    while (body.n) {
        struct ch_sv line = ch_sv_trim(ch_sv_split(&body, '\n'));
        if (!line.n)
            continue;
        if (line.p[0] != '#')
            break;
        while (line.n && line.p[0] == '#')
            line = ch_sv(line.p + 1, line.n - 1);
        return ch_sv_trim(line);
    }
    return ch_sv("", 0);
}

/* The lines up to the next empty one, after any headings. */
static struct ch_sv first_paragraph(struct ch_sv body) {
    const char *start = NULL, *end = body.n ? body.p + body.n : NULL;
    while (body.n) {
        struct ch_sv whole = ch_sv_split(&body, '\n'), line = ch_sv_trim(whole);
        bool text = line.n && line.p[0] != '#';
        if (start && !text)
            return ch_sv(start, (size_t)(whole.p - start));
        if (!start && text)
            start = whole.p;
    }
    return start ? ch_sv(start, (size_t)(end - start)) : ch_sv("", 0);
}

static void settle_name(struct ch_arena *a, struct ch_sv heading, const char *folder,
                        struct ch_skill_head *out) {
    const char *given = out->name;
    if (skill_file_name_ok(ch_sv_str(given)))
        return;
    out->name = as_name(a, ch_sv_str(folder));
    if (!out->name[0])
        out->name = as_name(a, heading);
    if (given[0])
        out->problem =
            ch_arena_printf(a,
                            "the name \"%s\" is not made of a-z, 0-9 and single "
                            "hyphens (64 at most)",
                            skill_file_one_line(a, ch_sv_str(given), CH_LIMIT_SKILL_NAME));
    else if (!out->name[0])
        out->problem = "it has no name: give it one in the front matter";
}

struct ch_skill_head ch_skill_head_read(struct ch_arena *a, struct ch_sv file, const char *folder) {
    static const char *const none[] = {NULL};
    struct ch_skill_head out = {.name = "", .description = "", .version = "", .bins = none,
                                .any_bins = none, .env = none, .for_users = true,
                                .for_models = true};
    struct ch_sv head, body;
    bool closed;

    if (memchr(file.p ? file.p : "", 0, file.n))
        out.problem = "it is not a text";
    if (skill_file_split_head(file, &head, &body, &closed)) {
        struct ch_yaml yaml;
        if (!closed) {
            out.problem = "the front matter has no end: a line of ---";
            return settle_name(a, ch_sv("", 0), folder, &out), out;
        }
        if (ch_yaml_parse(a, head, "SKILL.md", &yaml, NULL) == 0 &&
            ch_json_is(yaml.root, CH_JSON_OBJECT))
            read_yaml(a, yaml.root, &out);
        else
            skill_file_read_lines(a, head, &out);
    }
    settle_name(a, first_heading(body), folder, &out);
    if (!out.description[0])
        out.description = skill_file_one_line(a, first_paragraph(body), CH_LIMIT_SKILL_TEXT);
    if (!out.problem && !out.description[0])
        out.problem = "it has no description: the model could not know when to use it";
    return out;
}
