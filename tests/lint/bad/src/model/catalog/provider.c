/* A service that is named like its models. */
static const struct {
    const char *name;
} services[] = {
    {.name = "desert"},
};
