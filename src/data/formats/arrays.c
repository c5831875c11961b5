/* Reads arrays of images and labels that NumPy saved: npy:IMAGES.npy with a second file of labels,
 * and npz:FILE.npz, an archive that has both.
 *
 * Images are [N,H,W], [N,H,W,C] or [N,C,H,W] with 1 or 3 channels; if both readings are possible,
 * the channels come last. Items of one byte are samples of 0..255. Items of two bytes (65535 is
 * white) and floating-point numbers keep their precision: floating-point images whose values all
 * lie within 0 and 1 are multiplied by 255, others are taken as they are. Labels are whole numbers,
 * [N] or [N,1]. The bytes stay in memory as they were saved. */
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "data/formats/npy.h"
#include "data/formats/zip.h"
#include "data/images/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)2 << 30)

struct array {
    uint8_t *bytes; /* the whole member, with its header */
    struct npy_header header;
};

struct arrays {
    struct array images, labels;
    char *path; /* of the images */
    bool channels_first;
    float scale; /* of floating-point images */
};

/* --- one image --- */

static const uint8_t *item_of(const struct array *array, size_t index)
{
    return array->bytes + array->header.bytes + index * array->header.item;
}

static int64_t label_at(const struct array *labels, size_t index)
{
    const uint8_t *at = item_of(labels, index);
    const bool negative = labels->header.kind == 'i' && at[labels->header.item - 1] & 0x80;
    uint64_t value = negative ? UINT64_MAX : 0;
    for (size_t i = labels->header.item; i-- > 0;)
        value = value << 8 | at[i];
    return (int64_t)value;
}

/* Returns an item that is not one byte, in units of 0..255. */
static float sample_at(const struct arrays *arrays, size_t index)
{
    const struct npy_header *header = &arrays->images.header;
    const uint8_t *at = item_of(&arrays->images, index);
    float single;
    double value;
    if (header->kind == 'u')
        return (float)(at[0] | at[1] << 8) / 257.0f;
    if (header->item == sizeof single) {
        memcpy(&single, at, sizeof single);
        return single * arrays->scale;
    }
    memcpy(&value, at, sizeof value);
    return (float)value * arrays->scale;
}

static size_t label(const struct source *source, size_t index)
{
    const struct arrays *arrays = source->state;
    return (size_t)label_at(&arrays->labels, index);
}

static const char *class_name(const struct source *source, size_t number)
{
    (void)source;
    (void)number;
    return NULL;
}

static void origin(const struct source *source, size_t index, char *text, size_t size)
{
    const struct arrays *arrays = source->state;
    snprintf(text, size, "record %zu of %s", index, file_base_name(arrays->path));
}

static bool read_image(const struct source *source, size_t index,
                       const struct source_request *request, struct image *image,
                       struct image *target, struct error *error)
{
    const struct arrays *arrays = source->state;
    const size_t area = source->height * source->width, count = area * source->channels;
    const bool bytes = arrays->images.header.item == 1;
    (void)request;
    (void)target;
    if (!(bytes ? image_create : image_create_deep)(image, source->width, source->height,
                                                    source->channels, error))
        return false;
    for (size_t p = 0; p < area; p++)
        for (size_t c = 0; c < source->channels; c++) {
            const size_t to = p * source->channels + c;
            const size_t from = index * count + (arrays->channels_first ? c * area + p : to);
            if (bytes)
                image->pixels[to] = *item_of(&arrays->images, from);
            else
                image->deep[to] = sample_at(arrays, from);
        }
    return true;
}

static void close_arrays(struct source *source)
{
    struct arrays *arrays = source->state;
    free(arrays->images.bytes);
    free(arrays->labels.bytes);
    free(arrays->path);
    free(arrays);
}

static void checksum_of(const struct source *source, size_t index, source_bytes_watch *watch,
                        void *context)
{
    const struct arrays *arrays = source->state;
    const size_t count = source->height * source->width * source->channels;
    const size_t bytes = count * arrays->images.header.item;
    watch(context, item_of(&arrays->images, index * count), bytes);
}

static const struct source_operations operations = {
    .label = label,
    .class_name = class_name,
    .origin = origin,
    .read = read_image,
    .close = close_arrays,
    .bytes = checksum_of,
};

/* --- checks --- */

static bool take_shape(struct source *source, struct error *error)
{
    struct arrays *arrays = source->state;
    const struct npy_header *header = &arrays->images.header;
    const size_t *shape = header->shape;
    const bool types =
        (header->kind == 'u' && header->item <= 2) || (header->kind == 'f' && header->item >= 4);
    if (!types)
        return error_set(error, ERROR_INPUT, arrays->path, "convert it: array.astype(numpy.uint8)",
                         "images of type %c%zu: expected u1, u2, f4 or f8", header->kind,
                         header->item);
    const bool last = header->dimensions == 4 && (shape[3] == 1 || shape[3] == 3);
    const bool first = header->dimensions == 4 && (shape[1] == 1 || shape[1] == 3);
    if (header->items == 0 || (header->dimensions != 3 && !last && !first))
        return error_set(error, ERROR_INPUT, arrays->path,
                         "save images as N,H,W or N,H,W,C or N,C,H,W with 1 or 3 channels",
                         "its shape is not one of images");
    arrays->channels_first = !last && first;
    source->images = shape[0];
    source->channels = last ? shape[3] : first ? shape[1] : 1;
    source->height = shape[arrays->channels_first ? 2 : 1];
    source->width = shape[arrays->channels_first ? 3 : 2];
    source->deep = header->item != 1;
    source->flips = source->channels == 3; /* a mirrored digit is not a digit */
    return image_check_size(arrays->path, source->width, source->height, error) &&
           (source->images <= UINT32_MAX ||
            error_set(error, ERROR_INPUT, arrays->path, "save fewer", "too many images"));
}

/* Chooses the scale of floating-point images, and refuses NaN and infinity. */
static bool choose_scale(const struct source *source, struct error *error)
{
    struct arrays *arrays = source->state;
    const size_t each = arrays->images.header.items / source->images;
    bool unit = true;
    arrays->scale = 1;
    for (size_t i = 0; arrays->images.header.kind == 'f' && i < arrays->images.header.items; i++) {
        const float value = sample_at(arrays, i);
        if (!isfinite(value))
            return error_set(error, ERROR_INPUT, arrays->path, "replace it before saving",
                             "record %zu has a value that is NaN or infinite", i / each);
        unit = unit && value >= 0 && value <= 1;
    }
    arrays->scale = unit ? 255 : 1;
    return true;
}

static bool check_labels(struct source *source, const struct spec *spec, const char *path,
                         struct error *error)
{
    const struct arrays *arrays = source->state;
    const struct npy_header *header = &arrays->labels.header;
    const bool row = header->dimensions == 1 || (header->dimensions == 2 && header->shape[1] == 1);
    const int64_t most = spec->classes ? (int64_t)spec->classes : SPEC_MAX_CLASSES;
    if (!row || header->kind == 'f' || header->items != source->images)
        return error_set(error, ERROR_INPUT, path, "save a whole number for each image",
                         "the labels are no row of %zu whole numbers, one an image",
                         source->images);
    source->classes = 1;
    for (size_t i = 0; i < source->images; i++) {
        const int64_t value = label_at(&arrays->labels, i);
        if (value < 0 || value >= most)
            return error_set(error, ERROR_INPUT, path, "raise classes=, or leave it out",
                             "label %lld of record %zu: expected 0 to %lld", (long long)value, i,
                             (long long)most - 1);
        source->classes = (size_t)value >= source->classes ? (size_t)value + 1 : source->classes;
    }
    return true;
}

/* Checks the arrays that were read; `labels` is the name of the labels for messages. */
static bool accept(struct source *source, const struct spec *spec, const char *labels,
                   struct error *error)
{
    return take_shape(source, error) && choose_scale(source, error) &&
           check_labels(source, spec, labels, error);
}

/* Parses the header of an array whose `size` bytes are in memory, and checks that they are all of
 * its bytes. */
static bool parse_array(struct array *array, size_t size, const char *path, struct error *error)
{
    if (!npy_header_parse(&array->header, array->bytes, size, MAX_BYTES, path, error))
        return false;
    const size_t wanted = array->header.bytes + array->header.items * array->header.item;
    return size == wanted || error_set(error, ERROR_INPUT, path, "is it cut off?",
                                       "%zu bytes: its header announces %zu", size, wanted);
}

/* --- npy --- */

/* Checks the header before the memory for the array is taken. */
static bool check_file(const char *path, struct error *error)
{
    uint8_t *start = malloc(NPY_START + NPY_MAX_HEADER);
    FILE *stream = start ? file_open_stream(path, error) : NULL;
    struct npy_header header;
    bool checked = false;
    if (!start)
        return error_set_memory(error, path, NPY_MAX_HEADER);
    if (stream) {
        const size_t got = fread(start, 1, NPY_START + NPY_MAX_HEADER, stream);
        checked = npy_header_parse(&header, start, got, MAX_BYTES, path, error);
        fclose(stream);
    }
    free(start);
    return checked;
}

static bool read_file(struct array *array, const char *path, struct error *error)
{
    size_t size;
    if (!check_file(path, error))
        return false;
    array->bytes = (uint8_t *)file_read(path, MAX_BYTES + NPY_MAX_HEADER, &size, error);
    return array->bytes && parse_array(array, size, path, error);
}

/* Writes `path` with the last `from` in its file name replaced by `to`. Returns false if the name
 * does not contain `from`. */
static bool replace_word(const char *path, const char *from, const char *to, char *out, size_t size)
{
    const char *name = file_base_name(path), *at = strstr(name, from);
    if (!at)
        return false;
    snprintf(out, size, "%.*s%s%s", (int)(at - path), path, to, at + strlen(from));
    return true;
}

/* Finds the file of labels: labels=FILE, or else the file whose name has "labels" instead of
 * "images" or "data", or begins with "y" or "Y" instead of "x" or "X". */
static bool find_labels_file(const struct spec *spec, char *out, size_t size, struct error *error)
{
    static const char *const words[][2] = {{"images", "labels"}, {"data", "labels"}};
    const char *path = spec->directory, *name = file_base_name(path);
    if (spec->labels[0]) {
        snprintf(out, size, "%s", spec->labels);
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (replace_word(path, words[i][0], words[i][1], out, size) && file_exists(out))
            return true;
    if ((name[0] == 'x' || name[0] == 'X') && (name[1] == '_' || name[1] == '.')) {
        snprintf(out, size, "%.*sy%s", (int)(name - path), path, name + 1);
        if (file_exists(out))
            return true;
        snprintf(out, size, "%.*sY%s", (int)(name - path), path, name + 1);
        if (file_exists(out))
            return true;
    }
    return error_set(error, ERROR_INPUT, path, "name it: npy:IMAGES.npy,labels=LABELS.npy",
                     "there is no file of labels that belongs to it");
}

static bool refuse_split(const struct spec *spec, struct error *error)
{
    return error_set(error, ERROR_USAGE, spec->text, "name the arrays of the split",
                     "split=%s: the arrays are not divided into train and test",
                     spec->test ? "test" : "train");
}

static bool open_npy(struct source *source, const struct spec *spec, struct error *error)
{
    struct arrays *arrays = source->state;
    char labels[sizeof spec->directory + 8];
    if (spec->split_given || spec->images[0])
        return spec->images[0] ? error_set(error, ERROR_USAGE, spec->text, "leave it out",
                                           "images= is for npz:FILE")
                               : refuse_split(spec, error);
    return find_labels_file(spec, labels, sizeof labels, error) &&
           read_file(&arrays->images, arrays->path, error) &&
           read_file(&arrays->labels, labels, error) && accept(source, spec, labels, error);
}

/* --- npz --- */

/* The names in use for the two arrays; those of the splits come first. */
static const char *const array_names[2][6][2] = {
    {{"x_train", "y_train"}, {"X_train", "y_train"}, {"train_images", "train_labels"}},
    {{"x_test", "y_test"},
     {"X_test", "y_test"},
     {"test_images", "test_labels"},
     {"x_val", "y_val"},
     {"val_images", "val_labels"}},
};
static const char *const whole_names[][2] = {
    {"images", "labels"}, {"x", "y"}, {"X", "y"}, {"data", "labels"}, {"arr_0", "arr_1"}};

static const struct zip_member *find_array(const struct zip *zip, const char *name)
{
    char file[ZIP_NAME];
    if (snprintf(file, sizeof file, "%s.npy", name) >= (int)sizeof file)
        return NULL;
    const struct zip_member *member = zip_find(zip, file);
    return member ? member : zip_find(zip, name);
}

static bool find_pair(const struct zip *zip, const char *const (*names)[2], size_t count,
                      const struct zip_member **found)
{
    for (size_t i = 0; i < count && names[i][0]; i++) {
        found[0] = find_array(zip, names[i][0]);
        found[1] = find_array(zip, names[i][1]);
        if (found[0] && found[1])
            return true;
    }
    return false;
}

/* Finds the members of images and labels. */
static bool find_members(const struct zip *zip, const struct spec *spec,
                         const struct zip_member **found, struct error *error)
{
    const char *const given[1][2] = {{spec->images, spec->labels}};
    if (spec->images[0] || spec->labels[0])
        return (spec->images[0] && spec->labels[0] && find_pair(zip, given, 1, found)) ||
               error_set(error, ERROR_INPUT, spec->directory,
                         "name two arrays of the file: images=NAME,labels=NAME",
                         "there are no arrays called '%s' and '%s'", spec->images, spec->labels);
    if (find_pair(zip, array_names[spec->test], 6, found))
        return true;
    if (find_pair(zip, whole_names, sizeof whole_names / sizeof *whole_names, found))
        return !spec->split_given || refuse_split(spec, error);
    return error_set(error, ERROR_INPUT, spec->directory,
                     "name them: npz:FILE,images=NAME,labels=NAME",
                     "no arrays of images and labels: looked for x_train and y_train, train_images "
                     "and train_labels, images and labels, x and y and the like");
}

static bool read_member(const struct zip *zip, const struct zip_member *member, struct array *array,
                        struct error *error)
{
    array->bytes = zip_read(zip, member, MAX_BYTES, error);
    return array->bytes && parse_array(array, member->size, zip->path, error);
}

static bool open_npz(struct source *source, const struct spec *spec, struct error *error)
{
    struct arrays *arrays = source->state;
    const struct zip_member *found[2];
    struct zip zip;
    if (!zip_open(&zip, arrays->path, error))
        return false;
    const bool opened = find_members(&zip, spec, found, error) &&
                        read_member(&zip, found[0], &arrays->images, error) &&
                        read_member(&zip, found[1], &arrays->labels, error) &&
                        accept(source, spec, arrays->path, error);
    zip_close(&zip);
    return opened;
}

/* --- opening --- */

static bool open_arrays(struct source *source, const struct spec *spec, source_open *open,
                        struct error *error)
{
    struct arrays *arrays = memory_new(1, sizeof *arrays, "a data set", error);
    if (!arrays)
        return false;
    *source = (struct source){
        .operations = &operations, .state = arrays, .fit = SOURCE_FIXED, .quick = true};
    arrays->scale = 1;
    arrays->path = memory_copy_text(spec->directory, error);
    if (arrays->path && open(source, spec, error)) {
        source->file = arrays->path;
        return true;
    }
    close_arrays(source);
    return false;
}

bool npy_open(struct source *source, const struct spec *spec, struct error *error)
{
    return open_arrays(source, spec, open_npy, error);
}

bool npz_open(struct source *source, const struct spec *spec, struct error *error)
{
    return open_arrays(source, spec, open_npz, error);
}

/* Reads the sizes in the list of members; a file of one array has its own size. */
uint64_t arrays_bytes(const struct spec *spec)
{
    struct stat status;
    struct zip zip;
    const struct zip_member *found[2];
    uint64_t bytes = 0;
    if (strcmp(spec->kind, "npy") == 0)
        return stat(spec->directory, &status) == 0 ? (uint64_t)status.st_size : 0;
    if (!zip_open(&zip, spec->directory, NULL))
        return 0;
    if (find_members(&zip, spec, found, NULL))
        bytes = (uint64_t)found[0]->size + found[1]->size;
    zip_close(&zip);
    return bytes;
}

/* Reads the array of labels alone. */
static bool read_labels(struct array *labels, const struct spec *spec)
{
    char path[sizeof spec->directory + 8];
    const struct zip_member *found[2];
    struct zip zip;
    if (strcmp(spec->kind, "npy") == 0)
        return find_labels_file(spec, path, sizeof path, NULL) && read_file(labels, path, NULL);
    if (!zip_open(&zip, spec->directory, NULL))
        return false;
    const bool read =
        find_members(&zip, spec, found, NULL) && read_member(&zip, found[1], labels, NULL);
    zip_close(&zip);
    return read;
}

size_t arrays_classes(const struct spec *spec)
{
    struct arrays arrays = {0};
    struct source source = {.state = &arrays};
    bool counted = read_labels(&arrays.labels, spec);
    source.images = arrays.labels.header.items;
    counted = counted && source.images > 0 && check_labels(&source, spec, spec->directory, NULL);
    free(arrays.labels.bytes);
    return counted ? source.classes : 0;
}
