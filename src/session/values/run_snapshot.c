#include "session/values/run_snapshot.h"

#include "base/language.h"

static const char *const status_names[] = {[RUN_PREPARING] = N_("preparing"),
                                           [RUN_RUNNING] = N_("running"),
                                           [RUN_PAUSED] = N_("paused"),
                                           [RUN_VALIDATING] = N_("validating"),
                                           [RUN_DONE] = N_("done"),
                                           [RUN_STOPPED] = N_("stopped"),
                                           [RUN_FAILED] = N_("failed"),
                                           [RUN_REFUSED] = N_("refused"),
                                           [RUN_INTERRUPTED] = N_("interrupted")};

const char *run_status_name(enum run_status status)
{
    return status_names[status];
}

bool run_status_is_over(enum run_status status)
{
    return status >= RUN_DONE;
}
