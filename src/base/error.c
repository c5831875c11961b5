#include "base/error.h"

#include "base/character.h"
#include "base/language.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void copy_text(char *target, size_t size, const char *source)
{
    snprintf(target, size, "%s", source ? source : "");
}

bool error_set(struct error *error, enum error_kind kind, const char *what, const char *advice,
               const char *why_format, ...)
{
    if (!error)
        return false;
    /* a copy is filled, because `what` or `advice` may point into `error` when a caller wraps it */
    struct error filled = {.kind = kind};
    /* a single word is the name of a file, layer or option, which must not be translated */
    copy_text(filled.what, sizeof filled.what,
              what && strchr(what, ' ') ? language_text(what) : what);
    copy_text(filled.advice, sizeof filled.advice, language_text(advice));
    va_list arguments;
    va_start(arguments, why_format);
    vsnprintf(filled.why, sizeof filled.why, language_text(why_format), arguments);
    va_end(arguments);
    *error = filled;
    return false;
}

bool error_set_errno(struct error *error, const char *what, const char *advice, const char *action)
{
    const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    error_set(error, ERROR_SYSTEM, what, advice, "%s: %s", language_text(action), strerror(errno));
    if (error)
        error->disk_full = full;
    return false;
}

bool error_set_memory(struct error *error, const char *what, size_t bytes)
{
    const char *advice = N_("choose a smaller batch or network, or free some memory");
    if (bytes == 0)
        return error_set(error, ERROR_MEMORY, what, advice, "no memory is left");
    return error_set(error, ERROR_MEMORY, what, advice, "could not allocate %zu bytes (%.1f MiB)",
                     bytes, (double)bytes / 1048576.0);
}

char *error_format(const struct error *error, char *text, size_t size)
{
    int length = snprintf(text, size, "%s: %s", error->what, error->why);
    if (error->advice[0] && length >= 0 && (size_t)length < size)
        snprintf(text + length, size - (size_t)length, ": %s", error->advice);
    return character_replace_hidden(text);
}
