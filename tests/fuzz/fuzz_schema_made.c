/* fuzz_schema_made.c -- schemas and values made of keywords instead of bytes.
 *
 * Each byte of the input chooses a keyword, a type, a member or the end of an object; see
 * make_schema and make_value. The made text goes through the checks of fuzz_schema.c. */
#include "base/buf.h"

#define LLVMFuzzerTestOneInput check_schema_text
#include "fuzz_schema.c"
#undef LLVMFuzzerTestOneInput

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct program {
    const uint8_t *p;
    size_t n;
};

static unsigned take(struct program *g) {
    if (!g->n)
        return 0;
    g->n--;
    return *g->p++;
}

static const char *const names[] = {"a", "b", "c", "é", "a/b", ""};

static void add_name(struct ch_buf *out, unsigned c) {
    ch_buf_addf(out, "\"%s\"", names[c % CH_LEN(names)]);
}

static void make_value(struct program *g, struct ch_buf *out, int depth) {
    static const char *const plain[] = {"null", "true", "0", "-1.5e3", "1e400", "\"\"", "\"a\"",
                                        "\"2024-02-30\"", "9007199254740993", "\"a@b.c\""};
    unsigned c = take(g), n = c / 16 % 4;
    if (depth > 6 || c % 16 < CH_LEN(plain)) {
        ch_buf_add_str(out, plain[c % CH_LEN(plain)]);
        return;
    }
    bool object = c & 1;
    ch_buf_addc(out, object ? '{' : '[');
    for (unsigned i = 0; i < n; i++) {
        if (i)
            ch_buf_addc(out, ',');
        if (object) {
            add_name(out, take(g));
            ch_buf_addc(out, ':');
        }
        make_value(g, out, depth + 1);
    }
    ch_buf_addc(out, object ? '}' : ']');
}

static void make_schema(struct program *g, struct ch_buf *out, int depth);

static void add_schemas(struct program *g, struct ch_buf *out, int depth, bool named) {
    unsigned n = 1 + take(g) % 3;
    ch_buf_addc(out, named ? '{' : '[');
    for (unsigned i = 0; i < n; i++) {
        if (i)
            ch_buf_addc(out, ',');
        if (named) {
            add_name(out, take(g));
            ch_buf_addc(out, ':');
        }
        make_schema(g, out, depth + 1);
    }
    ch_buf_addc(out, named ? '}' : ']');
}

static void add_keyword(struct program *g, struct ch_buf *out, int depth) {
    static const char *const subschema[] = {"items", "not", "if", "then", "else", "contains",
                                            "additionalProperties", "propertyNames",
                                            "unevaluatedProperties", "unevaluatedItems"};
    static const char *const lists[] = {"allOf", "anyOf", "oneOf", "prefixItems"};
    static const char *const maps[] = {"properties", "patternProperties", "$defs",
                                       "dependentSchemas"};
    static const char *const numbers[] = {"minimum", "maximum", "multipleOf", "minLength",
                                          "maxItems", "minContains", "maxProperties"};
    static const char *const texts[] = {
        "\"type\":\"object\"", "\"type\":[\"string\",\"null\"]", "\"type\":\"integer\"",
        "\"$ref\":\"#\"", "\"$ref\":\"#/$defs/a\"", "\"$dynamicRef\":\"#x\"",
        "\"$dynamicAnchor\":\"x\"", "\"$anchor\":\"a\"", "\"$ref\":\"http://other/\"",
        "\"required\":[\"a\",\"b\"]", "\"uniqueItems\":true", "\"pattern\":\"^(a|b)*$\"",
        "\"format\":\"email\"", "\"format\":\"date\"", "\"dependentRequired\":{\"a\":[\"c\"]}",
        "\"$id\":\"http://x/y\"", "\"default\":1", "\"additionalProperties\":false"};
    unsigned kind = take(g), which = take(g);
    switch (kind % 6) {
    case 0:
        ch_buf_addf(out, "\"%s\":", subschema[which % CH_LEN(subschema)]);
        make_schema(g, out, depth + 1);
        return;
    case 1:
        ch_buf_addf(out, "\"%s\":", lists[which % CH_LEN(lists)]);
        add_schemas(g, out, depth, false);
        return;
    case 2:
        ch_buf_addf(out, "\"%s\":", maps[which % CH_LEN(maps)]);
        add_schemas(g, out, depth, true);
        return;
    case 3:
        ch_buf_addf(out, "\"%s\":%u", numbers[which % CH_LEN(numbers)], take(g) % 5);
        return;
    case 4:
        ch_buf_add_str(out, which & 1 ? "\"const\":" : "\"enum\":[");
        make_value(g, out, 4);
        ch_buf_add_str(out, which & 1 ? "" : "]");
        return;
    }
    ch_buf_add_str(out, texts[which % CH_LEN(texts)]);
}

static void make_schema(struct program *g, struct ch_buf *out, int depth) {
    unsigned n = take(g) % 5;
    if (depth > 5 || !g->n) {
        ch_buf_add_str(out, n & 1 ? "true" : "{}");
        return;
    }
    ch_buf_addc(out, '{');
    for (unsigned i = 0; i < n; i++) {
        if (i)
            ch_buf_addc(out, ',');
        add_keyword(g, out, depth);
    }
    ch_buf_addc(out, '}');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct program g = {data, size};
    CH_BUF_AUTO text = {0};
    if (size > 4096)
        return 0;
    make_schema(&g, &text, 0);
    for (int i = 0; i < 4; i++) {
        ch_buf_addc(&text, '\n');
        make_value(&g, &text, 0);
    }
    return check_schema_text((const uint8_t *)text.p, text.n);
}
