/* data_difference.h: compares a data set with the one that a run was started with. Internal to
 * session/. */
#ifndef TINCA_SESSION_RECORD_DATA_DIFFERENCE_H
#define TINCA_SESSION_RECORD_DATA_DIFFERENCE_H

#include "base/error.h"
#include "base/json/json.h"
#include "session/record/differences.h"

/* Adds to *differences how the set `now` differs from `then` (SET of data_fingerprint.h): "picture
 * cats/3.png is missing", "images: 1024 then, 1000 now". The path of the set is not compared.
 * Returns false with an error if out of memory. */
bool data_difference(const struct json *then, const struct json *now,
                     struct differences *differences, struct error *error);

#endif
