/* layer_reader.h: reads one layer of a network file key by key.
 *
 * The first error is recorded with file, line, key and the expected value, and every later call
 * returns its fallback. A sequence of reads therefore needs a single check at its end,
 * layer_reader_finish, which also rejects keys that no call has read.
 */
#ifndef TINCA_ENGINE_GRAPH_LAYER_READER_H
#define TINCA_ENGINE_GRAPH_LAYER_READER_H

#include "base/error.h"
#include "base/json/json.h"
#include "engine/graph/attributes.h"
#include "engine/graph/quantization.h"

#include <stdbool.h>
#include <stddef.h>

enum { LAYER_MAX_KEYS = 32 };

struct layer_reader {
    const struct json_document *document;
    const struct json *layer;
    size_t classes; /* value of the word "classes"; 0: not defined */
    size_t width;   /* value of the word "width"; 0: not defined */
    struct error *error;
    bool failed;
    const char *known[LAYER_MAX_KEYS]; /* the keys that calls have read */
    size_t known_count;
};

/* Returns a reader of `layer`, which it borrows with the document and the error. If the layer is
 * not a JSON object, the reader starts with that error. */
struct layer_reader layer_reader_at(const struct json_document *document, const struct json *layer,
                                    size_t classes, struct error *error);

/* Returns whether the layer has this key. Afterwards layer_reader_finish accepts it. */
bool layer_has(struct layer_reader *reader, const char *key);

/* Pass this as the fallback of layer_count if the key is required. */
#define LAYER_REQUIRED ((size_t)-1)

/* Returns the key's integer, which must lie in [low, high], or the number that the word "classes"
 * or "width" stands for. Without the key, returns `fallback`; LAYER_REQUIRED makes that an error.
 */
size_t layer_count(struct layer_reader *reader, const char *key, size_t fallback, size_t low,
                   size_t high);

/* Returns whether the key's value is the word "classes". Such a layer computes the network's
 * output, so techniques (blocks/technique.h) and width rates do not change its size. */
bool layer_value_is_classes(const struct layer_reader *reader, const char *key);

/* Return the key's value, or `fallback` without the key: a number in [low, high], a boolean, a
 * string. */
double layer_number(struct layer_reader *reader, const char *key, double fallback, double low,
                    double high);
bool layer_flag(struct layer_reader *reader, const char *key, bool fallback);
const char *layer_text(struct layer_reader *reader, const char *key, const char *fallback);

/* Reads the keys "kernel", "stride" and "pad", each a number or [height, width], into *window. The
 * kernel is required unless `kernel_optional` is set, and then defaults to 0; the stride defaults
 * to 1, the padding to 0. */
void layer_window(struct layer_reader *reader, struct window *window, bool kernel_optional);

/* Reads the key "dilation", a number or [height, width]; both are 1 without it. */
void layer_dilation(struct layer_reader *reader, size_t *height, size_t *width);

/* Returns the key's initialiser: "xavier", "he", {"gaussian": deviation}, {"constant": value} or a
 * number; without the key, `fallback`. */
struct initialiser layer_initialiser(struct layer_reader *reader, const char *key,
                                     struct initialiser fallback);

/* Reads [scale, zero point] into *quantization. Returns false, and changes nothing, if the value is
 * something else. */
bool quantization_from_json(const struct json *value, struct quantization *quantization);

/* Returns the key's quantization, [scale, zero point]; without the key, none. */
struct quantization layer_quantization(struct layer_reader *reader, const char *key);

/* Records the error `why` about `key` (NULL: about the layer), with file and line, unless there is
 * an earlier error. `why` is an English format that is translated. */
void layer_fail(struct layer_reader *reader, const char *key, const char *why, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns whether all reads succeeded and every key of the layer was read, once. Else the reader's
 * error is set. */
bool layer_reader_finish(struct layer_reader *reader);

#endif
