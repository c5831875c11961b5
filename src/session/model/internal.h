/* internal.h: a network that is built once more for pictures of another size (translate.c), which
 * its model owns. Internal to session/model. */
#ifndef TINCA_SESSION_MODEL_INTERNAL_H
#define TINCA_SESSION_MODEL_INTERNAL_H

#include "session/model/evaluate.h"

/* It shares the model's weights. */
struct translator {
    struct network *network;
    struct plan *plan;
    struct execution *execution;
};

void translator_free(struct translator *translator); /* may be NULL */

#endif
