/* aws.c -- see aws.h. */
#include "net/aws.h"

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "guard/secrets.h"

/* The settings of a profile; views into the files' texts. */
struct profile {
    struct ch_sv name;
    bool found;
    struct ch_sv access_key, secret_key, session_token, region;
    const char *elsewhere; /* the setting that names another source of keys */
};

void ch_aws_release(struct ch_aws *aws) {
    ch_free(aws->access_key);
    if (aws->secret_key)
        explicit_bzero(aws->secret_key, strlen(aws->secret_key));
    ch_free(aws->secret_key);
    ch_free(aws->session_token);
    ch_free(aws->region);
    ch_free(aws->missing);
    *aws = (struct ch_aws){0};
}

/* --- the files */

static struct ch_sv net_aws_unquoted(struct ch_sv s) {
    s = ch_sv_trim(s);
    bool quoted = s.n >= 2 && (*s.p == '"' || *s.p == '\'') && s.p[s.n - 1] == *s.p;
    return quoted ? ch_sv(s.p + 1, s.n - 2) : s;
}

/* "[profile work]" or "[work]"; config files use the first form. */
static bool is_section_of(struct ch_sv line, struct ch_sv profile) {
    const char *end = memchr(line.p, ']', line.n);
    struct ch_sv name =
        ch_sv_trim(ch_sv(line.p + 1, end ? (size_t)(end - line.p) - 1 : line.n - 1));
    if (ch_sv_starts(name, "profile ") || ch_sv_starts(name, "profile\t"))
        name = ch_sv(name.p + 8, name.n - 8);
    return ch_sv_eq(net_aws_unquoted(name), profile);
}

/* Remove a comment, which begins after a blank. */
static struct ch_sv without_comment(struct ch_sv s) {
    for (size_t i = 1; i < s.n; i++)
        if ((s.p[i] == '#' || s.p[i] == ';') && (s.p[i - 1] == ' ' || s.p[i - 1] == '\t'))
            return ch_sv(s.p, i);
    return s;
}

static void net_aws_set(struct ch_sv *to, struct ch_sv value) {
    if (!to->n)
        *to = value;
}

static void take_setting(struct profile *p, struct ch_sv name, struct ch_sv value) {
    static const char *const indirect[] = {"role_arn",
                                           "sso_session",
                                           "sso_start_url",
                                           "credential_process",
                                           "web_identity_token_file",
                                           "login_session"};
    if (ch_sv_is(name, "aws_access_key_id"))
        net_aws_set(&p->access_key, value);
    else if (ch_sv_is(name, "aws_secret_access_key"))
        net_aws_set(&p->secret_key, value);
    else if (ch_sv_is(name, "aws_session_token"))
        net_aws_set(&p->session_token, value);
    else if (ch_sv_is(name, "region"))
        net_aws_set(&p->region, value);
    for (size_t i = 0; i < CH_LEN(indirect); i++)
        if (ch_sv_is(name, indirect[i]))
            p->elsewhere = indirect[i];
}

static void read_profile(struct ch_sv text, struct profile *p) {
    bool inside = false;
    while (text.p && text.n) {
        struct ch_sv raw = ch_sv_split(&text, '\n'), line = ch_sv_trim(raw);
        bool nested = raw.n && (*raw.p == ' ' || *raw.p == '\t'); /* belongs to the setting above */
        if (!line.n || *line.p == '#' || *line.p == ';')
            continue;
        if (*line.p == '[') {
            inside = is_section_of(line, p->name);
            p->found |= inside;
        } else if (inside && !nested) {
            struct ch_sv value = line, name = ch_sv_split(&value, '=');
            take_setting(p, ch_sv_trim(name), net_aws_unquoted(without_comment(ch_sv_trim(value))));
        }
    }
}

/* Load the file that the variable names, or ~/.aws/NAME. A missing file is not
 * an error. */
static int net_aws_load_file(const char *variable, const char *name, ch_env_fn *env, void *user,
                             struct ch_buf *out, struct chela_error *err) {
    const char *path = env(variable, user), *home = env("HOME", user);
    CH_BUF_AUTO usual = {0};
    if (!path || !*path) {
        if (!home || !*home)
            return CHELA_OK;
        ch_buf_addf(&usual, "%s/.aws/%s", home, name);
        path = ch_buf_str(&usual);
    }
    int rc = ch_file_load(path, CH_LIMIT_AWS_FILE, out, err);
    return rc == CHELA_ENOENT ? CHELA_OK : rc;
}

/* --- combining the sources */

static char *net_aws_copy(struct ch_sv s) {
    return s.n ? ch_strndup(s.p, s.n) : NULL;
}

static struct ch_sv net_aws_variable(ch_env_fn *env, void *user, const char *name) {
    const char *v = env(name, user);
    return ch_sv_trim(ch_sv_str(v ? v : ""));
}

static int take_keys(struct ch_aws *aws, const char *where, struct ch_sv access,
                     struct ch_sv secret, struct ch_sv token, struct chela_error *err) {
    if (!access.n || !secret.n)
        return ch_fail(err, CHELA_EAUTH, "%s has one half of an AWS key: %s is missing", where,
                       access.n ? "the secret" : "the access key id");
    aws->access_key = net_aws_copy(access);
    aws->secret_key = net_aws_copy(secret);
    aws->session_token = net_aws_copy(token);
    ch_secret_add(aws->secret_key, "AWS_SECRET_ACCESS_KEY");
    ch_secret_add(aws->session_token, "AWS_SESSION_TOKEN");
    return CHELA_OK;
}

static char *why_missing(const struct profile *p) {
    struct ch_buf line = {0};
    CH_BUF_LIT(&line, "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
                      "AWS_SECRET_ACCESS_KEY");
    if (p->elsewhere)
        ch_buf_addf(&line,
                    " (AWS profile %.*s has its keys by %s, which is not supported: "
                    "`aws configure export-credentials` gives them)",
                    CH_SV_FMT(p->name), p->elsewhere);
    else if (p->found)
        ch_buf_addf(&line, " (AWS profile %.*s has no keys)", CH_SV_FMT(p->name));
    else
        ch_buf_addf(&line, " (there is no AWS profile %.*s)", CH_SV_FMT(p->name));
    return ch_buf_take(&line);
}

static int use_profile(struct ch_aws *aws, const struct profile *p, struct chela_error *err) {
    if (!aws->region)
        aws->region = net_aws_copy(p->region);
    if (aws->access_key)
        return CHELA_OK;
    if (!p->access_key.n && !p->secret_key.n) {
        aws->missing = why_missing(p);
        return CHELA_OK;
    }
    CH_BUF_AUTO where = {0};
    ch_buf_addf(&where, "AWS profile %.*s", CH_SV_FMT(p->name));
    return take_keys(aws, ch_buf_str(&where), p->access_key, p->secret_key, p->session_token, err);
}

static int load_environment(struct ch_aws *aws, ch_env_fn *env, void *user,
                            struct chela_error *err) {
    struct ch_sv region = net_aws_variable(env, user, "AWS_REGION");
    aws->region =
        net_aws_copy(region.n ? region : net_aws_variable(env, user, "AWS_DEFAULT_REGION"));
    struct ch_sv access = net_aws_variable(env, user, "AWS_ACCESS_KEY_ID");
    struct ch_sv secret = net_aws_variable(env, user, "AWS_SECRET_ACCESS_KEY");
    if (!access.n && !secret.n)
        return CHELA_OK;
    return take_keys(aws, "the environment", access, secret,
                     net_aws_variable(env, user, "AWS_SESSION_TOKEN"), err);
}

int ch_aws_load(struct ch_aws *aws, ch_env_fn *env, void *user, struct chela_error *err) {
    CH_BUF_AUTO credentials = {0};
    CH_BUF_AUTO config = {0};
    *aws = (struct ch_aws){0};
    CH_AUTOFREE char *name = net_aws_copy(net_aws_variable(env, user, "AWS_PROFILE"));
    struct profile p = {.name = ch_sv_str(name ? name : "default")};
    int rc = load_environment(aws, env, user, err);
    if (rc == CHELA_OK && !(aws->access_key && aws->region)) {
        rc = net_aws_load_file("AWS_SHARED_CREDENTIALS_FILE", "credentials", env, user,
                               &credentials, err);
        if (rc == CHELA_OK || aws->access_key) /* with keys, the files only add the region */
            rc = net_aws_load_file("AWS_CONFIG_FILE", "config", env, user, &config, err);
        read_profile(ch_buf_sv(&credentials), &p);
        read_profile(ch_buf_sv(&config), &p);
        if (rc == CHELA_OK || aws->access_key)
            rc = use_profile(aws, &p, err);
        if (credentials.n)
            explicit_bzero(credentials.p, credentials.n);
    }
    if (rc < 0)
        ch_aws_release(aws);
    return rc;
}
