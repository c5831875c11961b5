#include "session/values/run_cause.h"

#include <errno.h>
#include <string.h>

/* An error that wraps another one keeps only its text, in this locale; one that was read from a
 * file without the name of its cause may be in English. */
enum run_cause run_cause_of_error(const struct error *error)
{
    const char *const full[] = {strerror(ENOSPC),          strerror(EDQUOT),      strerror(EFBIG),
                                "No space left on device", "Disk quota exceeded", "File too large"};
    if (error->kind == ERROR_MEMORY)
        return RUN_CAUSE_MEMORY;
    if (error->disk_full)
        return RUN_CAUSE_DISK;
    for (size_t i = 0; error->kind != ERROR_NONE && i < sizeof full / sizeof *full; i++)
        if (strstr(error->why, full[i]))
            return RUN_CAUSE_DISK;
    return RUN_CAUSE_OTHER;
}

static const char *const names[] = {
    [RUN_CAUSE_OTHER] = "other", [RUN_CAUSE_MEMORY] = "memory", [RUN_CAUSE_DISK] = "disk"};

const char *run_cause_name(const struct error *error)
{
    return names[run_cause_of_error(error)];
}

void run_cause_take(struct error *error, const char *name)
{
    if (name && strcmp(name, names[RUN_CAUSE_MEMORY]) == 0)
        error->kind = ERROR_MEMORY;
    error->disk_full = name && strcmp(name, names[RUN_CAUSE_DISK]) == 0;
}

enum run_cause run_cause_of(const struct run_snapshot *snapshot)
{
    return snapshot->status == RUN_FAILED || snapshot->status == RUN_INTERRUPTED
               ? run_cause_of_error(&snapshot->error)
               : RUN_CAUSE_OTHER;
}
