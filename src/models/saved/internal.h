/* internal.h: a network that is built once more for pictures of another size (translate.c), which
 * its model owns. */
#ifndef TINCA_MODELS_SAVED_INTERNAL_H
#define TINCA_MODELS_SAVED_INTERNAL_H

#include "models/saved/evaluate.h"

/* The network for the size of one picture, which shares the model's weights. */
struct translator {
    struct network *network;
    struct plan *plan;
    struct execution *execution;
};

void translator_free(struct translator *translator); /* may be NULL */

#endif
