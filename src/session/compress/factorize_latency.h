/* factorize_latency.h: chooses the ranks of a factorization by the time of one image, measured on a
 * device. Internal to session/compress. */
#ifndef TINCA_SESSION_COMPRESS_FACTORIZE_LATENCY_H
#define TINCA_SESSION_COMPRESS_FACTORIZE_LATENCY_H

#include "session/compress/factorize_model.h"

/* Chooses the ranks that lose least of those with which one image takes at most request->value
 * milliseconds, and sets made->ms_before and ms_after. A layer whose parts take longer than it does
 * stays as it is. Returns false with an error: the model is as fast already, or the limit cannot be
 * reached. */
bool factorize_choose_latency(const struct factorize_request *request,
                              struct factorized_model *made, struct error *error);

#endif
