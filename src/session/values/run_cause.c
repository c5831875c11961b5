#include "session/values/run_cause.h"

#include <errno.h>
#include <string.h>

/* An error keeps no error number, only its text: that of this locale or, of a run that another
 * locale recorded, in English. */
enum run_cause run_cause_of_error(const struct error *error)
{
    const char *const full[] = {strerror(ENOSPC),          strerror(EDQUOT),      strerror(EFBIG),
                                "No space left on device", "Disk quota exceeded", "File too large"};
    if (error->kind == ERROR_MEMORY)
        return RUN_CAUSE_MEMORY;
    for (size_t i = 0; error->kind != ERROR_NONE && i < sizeof full / sizeof *full; i++)
        if (strstr(error->why, full[i]))
            return RUN_CAUSE_DISK;
    return RUN_CAUSE_OTHER;
}

enum run_cause run_cause_of(const struct run_snapshot *snapshot)
{
    return snapshot->status == RUN_FAILED || snapshot->status == RUN_INTERRUPTED
               ? run_cause_of_error(&snapshot->error)
               : RUN_CAUSE_OTHER;
}
