/* Reads IDX files, the format of MNIST (LeCun, Cortes, Burges).
 *
 * Numbers are big-endian. The file of images begins with the magic number 2051 (0x00000803:
 * unsigned bytes, three dimensions), the count, rows and columns; the pixels follow. The file of
 * labels begins with 2049 and the count; one byte for each label follows. In MNIST ink is 255 and
 * paper 0; images keep these values.
 */
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "data/formats/gzip_file.h"
#include "data/formats/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE_MAGIC = 2051, LABEL_MAGIC = 2049, IMAGE_HEADER = 16, LABEL_HEADER = 8 };
enum { FIRST_PIECE = 1 << 20 };
enum { LEAST_CLASSES = 10 };
#define MAX_BYTES ((size_t)2 << 30)

/* The names in use for the files of the two splits; the first is the original one. */
static const char *const image_names[2][4] = {
    {"train-images-idx3-ubyte", "train-images.idx3-ubyte"},
    {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte", "test-images-idx3-ubyte"},
};
static const char *const label_names[2][4] = {
    {"train-labels-idx1-ubyte", "train-labels.idx1-ubyte"},
    {"t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte", "test-labels-idx1-ubyte"},
};

static const char *const digit_names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

static char *find_file(const char *directory, const char *const *names, struct error *error)
{
    for (size_t i = 0; names[i]; i++) {
        char *path = gzip_file_find(directory, names[i], NULL);
        if (path)
            return path;
    }
    error_set(error, ERROR_INPUT, directory,
              "give the folder of the IDX files; datasets/fetch.sh mnist DIR downloads MNIST",
              file_is_directory(directory)
                  ? N_("neither %s nor %s.gz is there")
                  : N_("there is no such folder (looked for %s and %s.gz in it)"),
              names[0], names[0]);
    return NULL;
}

static uint64_t size_of(const char *directory, const char *const *names)
{
    uint64_t bytes = 0;
    for (; *names && bytes == 0; names++)
        bytes = gzip_file_size(directory, *names);
    return bytes;
}

uint64_t idx_bytes(const struct spec *spec)
{
    return size_of(spec->directory, image_names[spec->test]) +
           size_of(spec->directory, label_names[spec->test]);
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static bool check_header(const char *path, const uint8_t *header, size_t got, size_t wanted,
                         uint32_t magic, struct error *error)
{
    if (got < wanted)
        return error_set(error, ERROR_INPUT, path, "the file is cut off: fetch it again",
                         "%zu bytes: expected a header of %zu bytes", got, wanted);
    if (big_endian(header) != magic)
        return error_set(error, ERROR_INPUT, path, "is it the right file?",
                         "magic number %u in bytes 0 to 3: expected %u (IDX, unsigned bytes, %s)",
                         big_endian(header), magic,
                         magic == IMAGE_MAGIC ? _("images") : _("labels"));
    return true;
}

/* Reads `size` bytes, or fewer if the file ends, into *bytes. Allocates at most twice the bytes
 * that were really read, because a header may announce any size. */
static bool read_growing(struct gzip_file *file, const char *path, size_t size, uint8_t **bytes,
                         size_t *got, struct error *error)
{
    size_t capacity = 0, piece = 0;
    for (*got = 0; *got == capacity && capacity < size; *got += piece) {
        capacity = capacity < FIRST_PIECE ? FIRST_PIECE : 2 * capacity;
        capacity = capacity < size ? capacity : size;
        uint8_t *grown = realloc(*bytes, capacity);
        if (!grown)
            return error_set_memory(error, path, capacity);
        *bytes = grown;
        if (!gzip_file_next(file, grown + *got, capacity - *got, &piece, error))
            return false;
    }
    return true;
}

/* Returns the `size` bytes that the header announced, owned by the caller, or NULL with an error if
 * the file has fewer or more. `contents` describes them in the error. */
static uint8_t *read_announced(struct gzip_file *file, const char *path, size_t header, size_t size,
                               const char *contents, struct error *error)
{
    size_t got = 0;
    uint8_t *bytes = NULL;
    bool read =
        read_growing(file, path, size, &bytes, &got, error) &&
        (got == size || error_set(error, ERROR_INPUT, path, "the file is cut off: fetch it again",
                                  "%zu bytes: its header announces %s, which makes %zu bytes",
                                  header + got, contents, header + size)) &&
        gzip_file_check_end(file, error);
    if (read)
        return bytes;
    free(bytes);
    return NULL;
}

static bool check_dimensions(const char *path, const uint8_t *header, struct error *error)
{
    size_t count = big_endian(header + 4), rows = big_endian(header + 8),
           columns = big_endian(header + 12);
    if (count && rows && columns && rows <= IMAGE_MAX_SIDE && columns <= IMAGE_MAX_SIDE &&
        count <= MAX_BYTES / (rows * columns))
        return true;
    return error_set(error, ERROR_INPUT, path, "is it the right file?",
                     "the header (bytes 4 to 15) announces %zu images of %zux%zu pixels: expected "
                     "at least one, and at most 2 GiB in all",
                     count, rows, columns);
}

static bool read_images(struct source *source, struct gzip_file *file, const char *path,
                        struct error *error)
{
    struct stored *stored = source->state;
    uint8_t header[IMAGE_HEADER];
    char contents[96];
    size_t got;
    if (!gzip_file_next(file, header, sizeof header, &got, error) ||
        !check_header(path, header, got, sizeof header, IMAGE_MAGIC, error) ||
        !check_dimensions(path, header, error))
        return false;
    source->images = big_endian(header + 4);
    source->height = big_endian(header + 8);
    source->width = big_endian(header + 12);
    snprintf(contents, sizeof contents, _("%zu images of %zux%zu"), source->images, source->height,
             source->width);
    stored->pixels =
        read_announced(file, path, sizeof header, source->images * source->height * source->width,
                       contents, error);
    return stored->pixels;
}

static bool take_images(struct source *source, const char *path, struct error *error)
{
    struct gzip_file *file = gzip_file_open(path, error);
    bool taken = file && read_images(source, file, path, error);
    gzip_file_close(file);
    return taken;
}

/* Reads one label for each image of the file `image_path`; NULL: as many as the file announces. */
static bool read_labels(struct source *source, struct gzip_file *file, const char *path,
                        const char *image_path, struct error *error)
{
    struct stored *stored = source->state;
    uint8_t header[LABEL_HEADER];
    char contents[48];
    size_t got;
    if (!gzip_file_next(file, header, sizeof header, &got, error) ||
        !check_header(path, header, got, sizeof header, LABEL_MAGIC, error))
        return false;
    const size_t count = big_endian(header + 4);
    if (!image_path && count <= MAX_BYTES)
        source->images = count;
    if (count != source->images)
        return image_path &&
               error_set(error, ERROR_INPUT, path, "the two files must belong together",
                         "%zu labels (bytes 4 to 7), but %s has %zu images", count,
                         file_base_name(image_path), source->images);
    snprintf(contents, sizeof contents, _("%zu labels"), count);
    stored->labels = read_announced(file, path, sizeof header, count, contents, error);
    return stored->labels;
}

static bool take_labels(struct source *source, const char *path, const char *image_path,
                        struct error *error)
{
    struct gzip_file *file = gzip_file_open(path, error);
    bool taken = file && read_labels(source, file, path, image_path, error);
    gzip_file_close(file);
    return taken;
}

/* Sets the number of classes. A part of the set, such as the test split, may lack the last classes,
 * so it is at least ten. */
static bool count_classes(struct source *source, const struct spec *spec, const char *path,
                          struct error *error)
{
    const struct stored *stored = source->state;
    size_t most = spec->classes ? spec->classes : 256;
    source->classes =
        spec->classes && spec->classes < LEAST_CLASSES ? spec->classes : LEAST_CLASSES;
    for (size_t i = 0; i < source->images; i++) {
        size_t label = stored->labels[i];
        if (label >= most)
            return error_set(error, ERROR_INPUT, path, "raise classes=, or leave it out",
                             "label %zu in record %zu (byte %zu): expected 0 to %zu", label, i,
                             LABEL_HEADER + i, most - 1);
        if (label >= source->classes)
            source->classes = label + 1;
    }
    return true;
}

bool idx_open(struct source *source, const struct spec *spec, struct error *error)
{
    struct stored *stored = stored_create(source, error);
    if (!stored)
        return false;
    source->channels = 1; /* `flips` stays false: a mirrored digit is not a digit */
    char *images = find_file(spec->directory, image_names[spec->test], error);
    char *labels = images ? find_file(spec->directory, label_names[spec->test], error) : NULL;
    bool opened = labels && take_images(source, images, error) &&
                  take_labels(source, labels, images, error) &&
                  count_classes(source, spec, labels, error);
    if (source->classes == LEAST_CLASSES)
        stored->names = digit_names;
    stored->part[0].path = images;
    stored->parts = 1;
    free(labels);
    if (!opened)
        stored_operations.close(source);
    return opened;
}

size_t idx_classes(const struct spec *spec)
{
    struct stored stored = {0};
    struct source source = {.state = &stored};
    char *path = find_file(spec->directory, label_names[spec->test], NULL);
    const bool counted =
        path && take_labels(&source, path, NULL, NULL) && count_classes(&source, spec, path, NULL);
    free(stored.labels);
    free(path);
    return counted ? source.classes : 0;
}
