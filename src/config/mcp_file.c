/* mcp_file.c -- see mcp_file.h. */
#include "config/mcp_file.h"

#include <stdlib.h>


#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "chela/config.h"
#include "config/conf.h"
#include "json/writer.h"

bool ch_mcp_file_is(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return strcmp(name, ".mcp.json") == 0 || strcmp(name, "mcp.json") == 0;
}

/* Members that have the same meaning in chela.yaml. */
static bool is_shared(struct ch_sv key) {
    static const char *const keys[] = {"env",    "url",        "headers", "era",     "sandbox",
                                       "effect", "permission", "confirm", "disabled", "auth",
                                       "roots",  "logLevel",   "resources", "sampling"};

    for (size_t i = 0; i < CH_LEN(keys); i++)
        if (ch_sv_is(key, keys[i]))
            return true;
    return false;
}

static void translate_command(struct ch_jw *w, const struct ch_json *server) {
    const struct ch_json *command = ch_json_get(server, "command");

    ch_jw_kbegin(w, "command", '[');
    if (ch_json_is(command, CH_JSON_ARRAY)) {
        for (CH_JSON_EACH(word, command))
            ch_jw_value(w, word);
    } else
        ch_jw_value(w, command);
    for (CH_JSON_EACH(word, ch_json_get(server, "args")))
        ch_jw_value(w, word);
    ch_jw_end(w, ']');
}

static int translate_server(struct ch_jw *w, struct ch_sv name, const struct ch_json *server,
                            const char *path, struct chela_error *err) {
    if (!ch_json_is(server, CH_JSON_OBJECT) ||
        (!ch_json_get(server, "command") && !ch_json_get(server, "url")))
        return ch_fail(err, CHELA_ECONFIG, "%s: %.*s: neither a command nor a url", path,
                       CH_SV_FMT(name));
    ch_jw_key_sv(w, name);
    ch_jw_begin(w, '{');
    if (ch_json_get(server, "command"))
        translate_command(w, server);
    for (CH_JSON_MEMBERS(key, value, server)) {
        if (!is_shared(ch_json_str(key)))
            continue;
        ch_jw_key_sv(w, ch_json_str(key));
        ch_jw_value(w, value);
    }
    ch_jw_end(w, '}');
    return 0;
}

static const struct ch_json *servers_of(const struct ch_json *root) {
    const struct ch_json *servers = ch_json_get(root, "mcpServers");

    return servers ? servers : ch_json_get(root, "servers");
}

int ch_mcp_file_translate(struct ch_sv text, const char *path, struct ch_buf *out,
                          struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *root;
    struct chela_error why = {0};
    struct ch_jw w = ch_jw(out);

    if (ch_json_parse(&arena, text, CH_JSON_STRICT, &root, NULL, &why) < 0)
        return ch_fail(err, CHELA_ECONFIG, "%s: %s", path, why.message);
    ch_buf_add_str(out, "{\"mcp\":{\"servers\":");
    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(name, server, servers_of(root))) {
        int rc = translate_server(&w, ch_json_str(name), server, path, err);
        if (rc < 0)
            return rc;
    }
    ch_jw_end(&w, '}');
    ch_buf_add_str(out, "}}");
    return 0;
}

/* --- editing */

static void write_others(struct ch_jw *w, const struct ch_json *object, const char *but) {
    for (CH_JSON_MEMBERS(key, value, object)) {
        if (ch_sv_is(ch_json_str(key), but))
            continue;
        ch_jw_key_sv(w, ch_json_str(key));
        ch_jw_value(w, value);
    }
}

/* Keeps the members that other programs have in the file. */
static void write_servers(struct ch_buf *out, const struct ch_json *root, const char *name,
                          const char *definition) {
    struct ch_jw w = ch_jw(out);
    bool other = !ch_json_get(root, "mcpServers") && ch_json_get(root, "servers");
    const char *member = other ? "servers" : "mcpServers";

    ch_jw_begin(&w, '{');
    write_others(&w, root, member);
    ch_jw_kbegin(&w, member, '{');
    write_others(&w, servers_of(root), name);
    if (definition) {
        ch_jw_kraw(&w, name, ch_sv_str(definition));
    }
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_buf_addc(out, '\n');
}

#define LONGEST_NAME 32 /* as chela_mcp_new checks it, which a tool's name begins with */

/* A server that the file could not be read with is not written. */
static int check_definition(const char *path, const char *name, const char *definition,
                            struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO means = {0};
    chela_config *cfg = NULL;

    write_servers(&text, NULL, name, definition);
    int rc = ch_mcp_file_translate(ch_buf_sv(&text), path, &means, err);
    if (rc == 0)
        rc = ch_config_parse(ch_buf_sv(&means), path, ".", NULL, NULL, &cfg, err);
    chela_config_free(cfg);
    if (rc == 0 && (strlen(name) > LONGEST_NAME || strstr(name, "__")))
        rc = ch_fail(err, CHELA_ECONFIG,
                     "the name of an MCP server has at most %d characters and no \"__\"",
                     LONGEST_NAME);
    return rc;
}

int chela_config_mcp_edit(const char *path, const char *name, const char *definition,
                          struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO out = {0};
    const struct ch_json *root = NULL;

    struct chela_error why = {0};
    int rc = ch_file_load(path, CH_LIMIT_YAML_FILE, &text, &why);
    if (rc == 0 &&
        ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_STRICT, &root, NULL, &why) < 0)
        return ch_fail(err, CHELA_EPARSE, "%s: %s", path, why.message);
    if (rc < 0 && rc != CHELA_ENOENT)
        return ch_fail(err, rc, "%s", why.message);
    if (!definition && !ch_json_get(servers_of(root), name))
        return ch_fail(err, CHELA_ENOENT, "%s has no MCP server %s", path, name);
    write_servers(&out, root, name, definition);
    rc = definition ? check_definition(path, name, definition, err) : 0;
    if (rc < 0)
        return rc;
    char *file = realpath(path, NULL); /* a link stays, and its target is written */
    rc = ch_file_save(file ? file : path, ch_buf_sv(&out), err);
    free(file);
    return rc;
}
