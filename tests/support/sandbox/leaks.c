/* leaks.c -- the sandbox program with sanitizers searches for no leaks on arm64. The search
 * takes four seconds of processor time at the end of every process there (tests/run), and
 * ASAN_OPTIONS does not reach the sandbox: the runtime chooses its environment. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void) {
#ifdef __aarch64__
    return "detect_leaks=0";
#else
    return "";
#endif
}
