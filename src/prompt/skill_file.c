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
    CH_BUF_AUTO text = {0};
    size_t n = 0;
    ch_utf8_add_valid(&text, s);
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            if (n && text.p[n - 1] != ' ')
                text.p[n++] = ' ';
        } else if (c >= 0x20 && c != 0x7f) {
            text.p[n++] = (char)c;
        }
    }
    struct ch_sv line = ch_sv_trim(ch_sv(text.p, n));
    if (line.n <= max)
        return ch_arena_str(a, line);
    return ch_arena_printf(a, "%.*s…", CH_SV_FMT(ch_utf8_cut(line, max)));
}

/* A character that names may contain besides a-z, 0-9 and hyphens: a letter beyond ASCII.
 * Spaces, punctuation, symbols that change the direction and private characters are none. */
static bool skill_file_is_letter(uint32_t cp) {
    static const struct {
        uint32_t first, last;
    } others[] = {{0x00, 0xBF},     {0xD7, 0xD7},     {0xF7, 0xF7},     {0x1680, 0x1680},
                  {0x180E, 0x180E}, {0x2000, 0x2BFF}, {0x2E00, 0x2E7F}, {0x3000, 0x3004},
                  {0x3008, 0x3020}, {0x3030, 0x3030}, {0xE000, 0xF8FF}, {0xFE00, 0xFE6F},
                  {0xFEFF, 0xFF0F}, {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40}, {0xFF5B, 0xFF65},
                  {0xFFE0, 0xFFFF}, {0x1F000, 0x1FFFF}, {0xE0000, 0x10FFFF}};
    for (size_t i = 0; i < CH_LEN(others); i++)
        if (cp >= others[i].first && cp <= others[i].last)
            return false;
    return true;
}

/* Length of the character of a name at the start of s, upper case included; 0: another
 * character, *len is its length. */
static size_t skill_file_name_char(struct ch_sv s, size_t *len) {
    uint32_t cp;
    unsigned n = ch_utf8_next(s, &cp);
    *len = n > 0 ? n : 1;
    bool plain = (s.p[0] >= 'a' && s.p[0] <= 'z') || (s.p[0] >= 'A' && s.p[0] <= 'Z') ||
                 (s.p[0] >= '0' && s.p[0] <= '9');
    return plain || (n > 1 && skill_file_is_letter(cp)) ? *len : 0;
}

/* "Create Python Script" -> "create-python-script"; "" if nothing is left. */
static const char *as_name(struct ch_arena *a, struct ch_sv s) {
    CH_BUF_AUTO out = {0};
    size_t chars = 0;
    for (size_t i = 0, len; i < s.n && chars < CH_LIMIT_SKILL_NAME; i += len) {
        size_t n = skill_file_name_char(ch_sv(s.p + i, s.n - i), &len);
        char small = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
        bool hyphen = n == 0 && out.n && out.p[out.n - 1] != '-';
        if (n > 0)
            ch_buf_add(&out, n == 1 ? &small : s.p + i, n);
        else if (hyphen)
            ch_buf_add(&out, "-", 1);
        chars += n > 0 || hyphen;
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

/* The next entry of "Bash(git log:*), Read": spaces and commas separate entries, except inside of
 * parentheses. Empty: no more. */
static struct ch_sv skill_file_next_tool(struct ch_sv *rest) {
    size_t from = 0, to, depth = 0;
    while (from < rest->n && strchr(" \t\r\n,", rest->p[from]))
        from++;
    for (to = from; to < rest->n && (depth || !strchr(" \t\r\n,", rest->p[to])); to++) {
        depth += rest->p[to] == '(';
        depth -= depth && rest->p[to] == ')';
    }
    struct ch_sv entry = ch_sv(rest->p + from, to - from);
    *rest = ch_sv(rest->p + to, rest->n - to);
    return entry;
}

/* A text of entries, or a list of such texts. */
static const char *const *skill_file_tools(struct ch_arena *a, const struct ch_json *v,
                                           struct ch_sv text) {
    const char **list = ch_arena_zalloc(a, (CH_LIMIT_SKILL_NEEDS + 1) * sizeof(*list));
    size_t n = 0;
    for (struct ch_sv e; n < CH_LIMIT_SKILL_NEEDS && (e = skill_file_next_tool(&text)).n;)
        list[n++] = skill_file_one_line(a, e, CH_LIMIT_SKILL_TEXT);
    for (CH_JSON_EACH(item, v)) {
        struct ch_sv words = item->type == CH_JSON_STRING ? ch_sv(item->s, item->n) : CH_SV("");
        for (struct ch_sv e; n < CH_LIMIT_SKILL_NEEDS && (e = skill_file_next_tool(&words)).n;)
            list[n++] = skill_file_one_line(a, e, CH_LIMIT_SKILL_TEXT);
    }
    return list;
}

static void skill_file_read_lines(struct ch_arena *a, struct ch_sv head,
                                  struct ch_skill_head *out) {
    out->name = skill_file_one_line(a, line_value(head, "name"), CH_LIMIT_SKILL_TEXT);
    out->description = skill_file_one_line(a, line_value(head, "description"), CH_LIMIT_SKILL_TEXT);
    out->version = skill_file_one_line(a, line_value(head, "version"), CH_LIMIT_SKILL_NAME);
    out->tools = skill_file_tools(a, NULL, line_value(head, "allowed-tools"));
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
    const struct ch_json *tools = ch_json_get(root, "allowed-tools");

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
    out->tools = skill_file_tools(a, tools, scalar(tools));
    out->for_users = !ch_json_is(users, CH_JSON_FALSE);
    out->for_models = !ch_json_is(no_models, CH_JSON_TRUE);
}

/* --- the text below the head ------------------------------------------------------ */

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

/* The name in the file, corrected if necessary; else the name of the folder; else the
 * heading. */
static void settle_name(struct ch_arena *a, struct ch_sv heading, const char *folder,
                        struct ch_skill_head *out) {
    const char *given = out->name, *plain = as_name(a, ch_sv_str(folder));
    out->name = as_name(a, ch_sv_str(given));
    if (!out->name[0])
        out->name = plain;
    if (!out->name[0])
        out->name = as_name(a, heading);
    if (!out->name[0])
        out->problem = "it has no name: give it one in the front matter";
    else if (given[0] && strcmp(given, out->name) != 0)
        out->warning = ch_arena_printf(
            a,
            "the name \"%s\" is not made of lower-case letters, digits and single hyphens (64 at "
            "most): it is called %s",
            skill_file_one_line(a, ch_sv_str(given), CH_LIMIT_SKILL_NAME), out->name);
    else if (given[0] && strcmp(out->name, folder) != 0)
        out->warning = ch_arena_printf(
            a, "the folder is called %s",
            skill_file_one_line(a, ch_sv_str(folder), CH_LIMIT_SKILL_NAME));
}

struct ch_skill_head ch_skill_head_read(struct ch_arena *a, struct ch_sv file, const char *folder) {
    static const char *const none[] = {NULL};
    struct ch_skill_head out = {.name = "", .description = "", .version = "", .bins = none,
                                .any_bins = none, .env = none, .tools = none,
                                .for_users = true, .for_models = true};
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

struct ch_sv ch_skill_body(struct ch_sv file) {
    struct ch_sv head, body;
    bool closed;
    skill_file_split_head(file, &head, &body, &closed);
    return body;
}

const struct ch_json *ch_skill_front_matter(struct ch_arena *a, struct ch_sv file) {
    struct ch_sv head, body;
    struct ch_yaml yaml;
    bool closed;

    if (!skill_file_split_head(file, &head, &body, &closed) || !closed ||
        ch_yaml_parse(a, head, "SKILL.md", &yaml, NULL) < 0 ||
        !ch_json_is(yaml.root, CH_JSON_OBJECT))
        return NULL;
    return yaml.root;
}
