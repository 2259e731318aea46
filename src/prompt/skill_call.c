/* skill_call.c -- see skill_call.h. */
#include "prompt/skill_call.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "prompt/envelope.h"
#include "prompt/skill_command.h"
#include "tool/process/path.h"

static const char command[] = "/skill";
static const char begins[] = "Use the skill ";

static bool skill_call_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool ch_skill_called(struct ch_sv text) {
    size_t n = strlen(command);
    return ch_sv_starts(text, command) && (text.n == n || skill_call_is_space(text.p[n]));
}

static bool for_people(const struct ch_skill *s) {
    return !s->problem && s->allowed && s->head.for_users;
}

static int skill_call_unknown(const struct ch_skills *s, struct ch_sv name,
                              struct chela_error *err) {
    CH_BUF_AUTO known = {0};
    for (size_t i = 0; i < s->n && known.n < 200; i++)
        if (for_people(&s->list[i]))
            ch_buf_addf(&known, "%s%s", known.n ? ", " : "", s->list[i].head.name);
    if (!known.n)
        return ch_fail(err, CHELA_ENOENT, "there is no skill '%.*s', nor any other to be called",
                       CH_SV_FMT(ch_utf8_cut(name, CH_LIMIT_SKILL_NAME)));
    return ch_fail(err, CHELA_ENOENT, "there is no skill '%.*s' (known: %s)",
                   CH_SV_FMT(ch_utf8_cut(name, CH_LIMIT_SKILL_NAME)), ch_buf_str(&known));
}

static int skill_call_load(const struct ch_skill *skill, const char *workspace, struct ch_buf *out,
                           struct chela_error *err) {
    int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
    int fd = skill->of_user ? open(skill->file, flags) : ch_path_open(workspace, skill->file, 0);
    if (skill->of_user && fd < 0)
        fd = -errno;
    if (fd < 0)
        return ch_fail(err, CHELA_ENOENT, "skill %s: %s: %s", skill->head.name, skill->location,
                       fd == -EXDEV ? "it is outside of the workspace" : strerror(-fd));
    int rc = ch_file_load_open(fd, skill->location, CH_LIMIT_SKILL_FILE, out, err);
    close(fd);
    return rc;
}

/* Parse the skill's name and the task. */
static int skill_call_read(const struct ch_skills *s, struct ch_sv text,
                           const struct ch_skill **skill, struct ch_sv *words,
                           struct chela_error *err) {
    struct ch_sv rest = ch_sv_trim(ch_sv(text.p + strlen(command), text.n - strlen(command)));
    size_t n = 0;
    while (n < rest.n && !skill_call_is_space(rest.p[n]))
        n++;
    struct ch_sv name = ch_sv(rest.p, n);
    *words = ch_sv_trim(ch_sv(rest.p + n, rest.n - n));
    if (!name.n)
        return ch_fail(err, CHELA_EINVAL, "which skill? %s NAME what to do", command);
    *skill = ch_skills_find(s, name);
    return *skill && for_people(*skill) ? 0 : skill_call_unknown(s, name, err);
}

int ch_skill_request(const struct ch_skills *s, struct ch_sv text, struct ch_buf *out,
                     struct chela_error *err) {
    const struct ch_skill *skill;
    struct ch_sv words;
    int rc = skill_call_read(s, text, &skill, &words, err);
    if (rc < 0)
        return rc;
    ch_buf_addf(out, "Use the %s %s for this request: read %s first.",
                ch_command_is_file(skill->file) ? "command" : "skill", skill->head.name,
                skill->location);
    if (words.n)
        ch_buf_addf(out, "\n\n%.*s", CH_SV_FMT(words));
    return 0;
}

int ch_skill_call(const struct ch_skills *s, const char *workspace, struct ch_sv text,
                  struct ch_buf *out, struct chela_error *err) {
    const struct ch_skill *skill;
    struct ch_sv words;
    int rc = skill_call_read(s, text, &skill, &words, err);
    if (rc < 0)
        return rc;
    CH_BUF_AUTO file = {0};
    CH_BUF_AUTO valid = {0};
    rc = skill_call_load(skill, workspace, &file, err);
    if (rc < 0)
        return rc;
    ch_utf8_add_valid(&valid, ch_sv_trim(ch_skill_body(ch_buf_sv(&file))));
    if (ch_command_is_file(skill->file)) {
        ch_command_expand(ch_buf_sv(&valid), words, out);
        return 0;
    }
    int folder = (int)(strrchr(skill->location, '/') - skill->location);
    ch_buf_addf(out,
                "%s%s for this request. Paths in its instructions are relative to "
                "%.*s.\n<skill_file name=\"%s\">\n",
                begins, skill->head.name, folder, skill->location, skill->head.name);
    ch_envelope_quote(ch_buf_sv(&valid), out);
    ch_buf_add_str(out, "\n</skill_file>");
    if (words.n)
        ch_buf_addf(out, "\n\n%.*s", CH_SV_FMT(words));
    return 0;
}

const struct ch_skill *ch_skill_in_call(const struct ch_skills *s, struct ch_sv text) {
    CH_BUF_AUTO tag = {0};
    if (!ch_sv_starts(text, begins))
        return NULL;
    struct ch_sv rest = ch_sv(text.p + strlen(begins), text.n - strlen(begins));
    const struct ch_skill *skill = ch_skills_find(s, ch_sv_split(&rest, ' '));
    if (!skill)
        return NULL;
    struct ch_sv head = ch_sv_split(&rest, '\n');
    ch_buf_addf(&tag, "<skill_file name=\"%s\">\n", skill->head.name);
    return ch_sv_starts(head, "for this request. Paths in ") && ch_sv_starts(rest, tag.p) ? skill
                                                                                        : NULL;
}
