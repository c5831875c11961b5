/* Files are read in blocks of FILES_AT_ONCE; each file is a task of the device's pool. The JSON
 * tree is filled in the order of the images, whichever thread read them. */
#include "training/prepare/data_fingerprint.h"

#include "base/memory.h"
#include "base/threads/pool.h"
#include "data/dataset/contents.h"
#include "runs/folder/checksum_cache.h"
#include "runs/settings/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { FILES_AT_ONCE = 64, FILES_LISTED = 100000, NAME_SIZE = 1024, PATH_SIZE = 4096 };

struct fingerprint {
    const struct preparation *prepared;
    const struct dataset *dataset;
    struct error *error;
};

static bool add_crc(struct json *array, uint32_t crc)
{
    char text[16];
    snprintf(text, sizeof text, "%08" PRIx32, crc);
    return json_add_string(array, NULL, text);
}

/* --- files --- */

struct block {
    const struct dataset *dataset;
    struct checksum_cache *cache; /* NULL: no cache could be opened */
    size_t first;
    struct checksum_stamp stamps[FILES_AT_ONCE];
    struct file_checksum checksums[FILES_AT_ONCE];
    struct error errors[FILES_AT_ONCE]; /* kind ERROR_NONE: the file was read */
};

/* Reads a file. The stamp is read before the contents, so that a file that changes meanwhile is
 * read again the next time. */
static void read_file(void *context, size_t task, size_t thread)
{
    struct block *block = context;
    const size_t index = block->first + task;
    struct file_checksum *checksum = &block->checksums[task];
    struct checksum_stamp *stamp = &block->stamps[task];
    char name[NAME_SIZE], path[PATH_SIZE];
    (void)thread;
    dataset_origin(block->dataset, index, path, sizeof path);
    dataset_file_name(block->dataset, index, name, sizeof name);
    *stamp = (struct checksum_stamp){0};
    if (checksum_stamp_read(stamp, path) &&
        checksum_cache_find(block->cache, name, stamp, &checksum->crc32))
        checksum->bytes = stamp->bytes;
    else
        dataset_file_checksum(block->dataset, index, checksum, &block->errors[task]);
}

static bool read_block(const struct fingerprint *fingerprint, struct block *block, size_t first,
                       size_t count)
{
    memset(block->errors, 0, sizeof block->errors);
    block->first = first;
    pool_run(fingerprint->prepared->device->pool, count, read_file, block);
    for (size_t i = 0; i < count; i++)
        if (block->errors[i].kind != ERROR_NONE) {
            *fingerprint->error = block->errors[i];
            return false;
        }
    return true;
}

/* Is called for each file in turn; returns false if out of memory. */
typedef bool take_file(void *context, const char *name, size_t label,
                       const struct file_checksum *checksum);

static bool take_block(const struct fingerprint *fingerprint, struct block *block, size_t count,
                       take_file *take, void *context)
{
    char name[NAME_SIZE];
    for (size_t i = 0; i < count; i++) {
        const size_t index = block->first + i;
        dataset_file_name(block->dataset, index, name, sizeof name);
        checksum_cache_add(block->cache, name, &block->stamps[i], block->checksums[i].crc32);
        if (!take(context, name, dataset_label(block->dataset, index), &block->checksums[i]))
            return error_set_memory(fingerprint->error, "the data's checksums", 0);
    }
    return true;
}

static bool each_file(const struct fingerprint *fingerprint, take_file *take, void *context)
{
    const struct dataset *dataset = fingerprint->dataset;
    const size_t images = dataset_facts(dataset)->images;
    struct block *block = memory_new(1, sizeof *block, "the data's checksums", fingerprint->error);
    bool done = block;
    if (!block)
        return false;
    block->dataset = dataset;
    block->cache = checksum_cache_open(dataset_files_root(dataset));
    for (size_t first = 0; done && first < images; first += FILES_AT_ONCE) {
        const size_t left = images - first, count = left < FILES_AT_ONCE ? left : FILES_AT_ONCE;
        done = read_block(fingerprint, block, first, count) &&
               take_block(fingerprint, block, count, take, context);
    }
    checksum_cache_close(block->cache);
    free(block);
    return done;
}

static bool list_file(void *context, const char *name, size_t label,
                      const struct file_checksum *checksum)
{
    struct json *file = json_add_array(context, NULL);
    return json_add_string(file, NULL, name) && json_add_count(file, NULL, checksum->bytes) &&
           json_add_count(file, NULL, label) && add_crc(file, checksum->crc32);
}

/* The folder whose files are being added; the files of a folder follow each other. */
struct folders {
    struct json *list;
    char name[NAME_SIZE];
    size_t files;
    uint64_t bytes;
    uLong crc;
};

static bool end_folder(struct folders *folders)
{
    struct json *folder = folders->files ? json_add_array(folders->list, NULL) : NULL;
    return folders->files == 0 ||
           (json_add_string(folder, NULL, folders->name) &&
            json_add_count(folder, NULL, folders->files) &&
            json_add_count(folder, NULL, folders->bytes) && add_crc(folder, folders->crc));
}

static bool add_to_folder(void *context, const char *name, size_t label,
                          const struct file_checksum *checksum)
{
    struct folders *folders = context;
    char line[NAME_SIZE + 64];
    const char *slash = strrchr(name, '/');
    const size_t length = slash ? (size_t)(slash - name) : 0;
    if (strlen(folders->name) != length || memcmp(folders->name, name, length) != 0) {
        if (!end_folder(folders))
            return false;
        *folders = (struct folders){.list = folders->list};
        memcpy(folders->name, name, length);
    }
    snprintf(line, sizeof line, "%s %" PRIu64 " %zu %08" PRIx32 "\n", name, checksum->bytes, label,
             checksum->crc32);
    folders->crc = crc32_z(folders->crc, (const unsigned char *)line, strlen(line));
    folders->bytes += checksum->bytes;
    folders->files++;
    return true;
}

static bool add_files(const struct fingerprint *fingerprint, struct json *set)
{
    const size_t images = dataset_facts(fingerprint->dataset)->images;
    if (images <= FILES_LISTED)
        return each_file(fingerprint, list_file, json_add_array(set, "files"));
    struct folders *folders =
        memory_new(1, sizeof *folders, "the data's checksums", fingerprint->error);
    if (folders)
        folders->list = json_add_array(set, "folders");
    const bool added =
        folders && each_file(fingerprint, add_to_folder, folders) &&
        (end_folder(folders) || error_set_memory(fingerprint->error, "the data's checksums", 0));
    free(folders);
    return added;
}

/* --- sets in memory --- */

static bool add_parts(const struct fingerprint *fingerprint, struct json *set)
{
    struct dataset_part part;
    struct json *parts = json_add_array(set, "parts");
    bool added = parts;
    for (size_t i = 0; added && i < dataset_part_count(fingerprint->dataset); i++) {
        struct json *item = json_add_array(parts, NULL);
        dataset_part_checksum(fingerprint->dataset, i, &part);
        added = json_add_string(item, NULL, part.name) && json_add_count(item, NULL, part.images) &&
                add_crc(item, part.pixels_crc32) && add_crc(item, part.labels_crc32);
    }
    return added;
}

/* --- a set --- */

static bool add_sides(struct json *set, const char *key, const size_t *sides, size_t count)
{
    struct json *array = json_add_array(set, key);
    for (size_t i = 0; i < count; i++)
        if (!json_add_count(array, NULL, sides[i]))
            return false;
    return array;
}

/* Records how pictures are resized and turned, unless the set has none or it is bilinear2, which is
 * not recorded. */
static bool add_preprocessing(struct json *set, const struct dataset_facts *facts)
{
    const struct preprocessing *p = &facts->preprocessing;
    if (facts->fixed || !p->recorded)
        return true;
    struct json *object = json_add_object(set, "preprocessing");
    return json_add_string(object, "filter", image_filter_names[p->filter]) &&
           json_add_bool(object, "orient", !p->as_stored);
}

static bool add_classes(struct json *set, const struct dataset *dataset)
{
    struct json *classes = json_add_array(set, "classes");
    for (size_t i = 0; i < dataset_facts(dataset)->classes; i++)
        if (!json_add_string(classes, NULL, dataset_class_name(dataset, i)))
            return false;
    return classes;
}

static bool add_augmentation(struct json *set, const char *augment)
{
    const bool yes = strcmp(augment, "yes") == 0;
    return yes || strcmp(augment, "no") == 0 ? json_add_bool(set, "augment", yes)
                                             : json_add_string(set, "augment", augment);
}

static bool add_class_weights(struct json *set, const struct preparation *prepared)
{
    struct json *list = prepared->class_weights ? json_add_array(set, "class_weights") : NULL;
    for (size_t i = 0; list && i < prepared->network->classes; i++)
        if (!json_add_float(list, NULL, prepared->class_weights[i]))
            return false;
    return list || !prepared->class_weights;
}

/* Records which share of the images the set has, and the seed that drew it. */
static bool add_part(struct json *set, const struct dataset_facts *facts)
{
    struct json *part = json_add_object(set, "part");
    return json_add_string(part, "of", facts->share_rest ? "rest" : "share") &&
           json_add_number(part, "share", facts->share) &&
           json_add_count(part, "seed", facts->share_seed);
}

static bool add_facts(const struct fingerprint *fingerprint, bool training, struct json *set)
{
    const struct training_settings *settings = &fingerprint->prepared->settings.training;
    const struct dataset_facts *facts = dataset_facts(fingerprint->dataset);
    const size_t image[] = {facts->channels, facts->height, facts->width};
    const size_t stored[] = {facts->stored_height, facts->stored_width};
    return json_add_string(set, "spec", facts->spec) && json_add_string(set, "kind", facts->kind) &&
           (!facts->generator || json_add_count(set, "generator", facts->generator)) &&
           json_add_count(set, "images", facts->images) &&
           (facts->share == 0 || add_part(set, facts)) &&
           (!facts->paired || json_add_string(set, "direction", facts->reversed ? "ba" : "ab")) &&
           add_sides(set, "image", image, 3) && add_sides(set, "stored", stored, 2) &&
           add_augmentation(set, training ? settings->augment : "no") &&
           json_add_count(set, "pad",
                          training ? augmentation_for(&settings->augmentation, facts).pad : 0) &&
           (!training || add_class_weights(set, fingerprint->prepared)) &&
           add_preprocessing(set, facts) &&
           normalisation_to_json(&fingerprint->prepared->preprocessing.normalisation, set) &&
           add_classes(set, fingerprint->dataset);
}

static bool add_set(const struct preparation *prepared, const struct dataset *dataset,
                    struct json *set, struct error *error)
{
    const struct fingerprint fingerprint = {prepared, dataset, error};
    if (!set || !add_facts(&fingerprint, dataset == prepared->data, set))
        return error_set_memory(error, "data.json", 0);
    if (dataset_files_root(dataset))
        return add_files(&fingerprint, set);
    return dataset_part_count(dataset) == 0 || add_parts(&fingerprint, set) ||
           error_set_memory(error, "data.json", 0);
}

struct json *data_fingerprint_make(const struct preparation *prepared, struct error *error)
{
    struct json *tree = json_new_object();
    bool made = (json_add_string(tree, "format", "tinca-data") &&
                 json_add_count(tree, "version", 1) && json_add_string(tree, "checksum", "crc32") &&
                 run_preprocessing_record(&prepared->preprocessing, tree)) ||
                error_set_memory(error, "data.json", 0);
    made = made && add_set(prepared, prepared->data, json_add_object(tree, "training"), error);
    if (made && prepared->validation)
        made = add_set(prepared, prepared->validation, json_add_object(tree, "validation"), error);
    else if (made)
        made = json_add_null(tree, "validation") || error_set_memory(error, "data.json", 0);
    if (made && prepared->test)
        made = add_set(prepared, prepared->test, json_add_object(tree, "test"), error);
    made = made &&
           (method_to_json(&prepared->method, tree) || error_set_memory(error, "data.json", 0));
    if (made)
        return tree;
    json_free(tree);
    return NULL;
}
