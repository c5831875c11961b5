#include "engine/numerics.h"

#include "base/language.h"

static const struct {
    size_t version; /* that brought the change */
    bool concerns[SOLVER_KINDS];
    const char *what;
} changes[] = {
    {2, {[SOLVER_ADAM] = true}, N_("adam's update rounds in another place")},
};

const char *numerics_change(size_t version, enum solver_kind solver)
{
    if (version > NUMERICS_VERSION)
        return N_("it is of a later version");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (changes[i].version > version && changes[i].concerns[solver])
            return changes[i].what;
    return NULL;
}
