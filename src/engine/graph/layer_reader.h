/* layer_reader.h: one layer of a network file, read key by key.
 *
 * The first mistake is kept (file, line, key, what was expected) and every later call returns its
 * fallback, so that a list of reads needs one check at its end: layer_reader_finish, which also
 * refuses keys that nobody asked for.
 */
#ifndef TINCA_ENGINE_GRAPH_LAYER_READER_H
#define TINCA_ENGINE_GRAPH_LAYER_READER_H

#include "base/error.h"
#include "base/json/json.h"
#include "engine/graph/attributes.h"

#include <stdbool.h>
#include <stddef.h>

enum { LAYER_MAX_KEYS = 32 };

struct layer_reader {
    const struct json_document *document;
    const struct json *layer;
    size_t classes; /* what the word "classes" stands for */
    size_t width;   /* what the word "width" stands for; 0: nothing here */
    struct error *error;
    bool failed;
    const char *asked[LAYER_MAX_KEYS]; /* keys that were looked at */
    size_t asked_count;
};

struct layer_reader layer_reader_at(const struct json_document *document, const struct json *layer,
                                    size_t classes, struct error *error);

/* Whether the layer has this key (which counts as asked for). */
bool layer_has(struct layer_reader *reader, const char *key);

/* An integer of [low, high], or the word "classes" or "width". Without the key: `fallback`, or an
 * error where `fallback` is LAYER_REQUIRED. */
#define LAYER_REQUIRED ((size_t)-1)
size_t layer_count(struct layer_reader *reader, const char *key, size_t fallback, size_t low,
                   size_t high);
/* Whether the key's value is the word "classes": then no variation changes it. */
bool layer_value_is_classes(const struct layer_reader *reader, const char *key);
double layer_number(struct layer_reader *reader, const char *key, double fallback, double low,
                    double high);
bool layer_flag(struct layer_reader *reader, const char *key, bool fallback);
const char *layer_text(struct layer_reader *reader, const char *key, const char *fallback);

/* "kernel", "stride" and "pad": a number, or [height, width]. Kernel is required unless
 * `kernel_optional` (and then 0 without it), stride defaults to 1, pad to 0. */
void layer_window(struct layer_reader *reader, struct window *window, bool kernel_optional);

/* KEY: "xavier", "he", {"gaussian": deviation}, {"constant": value} or a plain number. */
struct initialiser layer_initialiser(struct layer_reader *reader, const char *key,
                                     struct initialiser fallback);

/* Keeps `why` as the error about `key` (NULL: the layer), with file and line. */
void layer_fail(struct layer_reader *reader, const char *key, const char *why, ...)
    __attribute__((format(printf, 3, 4)));

/* True when every read was right and no key is left over. */
bool layer_reader_finish(struct layer_reader *reader);

#endif
