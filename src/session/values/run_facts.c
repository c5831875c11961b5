#include "session/values/run_facts.h"

bool run_trained_by_tinca(const char *imported, const char *id, struct error *error)
{
    return !imported[0] ||
           error_set(error, ERROR_USAGE, id, "train the network here: tinca train",
                     "it was imported from a log of %s, which has no weights: only its curves can "
                     "be looked at, compared and exported",
                     imported);
}
