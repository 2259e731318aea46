/* trust_skills.c -- see chela/trust.h: trust in the tools that the skills of a workspace want to
 * use without questions. The record has the path WORKSPACE/skills. */
#include <stdlib.h>
#include <unistd.h>

#include "agent/api/runtime.h"
#include "base/error.h"
#include "base/mem.h"
#include "chela/trust.h"
#include "config/trust_record.h"
#include "io/loop_entry.h"
#include "prompt/skill_tools.h"

/* The real path of the workspace and the path of its record. */
static int skills_place(const char *workspace, char **real, struct ch_buf *path,
                        struct chela_error *err) {
    *real = realpath(workspace ? workspace : ".", NULL);
    if (!*real)
        return ch_fail(err, CHELA_ENOENT, "%s: there is no such directory",
                       workspace ? workspace : ".");
    ch_buf_addf(path, "%s/skills", strcmp(*real, "/") == 0 ? "" : *real);
    return 0;
}

static bool has_lists(const struct ch_skills *skills) {
    for (size_t i = 0; i < skills->n; i++)
        if (skills->list[i].head.tools[0])
            return true;
    return false;
}

static void claim_tools(const struct ch_skills *skills, chela_config_claim_fn *fn, void *user) {
    for (size_t i = 0; fn && i < skills->n; i++) {
        const struct ch_skill *s = &skills->list[i];
        CH_BUF_AUTO key = {0}, value = {0};
        if (s->of_user || !s->head.tools[0])
            continue;
        ch_buf_addf(&key, "%s allowed-tools", s->location);
        ch_skill_tools_show(s, &value);
        fn("permission", ch_buf_str(&key), ch_buf_str(&value), user);
    }
}

int chela_trust_skills_add(const char *dir, const char *workspace, const char *const *folders,
                           chela_config_claim_fn *fn, void *user, struct chela_error *err) {
    CH_BUF_AUTO path = {0};
    char digest[2 * CH_SHA256_SIZE + 1];
    char *real;
    struct ch_skills skills = {0};
    int rc = skills_place(workspace, &real, &path, err);
    if (rc == 0) {
        ch_skills_load(&skills,
                       &(struct ch_skills_opts){.workspace = real, .user_roots = folders});
        ch_skills_tools_digest(&skills, digest);
        rc = has_lists(&skills)
                 ? ch_trust_record_put(dir, ch_buf_str(&path), digest, CH_SV("[]"), err)
                 : ch_fail(err, CHELA_ENOENT, "%s: no skill has allowed-tools", real);
    }
    if (rc == 0)
        claim_tools(&skills, fn, user);
    ch_skills_release(&skills);
    free(real);
    return rc;
}

int chela_trust_skills(const char *dir, const char *workspace, chela_runtime *rt,
                       struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    CH_BUF_AUTO path = {0}, digest = {0};
    char *real;
    int rc = skills_place(workspace, &real, &path, err);
    if (rc == 0)
        rc = ch_trust_record_digest(dir, ch_buf_str(&path), &digest, err);
    if (rc == 0)
        ch_runtime_trust_skills(rt, real, ch_buf_str(&digest));
    free(real);
    return rc;
}
