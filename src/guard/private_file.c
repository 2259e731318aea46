/* private_file.c -- see private_file.h. */
#include "guard/private_file.h"

#include <dirent.h>
#include <fnmatch.h>

#include "base/limits.h"
#include "base/mem.h"

static const char *const kinds[] = {
    ".env",          ".env.*",        "*.env",          "*.pem",          "*.key",
    "*.p12",         "*.pfx",         "*.jks",          "*.keystore",     "*.kdbx",
    "id_rsa",        "id_dsa",        "id_ecdsa",       "id_ed25519",     ".netrc",
    "_netrc",        ".npmrc",        ".pypirc",        ".pgpass",        ".my.cnf",
    ".htpasswd",     ".dockercfg",    ".git-credentials", "credentials",  "credentials.*",
    "secrets.*",     "*.tfstate",     "*.tfvars",       "service-account*.json"};
static const char *const folders[] = {".ssh", ".aws", ".gnupg", ".kube", ".docker", "secrets",
                                      ".secrets"};
static const char *const examples[] = {"*.example", "*.sample", "*.template", "*.dist", "*.pub",
                                       "*.example.env", "*.sample.env"};

static bool is_one_of(const char *const *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (fnmatch(list[i], name, FNM_CASEFOLD) == 0)
            return true;
    return false;
}

static bool is_listed(const char *patterns, const char *path, const char *name) {
    struct ch_sv rest = ch_sv_str(patterns);

    while (rest.n) {
        struct ch_sv one = ch_sv_trim(ch_sv_split(&rest, ','));
        CH_AUTOFREE char *glob = ch_strndup(one.p, one.n);
        if (one.n && fnmatch(glob, strchr(glob, '/') ? path : name, FNM_CASEFOLD) == 0)
            return true;
    }
    return false;
}

bool ch_private_file(struct ch_sv path, const char *patterns) {
    if (!path.n || path.n > CH_LIMIT_PATH)
        return false;
    CH_AUTOFREE char *text = ch_strndup(path.p, path.n);
    char *from = text;
    while (ch_sv_starts(ch_sv_str(from), "./"))
        from += 2;
    const char *slash = strrchr(from, '/'), *name = slash ? slash + 1 : from;
    if (is_listed(patterns, from, name))
        return true;
    if (is_one_of(examples, CH_LEN(examples), name))
        return false;
    if (is_one_of(kinds, CH_LEN(kinds), name))
        return true;
    for (struct ch_sv rest = ch_sv_str(from); rest.n;) {
        struct ch_sv part = ch_sv_split(&rest, '/');
        CH_AUTOFREE char *folder = ch_strndup(part.p, part.n);
        if (rest.n && is_one_of(folders, CH_LEN(folders), folder))
            return true;
    }
    return false;
}

char *ch_private_file_in(const char *dir, const char *patterns) {
    DIR *d = opendir(dir);
    char *found = NULL;

    for (int i = 0; d && !found && i < CH_LIMIT_PRIVATE_NAMES; i++) {
        const struct dirent *e = readdir(d);
        if (!e)
            break;
        if (ch_private_file(ch_sv_str(e->d_name), patterns))
            found = ch_strdup(e->d_name);
    }
    if (d)
        closedir(d);
    return found;
}
