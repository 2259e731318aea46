/* diagnostics.c -- see chela/survey.h. Every finding comes from a trial: a module is
 * loaded, a layer of the sandbox is set up. Version numbers are not used. */
#include "agent/api/diagnostics.h"

#include "agent/context/model_end.h"
#include "agent/handle/lookup.h"
#include "base/mem.h"
#include "chela/survey.h"
#include "io/loop_entry.h"
#include "io/module.h"
#include "model/catalog/provider.h"
#include "model/provider/facts_book.h"
#include "tool/process/layer_mount.h"
#include "tool/process/sandbox_options.h"
#include "tool/process/sandbox_policy.h"
#include "tool/process/sandbox_probe.h"

enum status { OK, WARN, FAIL };

void ch_diagnostics_row(struct ch_jw *w, const char *area, const char *name, const char *status,
                        const char *detail, const char *mend) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "area", area);
    ch_jw_kcstr(w, "name", name);
    ch_jw_kcstr(w, "status", status);
    ch_jw_kcstr(w, "detail", detail);
    if (mend)
        ch_jw_kcstr(w, "mend", mend);
    ch_jw_end(w, '}');
}

static void row(struct ch_jw *w, const char *area, const char *name, enum status status,
                const char *detail, const char *mend) {
    static const char *const words[] = {"ok", "warn", "fail"};
    ch_diagnostics_row(w, area, name, words[status], detail, status == OK ? NULL : mend);
}

/* --- modules */

static const struct {
    const char *name, *kind, *use;
    enum status without;
} modules[] = {
    {"tls", "tls", "https", FAIL},
    {"store-sqlite", "store", "stored sessions", WARN},
    {"store-postgres", "store", "sessions in PostgreSQL", WARN},
    {"store-redis", "store", "sessions in Redis", WARN},
    {"sqlite", "database", "query_database", WARN},
    {"postgres", "database", "query_database", WARN},
    {"html", "html", "web_fetch, to read pages", WARN},
    {"h2", "http2", "clients of `chela serve` that speak HTTP/2", WARN},
    {"mail", "mail", "send_email", WARN},
};

static void look_at_modules(const chela_runtime *rt, struct ch_jw *w) {
    for (size_t i = 0; i < CH_LEN(modules); i++) {
        struct chela_error err = {0};
        const void *ops;
        CH_BUF_AUTO detail = {0};

        int rc = ch_module_load(modules[i].name, modules[i].kind, rt->module_path, &ops, &err);
        ch_buf_addf(&detail, "%s%s%s", modules[i].use, rc < 0 ? ": " : "", err.message);
        row(w, "module", modules[i].name, rc < 0 ? modules[i].without : OK, ch_buf_str(&detail),
            "run scripts/install-deps and build chela again, or set CHELA_MODULE_PATH");
    }
}

/* --- keys: their presence, not their values */

/* False: an earlier provider uses the same variable. */
static bool is_first(const struct ch_provider *p) {
    for (const struct ch_provider *q = ch_provider_table; q != p; q++)
        if (q->key_env && strcmp(q->key_env, p->key_env) == 0)
            return false;
    return true;
}

static void look_at_keys(const chela_runtime *rt, struct ch_jw *w) {
    bool any = false;

    for (const struct ch_provider *p = ch_provider_table; p->name; p++) {
        const char *value = p->key_env ? ch_providers_env(&rt->providers, p->key_env) : NULL;
        CH_BUF_AUTO detail = {0};
        if (!value || !*value || !is_first(p))
            continue;
        ch_buf_addf(&detail, "%s is set", p->key_env);
        row(w, "key", p->name, OK, ch_buf_str(&detail), NULL);
        any = true;
    }
    if (!any)
        row(w, "key", "none", WARN, "the environment holds no key of a known service",
            "set ANTHROPIC_API_KEY, OPENAI_API_KEY or another, or use a local model");
}

/* --- the sandbox */

static const char *mend_of(const char *layer) {
    static const struct {
        const char *layer, *mend;
    } known[] = {
        {"helper", "install chela-sandbox beside chela (make install does)"},
        {"namespaces", "install bubblewrap, or allow user namespaces (sysctl "
                       "kernel.unprivileged_userns_clone=1, "
                       "kernel.apparmor_restrict_unprivileged_userns=0); in a container, give it "
                       "a seccomp profile that allows unshare"},
        {"landlock", "use Linux 5.13 or newer with landlock among its security modules "
                     "(/sys/kernel/security/lsm)"},
        {"seccomp", "use a kernel with CONFIG_SECCOMP_FILTER"},
        {"processes", "run chela as a user other than root, or with namespaces"},
        {"network", "see namespaces, seccomp"},
        {"protected paths", "see namespaces"},
    };

    for (size_t i = 0; i < CH_LEN(known); i++)
        if (strcmp(known[i].layer, layer) == 0)
            return known[i].mend;
    return NULL;
}

static void count_layer(const char *dir, bool in_use, void *user) {
    (void)dir, (void)in_use;
    ++*(size_t *)user;
}

/* Changes that wait, and the remains of a trial that was interrupted. */
static void look_at_layers(struct ch_jw *w) {
    CH_BUF_AUTO detail = {0};
    size_t n = 0;

    ch_layers_recover();
    ch_layers_each(count_layer, &n);
    ch_buf_addf(&detail, "%zu session%s with changes that wait", n, n == 1 ? "" : "s");
    row(w, "review", "waiting", OK, ch_buf_str(&detail), NULL);
}

/* Reports whether changes can wait for review, by mounting a layer. */
static void look_at_review(const struct ch_sandbox_policy *policy, struct ch_jw *w) {
    struct chela_error why = {0};
    bool ok = ch_layer_mount_trial(NULL, policy, &why) == 0;

    row(w, "review", "layer", ok ? OK : WARN,
        ok ? "a run can work on a layer (overlayfs): --apply review" : why.message,
        "run chela where user namespaces may mount overlayfs; until then changes become real at "
        "once: apply: each");
}

/* Reports whether commands can run unasked: --approve sandbox. */
static void look_at_profile(const struct ch_sandbox_policy *policy, struct ch_jw *w) {
    CH_ARENA_AUTO arena = {0};
    const char *lacks = ch_sandbox_lacks(&arena, policy);
    CH_BUF_AUTO detail = {0};

    if (lacks)
        ch_buf_addf(&detail, "--approve sandbox asks here, for the sandbox lacks: %s", lacks);
    else
        ch_buf_add_str(&detail, "--approve sandbox holds: commands run unasked, without a network, "
                                "with protected paths");
    row(w, "approval", "sandbox", lacks ? WARN : OK, ch_buf_str(&detail),
        "see the layers of the sandbox");
}

static void look_at_sandbox(const struct ch_sandbox_policy *policy, struct ch_jw *w) {
    enum status needed = policy->mode == CH_SANDBOX_REQUIRED ? FAIL : WARN;
    size_t n;

    if (policy->mode == CH_SANDBOX_OFF) {
        row(w, "sandbox", "mode", WARN, "off: programs of tools can do what you can",
            "take `mode: off` away");
        look_at_profile(policy, w);
        return;
    }
    const struct ch_sandbox_layer *layers = ch_sandbox_probe(policy->helper, &n);
    for (size_t i = 0; i < n; i++)
        row(w, "sandbox", layers[i].name,
            layers[i].ok       ? OK
            : layers[i].needed ? needed
                               : WARN,
            layers[i].why[0] ? layers[i].why : "it holds", mend_of(layers[i].name));
    look_at_profile(policy, w);
    look_at_review(policy, w);
    look_at_layers(w);
}

/* --- models */

static void model_fault(const char *text, void *user) {
    row(user, "model", "facts", WARN, text, "mend the file, or remove the row");
}

/* The user's file of facts, and the last days of the agents' models. */
static void look_at_models(chela_runtime *rt, struct ch_jw *w) {
    int64_t now = ch_now_ms(ch_loop_clock(rt->loop));
    ch_facts_book_faults(&rt->providers, model_fault, w);
    for (CH_LIST_EACH(i, &rt->agents)) {
        const chela_agent *a = CH_CONTAINER(i, chela_agent, link);
        for (size_t k = 0; k < a->ntargets; k++) {
            CH_BUF_AUTO text = {0};
            if (ch_model_end_write(a->targets[k], now, &text))
                row(w, "model", "end", WARN, ch_buf_str(&text), "choose another model");
        }
    }
}

char *chela_runtime_survey(chela_runtime *rt, const struct chela_sandbox_opts *sandbox) {
    CH_ENTER_OR(rt, rt->loop, NULL, NULL);
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    CH_ARENA_AUTO arena = {0};
    struct ch_sandbox_policy *policy;
    struct chela_error err = {0};

    ch_jw_begin(&w, '[');
    look_at_modules(rt, &w);
    look_at_keys(rt, &w);
    look_at_models(rt, &w);
    if (ch_sandbox_read(&arena, sandbox, &policy, &err) == 0)
        look_at_sandbox(policy, &w);
    else
        row(&w, "sandbox", "mode", FAIL, err.message, NULL);
    ch_jw_end(&w, ']');
    return ch_buf_take(&out);
}
