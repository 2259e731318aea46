/* schema_meta.c -- the built-in meta-schemas.
 *
 * Drafts 2020-12 and 2019-09 with all their vocabularies, and draft 7, reduced to
 * their assertions. They are parsed only when a schema refers to them. Single quotes
 * replace double quotes for readability; no text contains a single quote. */
#include "schema/schema_meta.h"

#include "schema/schema_source.h"

#include "base/mem.h"

/* clang-format off */
#define DRAFT "https://json-schema.org/draft/2020-12/"
#define DRAFT_2019 "https://json-schema.org/draft/2019-09/"
#define HEAD(id) "{'$schema':'" DRAFT "schema','$id':'" DRAFT id "','$dynamicAnchor':'meta',"
#define HEAD_2019(id) \
    "{'$schema':'" DRAFT_2019 "schema','$id':'" DRAFT_2019 id "','$recursiveAnchor':true,"
#define VOCABULARY(name) "'" DRAFT "vocab/" name "':true"
#define VOCABULARY_2019(name) "'" DRAFT_2019 "vocab/" name "':true"
#define PART "'type':['object','boolean'],'properties':"
#define META(name, rest) \
    HEAD("meta/" name) "'$vocabulary':{" VOCABULARY(name) "}," PART rest "}"
#define META_2019(name, rest) \
    HEAD_2019("meta/" name) "'$vocabulary':{" VOCABULARY_2019(name) "}," PART rest "}"
#define ANY "{'$dynamicRef':'#meta'}"
#define ANY_2019 "{'$recursiveRef':'#'}"
#define MAP_OF(any) "{'type':'object','additionalProperties':" any "}"
#define MAP MAP_OF(ANY)
#define MAP_2019 MAP_OF(ANY_2019)
#define LIST "{'$ref':'#/$defs/schemaArray'}"
#define COUNT "{'$ref':'#/$defs/nonNegativeInteger'}"
#define NUMBER "{'type':'number'}"
#define STRING "{'type':'string'}"
#define BOOLEAN "{'type':'boolean'}"
#define TYPES "{'enum':['array','boolean','integer','null','number','object','string']}"
#define NAMES "{'type':'array','items':" STRING ",'uniqueItems':true}"
#define REGEX "{'type':'string','format':'regex'}"
#define REFERENCE "{'type':'string','format':'uri-reference'}"
#define ADDRESS "{'type':'string','format':'uri'}"
#define FORMAT_META(name) META(name, "{'format':" STRING "}")

static const char schema_2020[] =
    HEAD("schema") "'$vocabulary':{" VOCABULARY("core") "," VOCABULARY("applicator") ","
    VOCABULARY("unevaluated") "," VOCABULARY("validation") "," VOCABULARY("meta-data") ","
    VOCABULARY("format-annotation") "," VOCABULARY("content") "},"
    "'allOf':[{'$ref':'meta/core'},{'$ref':'meta/applicator'},{'$ref':'meta/unevaluated'},"
    "{'$ref':'meta/validation'},{'$ref':'meta/meta-data'},{'$ref':'meta/format-annotation'},"
    "{'$ref':'meta/content'}],'type':['object','boolean'],'properties':{"
    "'definitions':" MAP ","
    "'dependencies':{'type':'object','additionalProperties':{'anyOf':[" ANY ","
    "{'$ref':'meta/validation#/$defs/stringArray'}]}},"
    "'$recursiveAnchor':{'$ref':'meta/core#/$defs/anchorString'},"
    "'$recursiveRef':{'$ref':'meta/core#/$defs/uriReferenceString'}}}";

static const char core[] = META("core",
    "{'$id':{'$ref':'#/$defs/uriReferenceString','pattern':'^[^#]*#?$'},"
    "'$schema':{'$ref':'#/$defs/uriString'},'$ref':{'$ref':'#/$defs/uriReferenceString'},"
    "'$anchor':{'$ref':'#/$defs/anchorString'},"
    "'$dynamicRef':{'$ref':'#/$defs/uriReferenceString'},"
    "'$dynamicAnchor':{'$ref':'#/$defs/anchorString'},"
    "'$vocabulary':{'type':'object','propertyNames':{'$ref':'#/$defs/uriString'},"
    "'additionalProperties':" BOOLEAN "},'$comment':" STRING ",'$defs':" MAP "},"
    "'$defs':{'anchorString':{'type':'string','pattern':'^[A-Za-z_][-A-Za-z0-9._]*$'},"
    "'uriString':" ADDRESS ",'uriReferenceString':" REFERENCE "}");

static const char applicator[] = META("applicator",
    "{'prefixItems':" LIST ",'items':" ANY ",'contains':" ANY ",'additionalProperties':" ANY ","
    "'properties':" MAP ",'patternProperties':{'type':'object','additionalProperties':" ANY ","
    "'propertyNames':{'format':'regex'}},'dependentSchemas':" MAP ",'propertyNames':" ANY ","
    "'if':" ANY ",'then':" ANY ",'else':" ANY ",'allOf':" LIST ",'anyOf':" LIST ","
    "'oneOf':" LIST ",'not':" ANY "},"
    "'$defs':{'schemaArray':{'type':'array','minItems':1,'items':" ANY "}}");

static const char unevaluated[] = META("unevaluated",
    "{'unevaluatedItems':" ANY ",'unevaluatedProperties':" ANY "}");

#define VALIDATION \
    "{'type':{'anyOf':[{'$ref':'#/$defs/simpleTypes'},{'type':'array'," \
    "'items':{'$ref':'#/$defs/simpleTypes'},'minItems':1,'uniqueItems':true}]}," \
    "'const':true,'enum':{'type':'array','items':true}," \
    "'multipleOf':{'type':'number','exclusiveMinimum':0},'maximum':" NUMBER "," \
    "'exclusiveMaximum':" NUMBER ",'minimum':" NUMBER ",'exclusiveMinimum':" NUMBER "," \
    "'maxLength':" COUNT ",'minLength':" COUNT ",'pattern':" REGEX ",'maxItems':" COUNT "," \
    "'minItems':" COUNT ",'uniqueItems':" BOOLEAN ",'maxContains':" COUNT "," \
    "'minContains':" COUNT ",'maxProperties':" COUNT ",'minProperties':" COUNT "," \
    "'required':{'$ref':'#/$defs/stringArray'},'dependentRequired':{'type':'object'," \
    "'additionalProperties':{'$ref':'#/$defs/stringArray'}}}," \
    "'$defs':{'nonNegativeInteger':{'type':'integer','minimum':0},'simpleTypes':" TYPES "," \
    "'stringArray':" NAMES "}"
#define META_DATA \
    "{'title':" STRING ",'description':" STRING ",'default':true,'deprecated':" BOOLEAN "," \
    "'readOnly':" BOOLEAN ",'writeOnly':" BOOLEAN ",'examples':{'type':'array','items':true}}"

static const char validation[] = META("validation", VALIDATION);

static const char meta_data[] = META("meta-data", META_DATA);

static const char content[] = META("content",
    "{'contentEncoding':" STRING ",'contentMediaType':" STRING ",'contentSchema':" ANY "}");

static const char schema_2019[] =
    HEAD_2019("schema") "'$vocabulary':{" VOCABULARY_2019("core") "," VOCABULARY_2019("applicator")
    "," VOCABULARY_2019("validation") "," VOCABULARY_2019("meta-data") ","
    "'" DRAFT_2019 "vocab/format':false," VOCABULARY_2019("content") "},"
    "'allOf':[{'$ref':'meta/core'},{'$ref':'meta/applicator'},{'$ref':'meta/validation'},"
    "{'$ref':'meta/meta-data'},{'$ref':'meta/format'},{'$ref':'meta/content'}]," PART "{"
    "'definitions':" MAP_2019 ","
    "'dependencies':{'type':'object','additionalProperties':{'anyOf':[" ANY_2019 ","
    "{'$ref':'meta/validation#/$defs/stringArray'}]}}}}";

static const char core_2019[] = META_2019("core",
    "{'$id':{'type':'string','format':'uri-reference','pattern':'^[^#]*#?$'},"
    "'$schema':" ADDRESS ",'$anchor':{'type':'string','pattern':'^[A-Za-z][-A-Za-z0-9.:_]*$'},"
    "'$ref':" REFERENCE ",'$recursiveRef':" REFERENCE ",'$recursiveAnchor':" BOOLEAN ","
    "'$vocabulary':{'type':'object','propertyNames':" ADDRESS ","
    "'additionalProperties':" BOOLEAN "},'$comment':" STRING ",'$defs':" MAP_2019 "}");

static const char applicator_2019[] = META_2019("applicator",
    "{'additionalItems':" ANY_2019 ",'unevaluatedItems':" ANY_2019 ","
    "'items':{'anyOf':[" ANY_2019 "," LIST "]},'contains':" ANY_2019 ","
    "'additionalProperties':" ANY_2019 ",'unevaluatedProperties':" ANY_2019 ","
    "'properties':" MAP_2019 ",'patternProperties':{'type':'object',"
    "'additionalProperties':" ANY_2019 ",'propertyNames':{'format':'regex'}},"
    "'dependentSchemas':" MAP_2019 ",'propertyNames':" ANY_2019 ",'if':" ANY_2019 ","
    "'then':" ANY_2019 ",'else':" ANY_2019 ",'allOf':" LIST ",'anyOf':" LIST ","
    "'oneOf':" LIST ",'not':" ANY_2019 "},"
    "'$defs':{'schemaArray':{'type':'array','minItems':1,'items':" ANY_2019 "}}");

static const char validation_2019[] = META_2019("validation", VALIDATION);
static const char meta_data_2019[] = META_2019("meta-data", META_DATA);
static const char format_2019[] = META_2019("format", "{'format':" STRING "}");
static const char content_2019[] = META_2019("content",
    "{'contentEncoding':" STRING ",'contentMediaType':" STRING ",'contentSchema':" ANY_2019 "}");

static const char format_annotation[] = FORMAT_META("format-annotation");
static const char format_assertion[] = FORMAT_META("format-assertion");

#define SELF "{'$ref':'#'}"
#define SELF_MAP "{'type':'object','additionalProperties':" SELF "}"
#define SELF_LIST "{'$ref':'#/definitions/schemaArray'}"
#define NATURAL "{'$ref':'#/definitions/nonNegativeInteger'}"

static const char schema_7[] =
    "{'$schema':'http://json-schema.org/draft-07/schema#',"
    "'$id':'http://json-schema.org/draft-07/schema#','definitions':{"
    "'schemaArray':{'type':'array','minItems':1,'items':" SELF "},"
    "'nonNegativeInteger':{'type':'integer','minimum':0},'simpleTypes':" TYPES ","
    "'stringArray':" NAMES "},'type':['object','boolean'],'properties':{"
    "'$id':" REFERENCE ",'$schema':" ADDRESS ",'$ref':" REFERENCE ",'$comment':" STRING ","
    "'title':" STRING ",'description':" STRING ",'default':true,'readOnly':" BOOLEAN ","
    "'examples':{'type':'array','items':true},"
    "'multipleOf':{'type':'number','exclusiveMinimum':0},'maximum':" NUMBER ","
    "'exclusiveMaximum':" NUMBER ",'minimum':" NUMBER ",'exclusiveMinimum':" NUMBER ","
    "'maxLength':" NATURAL ",'minLength':" NATURAL ",'pattern':" REGEX ","
    "'additionalItems':" SELF ",'items':{'anyOf':[" SELF "," SELF_LIST "]},"
    "'maxItems':" NATURAL ",'minItems':" NATURAL ",'uniqueItems':" BOOLEAN ","
    "'contains':" SELF ",'maxProperties':" NATURAL ",'minProperties':" NATURAL ","
    "'required':{'$ref':'#/definitions/stringArray'},'additionalProperties':" SELF ","
    "'definitions':" SELF_MAP ",'properties':" SELF_MAP ","
    "'patternProperties':{'type':'object','additionalProperties':" SELF ","
    "'propertyNames':{'format':'regex'}},"
    "'dependencies':{'type':'object','additionalProperties':{'anyOf':[" SELF ","
    "{'$ref':'#/definitions/stringArray'}]}},'propertyNames':" SELF ",'const':true,"
    "'enum':{'type':'array','items':true,'minItems':1,'uniqueItems':true},"
    "'type':{'anyOf':[{'$ref':'#/definitions/simpleTypes'},{'type':'array',"
    "'items':{'$ref':'#/definitions/simpleTypes'},'minItems':1,'uniqueItems':true}]},"
    "'format':" STRING ",'contentMediaType':" STRING ",'contentEncoding':" STRING ","
    "'if':" SELF ",'then':" SELF ",'else':" SELF ",'allOf':" SELF_LIST ",'anyOf':" SELF_LIST ","
    "'oneOf':" SELF_LIST ",'not':" SELF "}}";

/* clang-format on */
static const struct {
    const char *uri, *text;
} documents[] = {
    {DRAFT "schema", schema_2020},
    {DRAFT "meta/core", core},
    {DRAFT "meta/applicator", applicator},
    {DRAFT "meta/unevaluated", unevaluated},
    {DRAFT "meta/validation", validation},
    {DRAFT "meta/meta-data", meta_data},
    {DRAFT "meta/content", content},
    {DRAFT "meta/format-annotation", format_annotation},
    {DRAFT "meta/format-assertion", format_assertion},
    {DRAFT_2019 "schema", schema_2019},
    {DRAFT_2019 "meta/core", core_2019},
    {DRAFT_2019 "meta/applicator", applicator_2019},
    {DRAFT_2019 "meta/validation", validation_2019},
    {DRAFT_2019 "meta/meta-data", meta_data_2019},
    {DRAFT_2019 "meta/format", format_2019},
    {DRAFT_2019 "meta/content", content_2019},
    {"http://json-schema.org/draft-07/schema", schema_7},
};

bool ch_metaschema(struct ch_sv uri, struct ch_buf *out) {
    for (size_t i = 0; i < CH_LEN(documents); i++) {
        if (!ch_sv_is(uri, documents[i].uri))
            continue;
        for (const char *at = documents[i].text; *at; at++)
            ch_buf_addc(out, *at == '\'' ? '"' : *at);
        return true;
    }
    return false;
}
