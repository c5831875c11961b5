/* data_difference.h: how a data set differs from the one that a run began with. Internal to
 * session/. */
#ifndef TINCA_SESSION_RECORD_DATA_DIFFERENCE_H
#define TINCA_SESSION_RECORD_DATA_DIFFERENCE_H

#include "base/error.h"
#include "base/json/json.h"
#include "session/record/differences.h"

/* Adds to *differences how the set `now` differs from `then` (SET of data_fingerprint.h): "picture
 * cats/3.png is missing", "images: 1024 then, 1000 now". The folder in which a set lies does not
 * count. False: memory is out. */
bool data_difference(const struct json *then, const struct json *now,
                     struct differences *differences, struct error *error);

#endif
