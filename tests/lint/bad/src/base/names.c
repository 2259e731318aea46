/* Names of models, which the table beside this file alone may decide upon. */
static const char *const prefixes[] = {"wile-", "acme/wile-e-5", "coyote"};
static bool is_new(const char *model) { /* not "wile-e-4" */
    return starts(model, "desert-9") || ends(model, "super-coyote");
}
/* The same in a comment: "coyote" */
static const char *const help = "the model, such as acme/wile-e-5"; /* "coyote" */
static const char *const places[] = {"desert", "https://desert.test", "meanwhile", "coyotes"};
