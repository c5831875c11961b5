/* advise_other.h: the second page of the advice, techniques after training: tinca advise --other
 * and
 * --apply. */
#ifndef TINCA_CLI_ADVISE_OTHER_H
#define TINCA_CLI_ADVISE_OTHER_H

#include "cli/options.h"
#include "session/compare/advise.h"

struct advise_other {
    bool wanted, apply; /* --other, --apply */
    const char *budget; /* minutes; NULL: not given */
    const char *output; /* the file of the best result; NULL: none */
    bool quiet;
    struct run_config config; /* data, epochs, seed, threads */
};

/* Returns false with an error if the options do not go together. */
bool advise_other_check(const struct advise_other *other, struct error *error);

/* Prints the advice for the request about the models that the operands name or, without any, all of
 * them; applies it if that is asked for. Returns the exit status. */
int advise_other_run(const struct advise_other *other, const struct advise_request *request,
                     const struct operands *operands, bool as_json);

#endif
