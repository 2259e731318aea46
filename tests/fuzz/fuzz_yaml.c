/* fuzz_yaml.c -- any bytes as a YAML file.
 *
 * What is accepted must be a sound tree: written as JSON it reads back equal
 * (YAML has no duplicate keys, so nothing is lost), and as JSON is YAML, the
 * written text read as YAML is that tree once more. Every node has a place in
 * the text; every refusal names one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "json/writer.h"
#include "json/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                     \
    do {                                                            \
        if (!(x)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
            abort();                                                \
        }                                                           \
    } while (0)

static void check_places(const struct ch_yaml *y) {
    MUST(y->nodes == (size_t)(ch_json_next(y->root) - y->root));
    for (size_t i = 0; i < y->nodes; i++) {
        struct ch_json_where w = ch_yaml_where(y, y->root + i);
        MUST(w.line && w.column);
    }
}

/* JSON is YAML to libyaml only within limits: keys up to 1024 characters, no
 * control characters past ASCII, and U+2028 is a line break to it. */
static bool is_yaml_too(struct ch_sv json, const struct ch_json *v, size_t nodes) {
    for (size_t i = 0; i < json.n; i++)
        if ((signed char)json.p[i] < 0x20 || json.p[i] == 0x7f)
            return false;
    for (size_t i = 0; i < nodes; i++)
        if (v[i].type == CH_JSON_STRING && v[i].n > 150)
            return false;
    return true;
}

static void check_as_json(struct ch_arena *a, const struct ch_yaml *y) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    const struct ch_json *v = NULL;
    struct ch_yaml again;
    ch_jw_value(&w, y->root);
    MUST(ch_json_parse(a, ch_buf_sv(&out), CH_JSON_STRICT, &v, NULL, NULL) == 0);
    MUST(ch_json_equal(y->root, v));
    if (!is_yaml_too(ch_buf_sv(&out), y->root, y->nodes))
        return;
    MUST(ch_yaml_parse(a, ch_buf_sv(&out), "again", &again, NULL) == 0);
    MUST(ch_json_equal(y->root, again.root));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CH_ARENA_AUTO a = {0};
    struct chela_error err = {0};
    struct ch_yaml y = {0};
    int rc = ch_yaml_parse(&a, ch_sv((const char *)data, size), "f", &y, &err);
    if (rc < 0) {
        MUST(!y.root && err.code == rc && strncmp(err.message, "f:", 2) == 0);
        return 0;
    }
    check_places(&y);
    check_as_json(&a, &y);
    return 0;
}
