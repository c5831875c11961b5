/* The reader records every key that a call reads, whether the layer has it or not. Keys of the
 * layer that no call has read are reported at the end as spelling mistakes. After the first error
 * look_up() returns NULL for every key, so that all later calls return their fallbacks. */
#include "engine/graph/layer_reader.h"

#include "base/language.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A larger window is a mistake in the file, and sums of a few sizes cannot overflow below it. */
enum { WINDOW_LIMIT = 1 << 16 };

static void fail_at(struct layer_reader *reader, const struct json *value, const char *key,
                    const char *why)
{
    if (reader->failed)
        return;
    reader->failed = true;
    size_t line = json_line(reader->document, value ? value : reader->layer);
    if (key)
        error_set(reader->error, ERROR_INPUT, reader->document->name, "correct the file there",
                  "line %zu: \"%s\" %s", line, key, language_text(why));
    else
        error_set(reader->error, ERROR_INPUT, reader->document->name, "correct the file there",
                  "line %zu: %s", line, language_text(why));
}

struct layer_reader layer_reader_at(const struct json_document *document, const struct json *layer,
                                    size_t classes, struct error *error)
{
    struct layer_reader reader = {
        .document = document, .layer = layer, .classes = classes, .error = error};
    if (!json_is_object(layer))
        fail_at(&reader, layer, NULL, "a layer must be an object: {\"op\": ...}");
    return reader;
}

void layer_fail(struct layer_reader *reader, const char *key, const char *why, ...)
{
    char text[384];
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(text, sizeof text, language_text(why), arguments);
    va_end(arguments);
    fail_at(reader, key ? json_member(reader->layer, key) : NULL, key, text);
}

static bool is_known(const struct layer_reader *reader, const char *key)
{
    for (size_t i = 0; i < reader->known_count; i++)
        if (strcmp(reader->known[i], key) == 0)
            return true;
    return false;
}

/* Returns the value of a key and marks the key as known; NULL if the layer does not have it or a
 * read has failed before. */
static const struct json *look_up(struct layer_reader *reader, const char *key)
{
    if (!is_known(reader, key)) {
        assert(reader->known_count < LAYER_MAX_KEYS);
        reader->known[reader->known_count++] = key;
    }
    return reader->failed ? NULL : json_member(reader->layer, key);
}

bool layer_has(struct layer_reader *reader, const char *key)
{
    return look_up(reader, key) != NULL;
}

size_t layer_count(struct layer_reader *reader, const char *key, size_t fallback, size_t low,
                   size_t high)
{
    const struct json *value = look_up(reader, key);
    const char *word = value ? json_string(value) : NULL;
    size_t count = 0;
    if (!value) {
        if (fallback == LAYER_REQUIRED)
            layer_fail(reader, key, "is missing: give an integer of %zu to %zu", low, high);
        return fallback == LAYER_REQUIRED ? low : fallback;
    }
    if (word && strcmp(word, "classes") == 0) {
        count = reader->classes;
        if (!count)
            layer_fail(reader, key, "is \"classes\", but this network has none");
    } else if (word && strcmp(word, "width") == 0) {
        count = reader->width;
        if (!count)
            layer_fail(reader, key,
                       "is \"width\", but the layer is not inside a \"repeat\": \"widths\"");
    } else if (!json_count(value, &count) || count < low || count > high) {
        layer_fail(reader, key, "must be an integer of %zu to %zu", low, high);
    }
    if (!reader->failed)
        return count;
    return fallback == LAYER_REQUIRED ? low : fallback;
}

bool layer_value_is_classes(const struct layer_reader *reader, const char *key)
{
    const char *word = json_string(json_member(reader->layer, key));
    return word && strcmp(word, "classes") == 0;
}

double layer_number(struct layer_reader *reader, const char *key, double fallback, double low,
                    double high)
{
    const struct json *value = look_up(reader, key);
    double number;
    if (!value)
        return fallback;
    if (json_number(value, &number) && number >= low && number <= high)
        return number;
    layer_fail(reader, key, "must be a number of %g to %g", low, high);
    return fallback;
}

bool layer_flag(struct layer_reader *reader, const char *key, bool fallback)
{
    const struct json *value = look_up(reader, key);
    bool flag;
    if (!value)
        return fallback;
    if (json_bool(value, &flag))
        return flag;
    layer_fail(reader, key, "must be true or false");
    return fallback;
}

const char *layer_text(struct layer_reader *reader, const char *key, const char *fallback)
{
    const struct json *value = look_up(reader, key);
    if (!value)
        return fallback;
    if (json_string(value))
        return json_string(value);
    layer_fail(reader, key, "must be text in quotes");
    return fallback;
}

/* Reads a number for both axes, or [height, width]. Without the key nothing changes. */
static void read_pair(struct layer_reader *reader, const char *key, size_t low, size_t *height,
                      size_t *width)
{
    const struct json *value = look_up(reader, key);
    size_t sides[2];
    if (!value)
        return;
    const struct json *first = json_is_array(value) ? json_first(value) : value;
    const struct json *second = json_is_array(value) && first ? json_next(first) : first;
    if ((json_is_array(value) && json_length(value) != 2) || !json_count(first, &sides[0]) ||
        !json_count(second, &sides[1]) || sides[0] < low || sides[1] < low ||
        sides[0] > WINDOW_LIMIT || sides[1] > WINDOW_LIMIT) {
        layer_fail(reader, key, "must be an integer of %zu to %d, or [height, width]", low,
                   WINDOW_LIMIT);
        return;
    }
    *height = sides[0];
    *width = sides[1];
}

void layer_window(struct layer_reader *reader, struct window *window, bool kernel_optional)
{
    *window = (struct window){.stride_height = 1, .stride_width = 1};
    if (!layer_has(reader, "kernel") && !kernel_optional)
        layer_fail(reader, "kernel", "is missing: give an integer, or [height, width]");
    read_pair(reader, "kernel", 1, &window->kernel_height, &window->kernel_width);
    read_pair(reader, "stride", 1, &window->stride_height, &window->stride_width);
    read_pair(reader, "pad", 0, &window->pad_height, &window->pad_width);
}

void layer_dilation(struct layer_reader *reader, size_t *height, size_t *width)
{
    *height = *width = 1;
    read_pair(reader, "dilation", 1, height, width);
}

static const struct {
    const char *name;
    enum initialiser_kind kind;
} initialiser_words[] = {{"xavier", INITIALISE_XAVIER}, {"he", INITIALISE_HE}};

static bool parse_initialiser(const struct json *value, struct initialiser *out)
{
    const char *word = json_string(value);
    for (size_t i = 0; word && i < sizeof initialiser_words / sizeof *initialiser_words; i++)
        if (strcmp(word, initialiser_words[i].name) == 0) {
            *out = (struct initialiser){initialiser_words[i].kind, 0.0f};
            return true;
        }
    double number;
    enum initialiser_kind kind = INITIALISE_CONSTANT;
    if (json_is_object(value) && json_member_count(value) == 1) {
        const struct json *member = json_first_member(value);
        if (strcmp(json_key(member), "gaussian") == 0)
            kind = INITIALISE_GAUSSIAN;
        else if (strcmp(json_key(member), "constant") != 0)
            return false;
        value = member;
    }
    if (!json_number(value, &number) || !isfinite((float)number) ||
        (kind == INITIALISE_GAUSSIAN && number < 0))
        return false;
    *out = (struct initialiser){kind, (float)number};
    return true;
}

struct initialiser layer_initialiser(struct layer_reader *reader, const char *key,
                                     struct initialiser fallback)
{
    const struct json *value = look_up(reader, key);
    struct initialiser parsed;
    if (!value)
        return fallback;
    if (parse_initialiser(value, &parsed))
        return parsed;
    layer_fail(reader, key,
               "must be \"xavier\", \"he\", {\"gaussian\": deviation}, {\"constant\": value} or a "
               "number");
    return fallback;
}

bool quantization_from_json(const struct json *value, struct quantization *quantization)
{
    const struct json *first = json_first(value);
    size_t zero_point;
    double scale;
    if (!json_is_array(value) || json_length(value) != 2 || !json_number(first, &scale) ||
        !json_count(json_next(first), &zero_point) || zero_point > QUANTIZED_MAX ||
        !((float)scale >= FLT_MIN && (float)scale <= FLT_MAX))
        return false;
    *quantization = (struct quantization){(float)scale, (int)zero_point};
    return true;
}

struct quantization layer_quantization(struct layer_reader *reader, const char *key)
{
    const struct json *value = look_up(reader, key);
    struct quantization quantization = {0};
    if (value && !quantization_from_json(value, &quantization))
        layer_fail(reader, key,
                   "must be [scale, zero point]: a number above 0 and an integer of 0 to 255");
    return quantization;
}

bool layer_reader_finish(struct layer_reader *reader)
{
    if (reader->failed)
        return false;
    for (const struct json *member = json_first_member(reader->layer); member;
         member = json_next(member)) {
        const char *key = json_key(member);
        if (!is_known(reader, key))
            fail_at(reader, member, key, "is not a key of this layer");
        else if (json_member(reader->layer, key) != member)
            fail_at(reader, member, key, "is given twice");
    }
    return !reader->failed;
}
