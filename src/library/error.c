#include "library/library.h"

#include <stdio.h>

enum tinca_status library_fail(struct tinca_error *out, const struct error *error)
{
    static const enum tinca_status statuses[] = {
        [ERROR_NONE] = TINCA_ERROR_SYSTEM,     [ERROR_USAGE] = TINCA_ERROR_ARGUMENT,
        [ERROR_INPUT] = TINCA_ERROR_MODEL,     [ERROR_SYSTEM] = TINCA_ERROR_SYSTEM,
        [ERROR_MEMORY] = TINCA_ERROR_MEMORY,   [ERROR_UNSUPPORTED] = TINCA_ERROR_UNSUPPORTED,
        [ERROR_DIVERGED] = TINCA_ERROR_DEVICE, [ERROR_INTERRUPTED] = TINCA_ERROR_SYSTEM,
    };
    const enum tinca_status status = statuses[error->kind];
    if (out) {
        out->status = status;
        error_format(error, out->text, sizeof out->text);
    }
    return status;
}

enum tinca_status library_refuse(struct tinca_error *out, const char *what, const char *why)
{
    struct error error;
    error_set(&error, ERROR_USAGE, what, NULL, "%s", why);
    return library_fail(out, &error);
}
