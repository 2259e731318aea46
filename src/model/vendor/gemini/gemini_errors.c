/* gemini_errors.c -- parses errors of Google's services.
 *
 *       {"error":{"code":429,"message":"..","status":"RESOURCE_EXHAUSTED",
 *         "details":[{"@type":"..RetryInfo","retryDelay":"34.4s"},
 *                    {"@type":"..QuotaFailure","violations":[{"quotaId":".."}]},
 *                    {"@type":"..ErrorInfo","reason":"API_KEY_INVALID"}]}}
 *
 * Interactions have {"error":{"code":"rate_limit_exceeded","message":".."}}. The error may also be
 * the only element of an array. The details show whether a 429 is worth waiting for: a daily quota
 * is not. */
#include "model/vendor/gemini/gemini_errors.h"

#include "json/scan.h"
#include "model/codec/errors.h"
#include "model/codec/retry_after.h"

int ch_gemini_read_error(struct ch_decoder *d, struct ch_sv json) {
    CH_ARENA_AUTO arena = {0}; /* kept texts are copied */
    const struct ch_json *v;
    struct ch_vendor_error e;
    if (ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return CHELA_EPARSE;
    if (ch_json_is(v, CH_JSON_ARRAY))
        v = ch_json_at(v, 0);
    if (!ch_vendor_error_read(v, &arena, &e) || d->reply.error.cls != CH_ERR_NONE)
        return CHELA_OK;
    const struct ch_json *error = ch_json_get(v, "error");
    d->recognised = true;
    /* generateContent's code is a number */
    struct ch_sv word = e.code.n && ch_scan_is_digit(*e.code.p) ? CH_SV("") : e.code;
    e.type = ch_json_get_str(error, "status");
    e.code = e.reason.n ? e.reason : word;
    e.no_retry |= ch_sv_is(word, "quota_exceeded"); /* of a day */
    if (!d->retry_after_ms)
        d->retry_after_ms = e.retry_after_ms;
    ch_decoder_fail(d, &e);
    /* The details are more precise than the message ("check your plan and billing
     * details"). */
    if (ch_sv_is(e.type, "RESOURCE_EXHAUSTED") || ch_sv_is(word, "quota_exceeded") ||
        ch_sv_is(word, "rate_limit_exceeded")) {
        d->reply.error.cls = CH_ERR_RATE_LIMIT;
        d->reply.error.retryable = !e.no_retry;
        if (!e.no_retry && !d->reply.error.retry_after_ms)
            d->reply.error.retry_after_ms = ch_retry_hint(e.message);
    }
    return CHELA_OK;
}
