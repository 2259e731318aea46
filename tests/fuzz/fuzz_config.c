/* fuzz_config.c -- any bytes as chela.yaml.
 *
 * A file is accepted or refused with its place; what was accepted can be asked
 * for every agent it names, and the answers hold what the API promises. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "config/conf.h"

static void on_warning(const char *line, void *user) {
    (void)user;
    if (strncmp(line, "c.yaml:", 7) != 0 || strchr(line, '\n'))
        abort();
}

static void ask_for(const chela_config *cfg, const char *id) {
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.id = NULL);
    struct chela_error err = {0};
    if (chela_config_agent(cfg, id, &opts, &err) < 0 || !opts.tools)
        abort();
    if (opts.model && !strchr(opts.model, '/'))
        abort();
    for (const char *const *f = opts.fallbacks; f && *f; f++)
        if (!strchr(*f, '/'))
            abort();
    if (opts.limits->max_turns < -1 || opts.limits->timeout_ms < -1 || opts.toolset->parallel > 256)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    chela_config *cfg = NULL;
    struct chela_error err = {0};
    struct ch_sv text = ch_sv((const char *)data, size);
    if (ch_config_parse(text, "c.yaml", "/conf", on_warning, NULL, &cfg, &err) < 0) {
        if (cfg || strncmp(err.message, "c.yaml:", 7) != 0)
            abort();
        return 0;
    }
    const struct ch_conf_agent *agents = cfg->conf.agents.items;
    ask_for(cfg, NULL);
    for (size_t i = 0; i < cfg->conf.agents.n; i++)
        ask_for(cfg, agents[i].item.name);
    chela_config_free(cfg);
    return 0;
}
