/* This file uses no decoder, because the library contains it. */
#include "data/images/preprocessing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- resizing --- */

/* Resizes as bilinear2 does: first to the shorter side, and then once more if the crop is larger.
 */
static bool fit_as_before(const struct preprocessing *p, struct image *image, size_t side,
                          struct error *error)
{
    return image_fit(image, side, error) &&
           ((image->width >= p->width && image->height >= p->height) ||
            image_scale(image, p->width, p->height, error));
}

bool preprocessing_fit(const struct preprocessing *p, struct image *image, struct error *error)
{
    const size_t side = p->stored_height < p->stored_width ? p->stored_height : p->stored_width;
    const size_t shorter = image->width < image->height ? image->width : image->height;
    if (p->stretched)
        return image_resample(image, p->width, p->height, p->filter, error);
    if (p->filter == IMAGE_BILINEAR2)
        return fit_as_before(p, image, side, error);
    /* the longer side is rounded down, as by torchvision's Resize */
    size_t width = image->width * side / shorter, height = image->height * side / shorter;
    if (width < p->width || height < p->height) {
        width = p->width;
        height = p->height;
    }
    return image_resample(image, width, height, p->filter, error);
}

bool normalisation_same(const struct normalisation *a, const struct normalisation *b,
                        size_t channels)
{
    for (size_t c = 0; c < channels && c < 3; c++)
        if (a->mean[c] != b->mean[c] || a->deviation[c] != b->deviation[c])
            return false;
    return true;
}

/* --- writing --- */

static bool add_triple(struct json *array, const float *values)
{
    return json_add_float(array, NULL, values[0]) && json_add_float(array, NULL, values[1]) &&
           json_add_float(array, NULL, values[2]);
}

static bool add_measured(struct json *parent, const struct normalisation *n)
{
    struct json *object = n->measured ? json_add_object(parent, "measured") : NULL;
    return n->measured == 0 || (json_add_count(object, "images", n->measured) &&
                                json_add_count(object, "of", n->measured_of) &&
                                (!n->drawn || json_add_count(object, "seed", n->seed)));
}

bool normalisation_to_json(const struct normalisation *normalisation, struct json *parent)
{
    struct json *object = json_add_object(parent, "normalisation");
    return json_add_string(object, "name", normalisation->name) &&
           add_triple(json_add_array(object, "mean"), normalisation->mean) &&
           add_triple(json_add_array(object, "deviation"), normalisation->deviation) &&
           add_measured(parent, normalisation);
}

static bool add_sizes(struct json *array, size_t height, size_t width)
{
    return json_add_count(array, NULL, height) && json_add_count(array, NULL, width);
}

bool preprocessing_to_json(const struct preprocessing *p, struct json *object)
{
    struct json *range = NULL;
    return json_add_string(object, "filter", image_filter_names[p->filter]) &&
           json_add_bool(object, "orient", !p->as_stored) &&
           json_add_string(object, "grey", p->luma ? "luma" : "rgb") &&
           json_add_count(object, "channels", p->channels) &&
           json_add_string(object, "fit", p->stretched ? "stretch" : "crop") &&
           add_sizes(json_add_array(object, "resize"), p->stored_height, p->stored_width) &&
           add_sizes(json_add_array(object, "crop"), p->height, p->width) &&
           (range = json_add_array(object, "range")) && add_sizes(range, 0, 255) &&
           normalisation_to_json(&p->normalisation, object);
}

char *preprocessing_print(const struct preprocessing *preprocessing, struct error *error)
{
    struct json *object = json_new_object();
    char *text =
        preprocessing_to_json(preprocessing, object) ? json_print(object, false, error) : NULL;
    if (!text)
        error_set_memory(error, "the preprocessing", 0);
    json_free(object);
    return text;
}

/* --- reading --- */

static bool read_triple(const struct json *array, float *values)
{
    const struct json *value = json_first(array);
    for (size_t c = 0; c < 3; c++, value = value ? json_next(value) : NULL) {
        double number;
        if (!json_number(value, &number) || !isfinite((float)number))
            return false;
        values[c] = (float)number;
    }
    return json_is_array(array);
}

static void read_optional(const struct json *object, const char *key, size_t *count)
{
    if (!json_count(json_member(object, key), count))
        *count = 0;
}

static bool read_normalisation(struct normalisation *normalisation, const struct json *object)
{
    const char *name = json_string(json_member(object, "name"));
    if (!name || strlen(name) >= sizeof normalisation->name ||
        !read_triple(json_member(object, "mean"), normalisation->mean) ||
        !read_triple(json_member(object, "deviation"), normalisation->deviation))
        return false;
    snprintf(normalisation->name, sizeof normalisation->name, "%s", name);
    return normalisation->deviation[0] != 0 && normalisation->deviation[1] != 0 &&
           normalisation->deviation[2] != 0;
}

static void read_measured(struct normalisation *n, const struct json *object)
{
    size_t seed = 0;
    read_optional(object, "images", &n->measured);
    read_optional(object, "of", &n->measured_of);
    n->drawn = json_count(json_member(object, "seed"), &seed);
    n->seed = seed;
}

static bool read_stored(struct preprocessing *p, const struct json *array)
{
    const struct json *height = json_is_array(array) ? json_first(array) : NULL;
    const struct json *width = height ? json_next(height) : NULL;
    return json_count(height, &p->stored_height) && json_count(width, &p->stored_width) &&
           p->stored_height >= p->height && p->stored_width >= p->width &&
           p->stored_height <= IMAGE_MAX_SIDE && p->stored_width <= IMAGE_MAX_SIDE;
}

bool preprocessing_from_json(struct preprocessing *p, const struct json *object, const char **what)
{
    const char *filter = json_string(json_member(object, "filter"));
    bool orient;
    p->recorded = true;
    *what = "filter";
    if (!filter || !image_filter_parse(filter, &p->filter))
        return false;
    *what = "orient";
    if (!json_bool(json_member(object, "orient"), &orient))
        return false;
    p->as_stored = !orient;
    const char *grey = json_string(json_member(object, "grey"));
    p->luma = !grey || strcmp(grey, "rgb") != 0;
    *what = "resize";
    if (!read_stored(p, json_member(object, "resize")))
        return false;
    *what = "normalisation";
    read_measured(&p->normalisation, json_member(object, "measured"));
    return read_normalisation(&p->normalisation, json_member(object, "normalisation"));
}

bool preprocessing_parse(struct preprocessing *preprocessing, const char *text, const char **what)
{
    struct json_document document;
    *what = "preprocessing";
    if (!json_parse(&document, text, strlen(text), "preprocessing", NULL))
        return false;
    const bool read = preprocessing_from_json(preprocessing, document.root, what);
    json_document_free(&document);
    return read;
}
