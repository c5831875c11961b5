/* Reads pairs of images, stored as the two halves of one picture, like the data sets of pix2pix
 * (Isola et al. 2017).
 *
 * DIR contains the pictures, or folders train and val with pictures. The left half is the input and
 * the right half the target; direction=ba exchanges them. If the width is odd, the middle column is
 * ignored.
 */
#include "base/files/file.h"
#include "base/memory.h"
#include "data/formats/image_file.h"
#include "data/formats/scan.h"
#include "data/images/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pairs {
    char *directory;
    struct name_list names;
    struct image_file_cost largest;
};

static size_t label(const struct source *source, size_t index)
{
    (void)source;
    (void)index;
    return 0;
}

static const char *class_name(const struct source *source, size_t number)
{
    (void)source;
    (void)number;
    return "pair";
}

static void origin(const struct source *source, size_t index, char *text, size_t size)
{
    const struct pairs *pairs = source->state;
    snprintf(text, size, "%s/%s", pairs->directory, pairs->names.name[index]);
}

static bool read_halves(const struct source *source, size_t index,
                        const struct source_request *request, struct image *image,
                        struct image *target, struct error *error)
{
    const struct pairs *pairs = source->state;
    char *path = file_join(pairs->directory, pairs->names.name[index]);
    struct image both = {0};
    bool read =
        path ? image_file_read_as(&both, path, request->channels, request->preprocessing, error)
             : error_set_memory(error, "a path", 0);
    size_t half = both.width / 2;
    read = read && image_cut(target, &both, both.width - half, 0, half, both.height, error);
    if (read) {
        image_keep_left(&both, half);
        *image = both;
    } else {
        image_free(&both);
    }
    free(path);
    return read;
}

/* Counts the largest of two phases: the whole picture with the copy of its right half; and both
 * halves, the first with its new size, while the other is resized. */
static uint64_t decode_bytes(const struct source *source, const struct source_request *request)
{
    const struct pairs *pairs = source->state;
    const struct image_file_cost *largest = &pairs->largest;
    const uint64_t whole = (uint64_t)largest->width * largest->height * request->channels;
    const uint64_t turned = largest->turned && !request->preprocessing->as_stored ? 2 * whole : 0;
    const uint64_t decoding = image_file_decode_bytes(largest, request->channels, NULL);
    const double width = (double)(largest->width / 2), height = largest->height;
    const double to_width = (double)request->preprocessing->stored_width;
    const double to_height = (double)request->preprocessing->stored_height;
    const double resizing = width * height + fmax(width * height, to_width * to_height) +
                            image_file_resized_samples(width, height, to_width, to_height,
                                                       request->preprocessing->filter);
    const double reading = (double)(turned > decoding ? turned : decoding);
    return (uint64_t)fmax(reading, fmax((double)whole * 1.5, resizing * (double)request->channels));
}

static void close_pairs(struct source *source)
{
    struct pairs *pairs = source->state;
    name_list_free(&pairs->names);
    free(pairs->directory);
    free(pairs);
}

static const struct source_operations operations = {
    .label = label,
    .class_name = class_name,
    .origin = origin,
    .read = read_halves,
    .close = close_pairs,
    .decode_bytes = decode_bytes,
};

static bool check_header(struct pairs *pairs, const char *name, struct error *error)
{
    char *path = file_join(pairs->directory, name);
    if (!path)
        return error_set_memory(error, "a path", 0);
    struct image_file_cost cost;
    bool good = image_file_probe_cost(&cost, path, 3, error);
    if (good && cost.width < 2)
        good = error_set(error, ERROR_INPUT, path, "expected two pictures side by side",
                         "only %zu pixel wide", (size_t)cost.width);
    if (good &&
        image_file_decode_bytes(&cost, 3, NULL) > image_file_decode_bytes(&pairs->largest, 3, NULL))
        pairs->largest = cost;
    free(path);
    return good;
}

static bool scan_pairs(struct source *source, const struct spec *spec, struct error *error)
{
    struct pairs *pairs = source->state;
    source->root = pairs->directory = scan_choose_split(spec, error);
    if (!pairs->directory || !scan_folder(pairs->directory, &pairs->names, NULL, error))
        return false;
    if (pairs->names.count == 0)
        return error_set(error, ERROR_INPUT, pairs->directory,
                         "give a folder of pictures of two halves side by side",
                         "no pictures: looked for *.png, *.jpg and *.jpeg");
    for (size_t i = 0; i < pairs->names.count; i++)
        if (!check_header(pairs, pairs->names.name[i], error))
            return false;
    source->images = pairs->names.count;
    return true;
}

bool pairs_open(struct source *source, const struct spec *spec, struct error *error)
{
    struct pairs *pairs = memory_new(1, sizeof *pairs, "a data set", error);
    if (!pairs)
        return false;
    *source = (struct source){.operations = &operations,
                              .state = pairs,
                              .classes = 1,
                              .fit = SOURCE_PAIR,
                              .channels = 3,
                              .height = 256,
                              .width = 256,
                              .flips = true};
    if (scan_pairs(source, spec, error))
        return true;
    close_pairs(source);
    return false;
}
