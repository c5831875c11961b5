/* Reads CIFAR-10 and CIFAR-100, binary version (Krizhevsky 2009).
 *
 * A file is a sequence of records. A record of CIFAR-10 is one label byte and 3072 bytes of pixels:
 * planes of 1024 red, 1024 green and 1024 blue samples, row by row. CIFAR-100 has two label bytes,
 * the coarse class (of 20) and the fine class (of 100); the fine one is used. Pixels are
 * interleaved in memory, like those of all images. Class names come from batches.meta.txt or
 * fine_label_names.txt if that file exists.
 */
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "data/formats/gzip_file.h"
#include "data/formats/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, PLANE = SIDE * SIDE, PIXELS = 3 * PLANE, MAX_RECORDS = 100000, GROWTH = 1000 };

struct layout {
    const char *name;
    size_t classes, label_bytes;
    const char *train[6], *test[2]; /* NULL-terminated */
    const char *archive_folder;     /* where the published archive unpacks to */
    const char *names_file, *fetch;
    const char *const *class_names;
};

const char *const cifar10_class_names[10] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                             "dog",      "frog",       "horse", "ship", "truck"};

static const struct layout cifar10 = {
    .name = "CIFAR-10",
    .classes = 10,
    .label_bytes = 1,
    .train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
              "data_batch_5.bin"},
    .test = {"test_batch.bin"},
    .archive_folder = "cifar-10-batches-bin",
    .names_file = "batches.meta.txt",
    .fetch = "datasets/fetch.sh cifar10 DIR",
    .class_names = cifar10_class_names,
};
static const struct layout cifar100 = {
    .name = "CIFAR-100",
    .classes = 100,
    .label_bytes = 2,
    .train = {"train.bin"},
    .test = {"test.bin"},
    .archive_folder = "cifar-100-binary",
    .names_file = "fine_label_names.txt",
    .fetch = "datasets/fetch.sh cifar100 DIR",
};

/* --- finding the files --- */

static bool is_there(const char *directory, const char *name)
{
    char *path = gzip_file_find(directory, name, NULL);
    free(path);
    return path != NULL;
}

/* Returns the given folder, or the archive's folder inside it if the files are there. Owned by the
 * caller. */
static char *choose_directory(const struct layout *layout, const char *given, const char *first,
                              struct error *error)
{
    char *inner = file_join(given, layout->archive_folder);
    if (inner && !is_there(given, first) && is_there(inner, first))
        return inner;
    free(inner);
    return memory_copy_text(given, error);
}

static bool set_missing(const struct layout *layout, const char *directory, const char *name,
                        struct error *error)
{
    char advice[160];
    snprintf(advice, sizeof advice, _("give the folder of the %s files; %s downloads them"),
             layout->name, layout->fetch);
    if (!file_is_directory(directory))
        return error_set(error, ERROR_INPUT, directory, advice,
                         "there is no such folder (looked for %s and %s.gz in it)", name, name);
    return error_set(error, ERROR_INPUT, directory, advice, "neither %s nor %s.gz is there", name,
                     name);
}

/* --- reading records --- */

static bool set_size_error(const char *path, size_t size, size_t record, struct error *error)
{
    return error_set(error, ERROR_INPUT, path,
                     "the file is cut off or not of this kind: fetch it "
                     "again",
                     "%zu bytes, which is not a whole number of %zu-byte records: expected a "
                     "multiple of %zu (the original files have 10,000 records per batch)",
                     size, record, record);
}

static void interleave(uint8_t *out, const uint8_t *planes)
{
    for (size_t i = 0; i < PLANE; i++, out += 3) {
        out[0] = planes[i];
        out[1] = planes[PLANE + i];
        out[2] = planes[2 * PLANE + i];
    }
}

/* Grows the arrays to `images` images, if *capacity is less. */
static bool reserve(struct stored *stored, size_t images, size_t *capacity, struct error *error)
{
    if (images <= *capacity)
        return true;
    uint8_t *pixels = realloc(stored->pixels, images * PIXELS);
    if (pixels)
        stored->pixels = pixels;
    uint8_t *labels = realloc(stored->labels, images);
    if (labels)
        stored->labels = labels;
    *capacity = images;
    return (pixels && labels) || error_set_memory(error, "CIFAR images", images * PIXELS);
}

static bool take_record(const struct layout *layout, struct source *source, const char *path,
                        const uint8_t *bytes, size_t number, struct error *error)
{
    struct stored *stored = source->state;
    const size_t label = bytes[layout->label_bytes - 1];
    if (label >= layout->classes)
        return error_set(error, ERROR_INPUT, path, "the file is damaged or not of this kind",
                         "label %zu in record %zu (byte %zu): expected 0 to %zu", label, number,
                         number * (layout->label_bytes + PIXELS) + layout->label_bytes - 1,
                         layout->classes - 1);
    stored->labels[source->images] = (uint8_t)label;
    interleave(stored->pixels + source->images * PIXELS, bytes + layout->label_bytes);
    source->images++;
    return true;
}

/* Reads all records of a file. Each goes directly to its final place, so that the file itself is
 * never in memory. */
static bool read_records(const struct layout *layout, struct source *source, struct gzip_file *file,
                         const char *path, struct error *error)
{
    const size_t record = layout->label_bytes + PIXELS, first = source->images;
    const uint64_t expected = gzip_file_size_of(path) / record; /* a hint, to allocate once */
    uint8_t bytes[2 + PIXELS];
    size_t capacity = first, got;
    if (expected <= MAX_RECORDS &&
        !reserve(source->state, first + (size_t)expected, &capacity, error))
        return false;
    for (size_t i = 0; i < MAX_RECORDS; i++) {
        if (!gzip_file_next(file, bytes, record, &got, error))
            return false;
        if (got < record)
            return (got == 0 && i > 0) || set_size_error(path, i * record + got, record, error);
        if (!reserve(source->state, first + i + (i == capacity - first ? GROWTH : 1), &capacity,
                     error) ||
            !take_record(layout, source, path, bytes, i, error))
            return false;
    }
    return gzip_file_check_end(file, error);
}

static bool take_file(const struct layout *layout, struct source *source, const char *path,
                      struct error *error)
{
    struct gzip_file *file = gzip_file_open(path, error);
    bool taken = file && read_records(layout, source, file, path, error);
    gzip_file_close(file);
    return taken;
}

static bool take_files(const struct layout *layout, struct source *source, const char *directory,
                       const char *const *names, struct error *error)
{
    struct stored *stored = source->state;
    for (; *names; names++) {
        struct error memory = {0};
        char *path = gzip_file_find(directory, *names, &memory);
        if (!path && memory.kind != ERROR_NONE) {
            if (error)
                *error = memory;
            return false;
        }
        if (!path)
            return set_missing(layout, directory, *names, error);
        stored->part[stored->parts++] = (struct stored_part){path, source->images};
        if (!take_file(layout, source, path, error))
            return false;
    }
    return true;
}

/* --- class names --- */

/* Reads one class name per line. The file is optional: without it, classes have built-in names or
 * numbers. */
static void read_names(const struct layout *layout, struct stored *stored, const char *directory)
{
    char *path = file_join(directory, layout->names_file);
    size_t size;
    char *text = path ? file_read(path, 1 << 16, &size, NULL) : NULL;
    char *rest = text;
    stored->file_names = text ? memory_new(layout->classes, STORED_NAME_SIZE, path, NULL) : NULL;
    for (size_t i = 0; stored->file_names && rest && i < layout->classes; i++) {
        char *line = strsep(&rest, "\n");
        line[strcspn(line, "\r")] = '\0';
        snprintf(stored->file_names + i * STORED_NAME_SIZE, STORED_NAME_SIZE, "%s", line);
    }
    free(text);
    free(path);
}

static bool open_layout(const struct layout *layout, struct source *source, const struct spec *spec,
                        struct error *error)
{
    struct stored *stored = stored_create(source, error);
    if (!stored)
        return false;
    const char *const *names = spec->test ? layout->test : layout->train;
    source->classes = layout->classes;
    source->channels = 3;
    source->height = source->width = SIDE;
    source->flips = true;
    stored->names = layout->class_names;
    char *directory = choose_directory(layout, spec->directory, names[0], error);
    bool opened = directory && take_files(layout, source, directory, names, error);
    if (opened)
        read_names(layout, stored, directory);
    else
        stored_operations.close(source);
    free(directory);
    return opened;
}

static uint64_t layout_bytes(const struct layout *layout, const struct spec *spec)
{
    const char *const *names = spec->test ? layout->test : layout->train;
    char *directory = choose_directory(layout, spec->directory, names[0], NULL);
    uint64_t bytes = 0;
    for (; directory && *names; names++)
        bytes += gzip_file_size(directory, *names);
    free(directory);
    return bytes;
}

uint64_t cifar10_bytes(const struct spec *spec)
{
    return layout_bytes(&cifar10, spec);
}

uint64_t cifar100_bytes(const struct spec *spec)
{
    return layout_bytes(&cifar100, spec);
}

bool cifar10_open(struct source *source, const struct spec *spec, struct error *error)
{
    return open_layout(&cifar10, source, spec, error);
}

bool cifar100_open(struct source *source, const struct spec *spec, struct error *error)
{
    return open_layout(&cifar100, source, spec, error);
}
