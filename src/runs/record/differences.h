/* differences.h: collects differences between two descriptions for one message, which has the text
 * of the first few and the number of the others; compares networks and data sets. */
#ifndef TINCA_RUNS_RECORD_DIFFERENCES_H
#define TINCA_RUNS_RECORD_DIFFERENCES_H

#include "base/error.h"
#include "base/json/json.h"

#include <stdbool.h>
#include <stddef.h>

enum { DIFFERENCES_WORDED = 3, DIFFERENCES_VALUE = 96 };

/* Starts as {0}. */
struct differences {
    char text[400]; /* the first ones, joined by "; " */
    size_t count;   /* number of all differences */
};

/* Returns the text of the first differences and the number of the others, in `words`. */
char *differences_words(const struct differences *differences, char *words, size_t size);

/* Returns whether two values have the same text; NULL is the same as NULL only. */
bool differences_same(const struct json *a, const struct json *b);

/* Writes a value for a message, strings without quotes, into `text` of DIFFERENCES_VALUE bytes;
 * NULL is "none". Returns `text`. */
const char *differences_value(const struct json *value, char *text);

/* Adds to *differences how the network `now` differs from `then`, both as network_to_json writes
 * them: "layer conv2: kernel was 5, is 3". Name, title and the name of the normalisation are
 * not compared. */
void network_difference(const struct json *then, const struct json *now,
                        struct differences *differences);

/* Adds to *differences how the set `now` differs from `then` (SET of data_fingerprint.h): "picture
 * cats/3.png is missing", "images: 1024 then, 1000 now". The path of the set is not compared.
 * Returns false with an error if out of memory. */
bool data_difference(const struct json *then, const struct json *now,
                     struct differences *differences, struct error *error);

#endif
