/* weights_misfits.h: says what of a file of weights does not fit a network. */
#ifndef TINCA_ENGINE_WEIGHTS_WEIGHTS_MISFITS_H
#define TINCA_ENGINE_WEIGHTS_WEIGHTS_MISFITS_H

#include "engine/weights/weights_match.h"

/* Fills `error` with the arrays that are missing from the file, those that have another shape in
 * it, and those that it has besides, and returns false. Each of the three lists ends with how many
 * more there are if it is long. The caller has found that an array of the network does not fit. */
bool weights_misfits_refuse(const struct weights_pairing *pairing, struct error *error);

#endif
