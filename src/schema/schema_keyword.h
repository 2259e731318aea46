/* schema_keyword.h -- the table of JSON Schema keywords.
 *
 * For each keyword the table gives the drafts that define it, its vocabulary,
 * and where its value contains schemas. Indexing, compiling, cleaning and
 * checking all use this table. */
#ifndef CH_SCHEMA_SCHEMA_KEYWORD_H
#define CH_SCHEMA_SCHEMA_KEYWORD_H
#include <stdbool.h>

#include "base/sv.h"

enum ch_schema_draft {
    CH_DRAFT_7 = 1,
    CH_DRAFT_2019 = 2,
    CH_DRAFT_2020 = 4,
};
#define CH_DRAFT_OLD (CH_DRAFT_7 | CH_DRAFT_2019)
#define CH_DRAFT_NEW (CH_DRAFT_2019 | CH_DRAFT_2020)
#define CH_DRAFT_ALL (CH_DRAFT_7 | CH_DRAFT_NEW)

enum ch_vocabulary {
    CH_VOCAB_CORE = 1,
    CH_VOCAB_APPLICATOR = 2,
    CH_VOCAB_UNEVALUATED = 4,
    CH_VOCAB_VALIDATION = 8,
    CH_VOCAB_FORMAT = 16,
    CH_VOCAB_META = 32, /* annotations: titles, contents */
    CH_VOCAB_ALL = 63,
};

/* Where a keyword's value contains schemas. */
enum ch_operand {
    CH_SHAPE_NONE,
    CH_SHAPE_ONE,
    CH_SHAPE_LIST,
    CH_SHAPE_EITHER, /* one schema or a list */
    CH_SHAPE_MAP,    /* the values of an object are schemas */
    CH_SHAPE_DEPENDS /* as CH_SHAPE_MAP, but lists of names may be among the values */
};

/* X(id, name, drafts, vocabulary, shape). */
#define CH_KEYWORDS(X)                                                        \
    X(ID, "$id", ALL, CORE, NONE)                                             \
    X(SCHEMA, "$schema", ALL, CORE, NONE)                                     \
    X(REF, "$ref", ALL, CORE, NONE)                                           \
    X(COMMENT, "$comment", ALL, CORE, NONE)                                   \
    X(ANCHOR, "$anchor", NEW, CORE, NONE)                                     \
    X(DYNAMIC_REF, "$dynamicRef", 2020, CORE, NONE)                           \
    X(DYNAMIC_ANCHOR, "$dynamicAnchor", 2020, CORE, NONE)                     \
    X(RECURSIVE_REF, "$recursiveRef", 2019, CORE, NONE)                       \
    X(RECURSIVE_ANCHOR, "$recursiveAnchor", 2019, CORE, NONE)                 \
    X(VOCABULARY, "$vocabulary", NEW, CORE, NONE)                             \
    X(DEFS, "$defs", ALL, CORE, MAP)                                          \
    X(DEFINITIONS, "definitions", ALL, CORE, MAP)                             \
    X(TYPE, "type", ALL, VALIDATION, NONE)                                    \
    X(ENUM, "enum", ALL, VALIDATION, NONE)                                    \
    X(CONST, "const", ALL, VALIDATION, NONE)                                  \
    X(MULTIPLE_OF, "multipleOf", ALL, VALIDATION, NONE)                       \
    X(MINIMUM, "minimum", ALL, VALIDATION, NONE)                              \
    X(MAXIMUM, "maximum", ALL, VALIDATION, NONE)                              \
    X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", ALL, VALIDATION, NONE)           \
    X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", ALL, VALIDATION, NONE)           \
    X(MIN_LENGTH, "minLength", ALL, VALIDATION, NONE)                         \
    X(MAX_LENGTH, "maxLength", ALL, VALIDATION, NONE)                         \
    X(PATTERN, "pattern", ALL, VALIDATION, NONE)                              \
    X(MIN_ITEMS, "minItems", ALL, VALIDATION, NONE)                           \
    X(MAX_ITEMS, "maxItems", ALL, VALIDATION, NONE)                           \
    X(UNIQUE_ITEMS, "uniqueItems", ALL, VALIDATION, NONE)                     \
    X(MIN_CONTAINS, "minContains", NEW, VALIDATION, NONE)                     \
    X(MAX_CONTAINS, "maxContains", NEW, VALIDATION, NONE)                     \
    X(MIN_PROPERTIES, "minProperties", ALL, VALIDATION, NONE)                 \
    X(MAX_PROPERTIES, "maxProperties", ALL, VALIDATION, NONE)                 \
    X(REQUIRED, "required", ALL, VALIDATION, NONE)                            \
    X(DEPENDENT_REQUIRED, "dependentRequired", NEW, VALIDATION, NONE)         \
    X(FORMAT, "format", ALL, FORMAT, NONE)                                    \
    X(PREFIX_ITEMS, "prefixItems", 2020, APPLICATOR, LIST)                    \
    X(ITEMS, "items", ALL, APPLICATOR, EITHER)                                \
    X(ADDITIONAL_ITEMS, "additionalItems", OLD, APPLICATOR, ONE)              \
    X(CONTAINS, "contains", ALL, APPLICATOR, ONE)                             \
    X(PROPERTIES, "properties", ALL, APPLICATOR, MAP)                         \
    X(PATTERN_PROPERTIES, "patternProperties", ALL, APPLICATOR, MAP)          \
    X(ADDITIONAL_PROPERTIES, "additionalProperties", ALL, APPLICATOR, ONE)    \
    X(PROPERTY_NAMES, "propertyNames", ALL, APPLICATOR, ONE)                  \
    X(DEPENDENT_SCHEMAS, "dependentSchemas", NEW, APPLICATOR, MAP)            \
    X(DEPENDENCIES, "dependencies", ALL, APPLICATOR, DEPENDS)                 \
    X(ALL_OF, "allOf", ALL, APPLICATOR, LIST)                                 \
    X(ANY_OF, "anyOf", ALL, APPLICATOR, LIST)                                 \
    X(ONE_OF, "oneOf", ALL, APPLICATOR, LIST)                                 \
    X(NOT, "not", ALL, APPLICATOR, ONE)                                       \
    X(IF, "if", ALL, APPLICATOR, ONE)                                         \
    X(THEN, "then", ALL, APPLICATOR, ONE)                                     \
    X(ELSE, "else", ALL, APPLICATOR, ONE)                                     \
    X(UNEVALUATED_ITEMS, "unevaluatedItems", NEW, UNEVALUATED, ONE)           \
    X(UNEVALUATED_PROPERTIES, "unevaluatedProperties", NEW, UNEVALUATED, ONE) \
    X(CONTENT_ENCODING, "contentEncoding", ALL, META, NONE)                   \
    X(CONTENT_MEDIA_TYPE, "contentMediaType", ALL, META, NONE)                \
    X(CONTENT_SCHEMA, "contentSchema", NEW, META, ONE)                        \
    X(TITLE, "title", ALL, META, NONE)                                        \
    X(DESCRIPTION, "description", ALL, META, NONE)                            \
    X(DEFAULT, "default", ALL, META, NONE)                                    \
    X(EXAMPLES, "examples", ALL, META, NONE)                                  \
    X(DEPRECATED, "deprecated", NEW, META, NONE)                              \
    X(READ_ONLY, "readOnly", ALL, META, NONE)                                 \
    X(WRITE_ONLY, "writeOnly", ALL, META, NONE)

enum ch_keyword {
    CH_KW_NONE,
#define X(id, name, drafts, vocabulary, shape) CH_KW_##id,
    CH_KEYWORDS(X)
#undef X
        CH_KW_COUNT
};

struct ch_keyword_info {
    struct ch_sv name;
    unsigned char drafts, vocabulary, shape;
};

extern const struct ch_keyword_info ch_keywords[CH_KW_COUNT];

/* CH_KW_NONE if no draft defines the name. */
enum ch_keyword ch_keyword_find(struct ch_sv name);

static inline const char *ch_keyword_name(enum ch_keyword k) {
    return ch_keywords[k].name.p;
}

#endif
