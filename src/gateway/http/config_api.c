/* config_api.c -- see config_api.h.
 *
 * A change is made in two requests: the first one, with `check`, shows the difference, and
 * the second one carries the digest of the file that the difference refers to. If the file
 * was changed between them, the second one is refused. The file is read and written on a
 * worker thread. */
#include "gateway/http/config_api.h"

#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/redact.h"
#include "base/sha256.h"
#include "chela/config.h"
#include "config/patch.h"
#include "config/rewrite.h"
#include "gateway/lane/health_state.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"

/* The argument of a query: the file, the path of modules and the body of the request, each in a
 * line. */
static void config_start(struct ch_request *req, const struct ch_json *body,
                         int (*query)(struct ch_store_lookup *l, struct chela_error *err),
                         void (*respond)(struct ch_request *req, struct ch_store_lookup *l)) {
    const char *file = req->gw->config_file, *modules = req->gw->rt->module_path;
    CH_BUF_AUTO key = {0};
    struct ch_jw w = ch_jw(&key);
    ch_buf_addf(&key, "%s\n%s\n", file ? file : "", modules ? modules : "");
    if (body)
        ch_jw_value(&w, body);
    ch_store_lookup_start(req, ch_buf_sv(&key), 0, query, respond);
}

/* Ends the line; returns the next one. */
static char *config_cut_line(char *line) {
    char *end = strchr(line, '\n');
    *end = 0;
    return end + 1;
}

/* --- reading: l->key is the file */

static void config_add_option(const char *key, const char *value, int from_file, void *user) {
    struct ch_store_lookup *l = user;
    struct ch_jw w = ch_jw(&l->out);
    CH_BUF_AUTO safe = {0};
    ch_redact_copy(&safe, ch_sv_str(value));
    if (l->out.n)
        ch_buf_addc(&l->out, ',');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "key", key);
    ch_jw_kstr(&w, "value", ch_buf_sv(&safe));
    ch_jw_kcstr(&w, "origin", from_file ? "file" : "default");
    if (ch_config_key_may_change(ch_sv_str(key)))
        ch_jw_kbool(&w, "editable", true);
    ch_jw_end(&w, '}');
}

static void config_add_complaint(const char *line, void *user) {
    struct ch_store_lookup *l = user;
    struct ch_jw w = ch_jw(&l->more);
    if (l->more.n)
        ch_buf_addc(&l->more, ',');
    ch_jw_cstr(&w, line);
}

/* A file with errors is shown with its errors and without its options. */
static int query_config(struct ch_store_lookup *l, struct chela_error *err) {
    char *modules = config_cut_line(l->key);
    config_cut_line(modules);
    struct chela_config_opts opts =
        CHELA_CONFIG_OPTS(.warn = config_add_complaint, .complain = config_add_complaint, .user = l,
                          .module_path = *modules ? modules : NULL);
    chela_config *cfg = NULL;
    int rc = *l->key ? chela_config_open(l->key, &opts, &cfg, err) : 0;
    if (rc < 0 && !l->more.n)
        config_add_complaint(err->message, l);
    if (rc == 0)
        chela_config_show(cfg, config_add_option, l);
    chela_config_free(cfg);
    if (*l->key) {
        CH_BUF_AUTO previous = {0};
        ch_config_previous(l->key, &previous);
        l->last = access(ch_buf_str(&previous), R_OK) == 0;
    }
    return 0;
}

static void respond_config(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0}, list = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "file", *l->key ? l->key : NULL);
    ch_jw_kcstr(&w, "error", ch_health_state_config_error(req->gw->health_state));
    ch_jw_kbool(&w, "previous", l->last > 0);
    ch_buf_addf(&list, "[%s]", ch_buf_str(&l->more));
    ch_jw_kraw(&w, "complaints", ch_buf_sv(&list));
    ch_buf_clear(&list);
    ch_buf_addf(&list, "[%s]", ch_buf_str(&l->out));
    ch_jw_kraw(&w, "options", ch_buf_sv(&list));
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

void ch_config_api_get(struct ch_request *req) {
    config_start(req, NULL, query_config, respond_config);
}

/* --- changing */

struct config_change {
    const char *file, *module_path;
    struct ch_arena arena;
    const struct ch_json *body;
    struct ch_buf before, after;
    char digest[2 * CH_SHA256_SIZE + 1]; /* of `before` */
};

static bool config_parses(const char *file, struct chela_config_opts *opts, chela_config **out) {
    *out = NULL;
    return chela_config_open(file, opts, out, NULL) == 0;
}

/* The previous version must be valid, and may not change rights that the file grants. A file
 * with errors cannot be compared; the previous version takes its place. */
static int config_check_previous(const struct config_change *c, const char *previous,
                                 struct chela_error *err) {
    struct chela_config_opts opts = CHELA_CONFIG_OPTS(.module_path = c->module_path);
    chela_config *was = NULL, *is = NULL;
    int rc = chela_config_open(previous, &opts, &was, err);
    if (rc == 0 && config_parses(c->file, &opts, &is) && !chela_config_same_rights(was, is))
        rc = ch_fail(err, CHELA_EPERM,
                     "the previous version grants other rights: restore it on the machine");
    chela_config_free(was);
    chela_config_free(is);
    return rc;
}

static int config_make_text(struct config_change *c, struct chela_error *err) {
    const struct ch_json *value = ch_json_get(c->body, "value");
    CH_BUF_AUTO previous = {0};
    if (!ch_json_bool(ch_json_get(c->body, "restore"), false)) {
        struct ch_config_place at = {c->file, c->module_path};
        if (!value)
            return ch_fail(err, CHELA_EINVAL, "`key` and `value`, or `restore`, are needed");
        return ch_config_patch(ch_buf_sv(&c->before), &at, ch_json_get_str(c->body, "key"), value,
                               &c->after, err);
    }
    ch_config_previous(c->file, &previous);
    int rc = ch_file_load(ch_buf_str(&previous), CH_LIMIT_YAML_FILE, &c->after, err);
    return rc < 0 ? rc : config_check_previous(c, ch_buf_str(&previous), err);
}

static void config_digest(struct config_change *c) {
    unsigned char digest[CH_SHA256_SIZE];
    ch_sha256_of(ch_buf_sv(&c->before), digest);
    ch_sha256_hex(digest, c->digest);
}

static int config_apply_change(struct config_change *c, struct ch_store_lookup *l,
                               struct chela_error *err) {
    struct ch_sv of = ch_json_get_str(c->body, "of");
    int rc = ch_file_load(c->file, CH_LIMIT_YAML_FILE, &c->before, err);
    if (rc == 0)
        rc = config_make_text(c, err);
    if (rc < 0)
        return rc;
    config_digest(c);
    if (!ch_json_bool(ch_json_get(c->body, "check"), false)) {
        if (of.n && !ch_sv_is(of, c->digest))
            return ch_fail(err, CHELA_EBUSY, "the file was changed meanwhile: check again");
        rc = ch_config_rewrite(c->file, ch_buf_sv(&c->before), ch_buf_sv(&c->after), err);
        l->last = rc == 0;
    }
    return rc;
}

static void config_write_change(const struct config_change *c, struct ch_store_lookup *l) {
    CH_BUF_AUTO diff = {0}, safe = {0};
    struct ch_jw w = ch_jw(&l->out);
    ch_config_diff(&diff, c->file, ch_buf_sv(&c->before), ch_buf_sv(&c->after));
    ch_redact_copy(&safe, ch_buf_sv(&diff));
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "diff", ch_buf_sv(&safe));
    ch_jw_kcstr(&w, "of", c->digest);
    ch_jw_kbool(&w, "written", l->last > 0);
    ch_jw_end(&w, '}');
}

static int query_change(struct ch_store_lookup *l, struct chela_error *err) {
    char *modules = config_cut_line(l->key), *body = config_cut_line(modules);
    struct config_change c = {.file = l->key, .module_path = *modules ? modules : NULL};
    int rc = ch_json_parse(&c.arena, ch_sv_str(body), CH_JSON_STRICT, &c.body, NULL, err);
    if (rc == 0)
        rc = config_apply_change(&c, l, err);
    if (rc == CHELA_ECONFIG)
        rc = err->code = CHELA_EINVAL; /* the value makes no sense: the client's fault */
    if (rc == 0)
        config_write_change(&c, l);
    ch_buf_release(&c.before);
    ch_buf_release(&c.after);
    ch_arena_release(&c.arena);
    return rc;
}

/* The program reloads the file as on SIGHUP. */
static void settle_change(chela_gateway *gw, const struct ch_store_lookup *l) {
    if (!l->last)
        return;
    ch_log(CH_LOG_INFO, "gateway", "%s was changed from the console", l->key);
    gw->patched = true;
    chela_gateway_interrupt(gw);
}

static void respond_change(struct ch_request *req, struct ch_store_lookup *l) {
    ch_request_respond_json(req, 200, &l->out);
}

void ch_config_api_change(struct ch_request *req) {
    static const char members[] = "key:string of:string check:boolean restore:boolean";
    struct chela_error err = {0};
    if (!req->gw->config_file) {
        ch_request_fail(req, 409, NULL, "the gateway was started without a configuration file");
    } else if (ch_request_check_types(req->json, NULL, members, &err) < 0) {
        ch_request_fail_with(req, &err);
    } else {
        config_start(req, req->json, query_change, respond_change);
        ch_store_lookup_settle(req, settle_change);
    }
}
