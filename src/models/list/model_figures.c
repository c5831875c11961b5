/* One table of members serves reading and writing, so that they agree. A file that is damaged or of
 * another version counts as empty: its figures are measured again. */
#include "models/list/model_figures.h"

#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/files/user_path.h"
#include "base/json/json_field.h"
#include "base/memory.h"
#include "base/portable/portable.h"
#include "data/dataset/dataset.h"
#include "data/generated/generate.h"
#include "engine/graph/operator.h"
#include "models/saved/model_file.h"
#include "runs/folder/run_directory.h"
#include "runs/settings/config_paths.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { FILE_LIMIT = 1 << 20, FORMAT_VERSION = 2, BLOCK = 1 << 20 };

/* --- members --- */

#define MEMBER(name) JSON_FIELD_AT(struct model_measured, name)

static const struct json_field members[] = {
    {.key = "data", .kind = JSON_FIELD_TEXT, MEMBER(data)},
    {.key = "data_key", .kind = JSON_FIELD_TEXT, MEMBER(data_key)},
    {.key = "device", .kind = JSON_FIELD_TEXT, MEMBER(on.device)},
    {.key = "precision", .kind = JSON_FIELD_TEXT, MEMBER(on.precision)},
    {.key = "host", .kind = JSON_FIELD_TEXT, MEMBER(on.host)},
    {.key = "cpu", .kind = JSON_FIELD_TEXT, MEMBER(on.cpu)},
    {.key = "created", .kind = JSON_FIELD_TEXT, MEMBER(on.created)},
    {.key = "threads", .kind = JSON_FIELD_COUNT, MEMBER(on.threads)},
    {.key = "images", .kind = JSON_FIELD_COUNT, MEMBER(images)},
    {.key = "top1", .kind = JSON_FIELD_NUMBER, MEMBER(top1)},
    {.key = "top1_low", .kind = JSON_FIELD_NUMBER, MEMBER(top1_low)},
    {.key = "top1_high", .kind = JSON_FIELD_NUMBER, MEMBER(top1_high)},
    {.key = "loss", .kind = JSON_FIELD_NUMBER, MEMBER(loss)},
    {.key = "timed_images", .kind = JSON_FIELD_COUNT, MEMBER(timed)},
    {.key = "ms", .kind = JSON_FIELD_NUMBER, MEMBER(ms)},
    {.key = "ms_low", .kind = JSON_FIELD_NUMBER, MEMBER(ms_low)},
    {.key = "ms_high", .kind = JSON_FIELD_NUMBER, MEMBER(ms_high)},
    {.key = "ms_mean", .kind = JSON_FIELD_NUMBER, MEMBER(ms_mean)},
    {.key = "ms_ci95", .kind = JSON_FIELD_NUMBER, MEMBER(ms_ci95)},
    {.key = "joules_per_image", .kind = JSON_FIELD_NUMBER, MEMBER(joules)},
    {.key = "energy_unknown", .kind = JSON_FIELD_TEXT, MEMBER(energy_unknown)},
};
enum { MEMBERS = sizeof members / sizeof *members };

static const struct json_field pair_origin = {
    .key = "origin", .kind = JSON_FIELD_TEXT, JSON_FIELD_AT(struct model_pair, origin)};

static bool pair_to_json(struct json *object, const struct model_pair *pair)
{
    return object && json_field_add(object, &pair_origin, pair) &&
           turns_to_json(object, &pair->turns);
}

static bool pair_from_json(struct model_pair *pair, const struct json *object)
{
    return turns_from_json(&pair->turns, object) &&
           json_field_read(json_member(object, pair_origin.key), &pair_origin, pair);
}

bool model_measured_to_json(struct json *object, const struct model_measured *measured)
{
    bool added = object;
    for (size_t i = 0; added && i < MEMBERS; i++)
        added = json_field_add(object, &members[i], measured);
    return added;
}

bool model_measured_from_json(struct model_measured *measured, const struct json *object)
{
    *measured = (struct model_measured){0};
    for (size_t i = 0; i < MEMBERS; i++)
        if (!json_field_read(json_member(object, members[i].key), &members[i], measured))
            return false;
    return true;
}

bool model_description_to_json(struct json *object, const struct model_description *facts)
{
    return json_add_string(object, "name", facts->name) &&
           json_add_string(object, "technique", facts->technique) &&
           json_add_count(object, "parameters", facts->parameters) &&
           json_add_count(object, "linear_parameters", facts->linear_parameters) &&
           json_add_count(object, "classes", facts->classes) &&
           json_add_count(object, "flops", facts->flops) &&
           json_add_count(object, "bytes", facts->bytes) &&
           json_add_string(object, "checksum", facts->checksum) &&
           json_add_string(object, "parent", facts->parent);
}

static bool read_text(const struct json *object, const char *key, char *text, size_t size)
{
    const char *value = json_string(json_member(object, key));
    return value && (size_t)snprintf(text, size, "%s", value) < size;
}

bool model_description_from_json(struct model_description *facts, const struct json *object)
{
    size_t flops = 0, bytes = 0;
    *facts = (struct model_description){0};
    const bool read =
        read_text(object, "name", facts->name, sizeof facts->name) &&
        read_text(object, "technique", facts->technique, sizeof facts->technique) &&
        json_count(json_member(object, "parameters"), &facts->parameters) &&
        json_count(json_member(object, "linear_parameters"), &facts->linear_parameters) &&
        json_count(json_member(object, "classes"), &facts->classes) &&
        json_count(json_member(object, "flops"), &flops) &&
        json_count(json_member(object, "bytes"), &bytes) &&
        read_text(object, "checksum", facts->checksum, sizeof facts->checksum) &&
        read_text(object, "parent", facts->parent, sizeof facts->parent);
    facts->flops = flops;
    facts->bytes = bytes;
    return read;
}

/* --- the file --- */

static char *path_of(const char *key, struct error *error)
{
    char name[MODEL_KEY + 8];
    char *folder = run_directory_beside("model-figures", error);
    snprintf(name, sizeof name, "%s.json", key);
    char *path = folder ? file_join(folder, name) : NULL;
    if (folder && !path)
        error_set_memory(error, "a path", 0);
    free(folder);
    return path;
}

/* Waits until no other process changes figures, since a file of figures is read, changed and
 * replaced as a whole. Returns a descriptor; close(2) releases the lock. Returns -1 with an error.
 */
static int lock_figures(struct error *error)
{
    char *path = run_directory_beside("model-figures.lock", error);
    const int lock = path && user_path_make_cache_folder(path, error) ? file_lock(path, error) : -1;
    free(path);
    return lock;
}

static bool add_pair(struct model_figures *figures, const struct model_pair *pair,
                     struct error *error)
{
    if (!memory_grow(&figures->pairs, &figures->pair_capacity, figures->pair_count + 1,
                     sizeof *figures->pairs, "figures of a model", error))
        return false;
    figures->pairs[figures->pair_count++] = *pair;
    return true;
}

/* Adds the entries of the file; a damaged one is left out. Returns whether the facts were read. */
static bool read_tree(struct model_figures *figures, const struct json *root)
{
    size_t version = 0;
    const char *format = json_string(json_member(root, "format"));
    if (!format || strcmp(format, "tinca-model-figures") != 0 ||
        !json_count(json_member(root, "version"), &version) || version != FORMAT_VERSION ||
        !model_description_from_json(&figures->facts, json_member(root, "facts")))
        return false;
    const struct json *item = json_first(json_member(root, "measured"));
    for (; item; item = json_next(item)) {
        struct model_measured measured;
        if (!model_measured_from_json(&measured, item))
            continue;
        if (!memory_grow(&figures->measured, &figures->capacity, figures->count + 1,
                         sizeof *figures->measured, "figures", NULL))
            break;
        figures->measured[figures->count++] = measured;
    }
    for (item = json_first(json_member(root, "pairs")); item; item = json_next(item)) {
        struct model_pair pair;
        if (pair_from_json(&pair, item) && !add_pair(figures, &pair, NULL))
            break;
    }
    return true;
}

static bool read_file(struct model_figures *figures)
{
    struct json_document document;
    char *path = path_of(figures->key, NULL);
    bool read = path && file_exists(path) && json_read_file(&document, path, FILE_LIMIT, NULL);
    free(path);
    if (!read)
        return false;
    model_figures_free(figures);
    read = read_tree(figures, document.root);
    json_document_free(&document);
    return read;
}

static bool write_file(const struct model_figures *figures, struct error *error)
{
    struct json *root = json_new_object();
    bool added = json_add_string(root, "format", "tinca-model-figures") &&
                 json_add_count(root, "version", FORMAT_VERSION) &&
                 model_description_to_json(json_add_object(root, "facts"), &figures->facts);
    struct json *list = added ? json_add_array(root, "measured") : NULL;
    for (size_t i = 0; list && added && i < figures->count; i++)
        added = model_measured_to_json(json_add_object(list, NULL), &figures->measured[i]);
    struct json *pairs = list && added ? json_add_array(root, "pairs") : NULL;
    for (size_t i = 0; pairs && added && i < figures->pair_count; i++)
        added = pair_to_json(json_add_object(pairs, NULL), &figures->pairs[i]);
    added = added && pairs;
    char *text = added ? json_print(root, true, error) : NULL;
    if (!added)
        error_set_memory(error, "figures of a model", 0);
    char *path = text ? path_of(figures->key, error) : NULL;
    const bool written = path && user_path_make_cache_folder(path, error) &&
                         file_write(path, text, strlen(text), true, error);
    free(path);
    free(text);
    json_free(root);
    return written;
}

/* --- facts --- */

static size_t count_linear(const struct graph *graph)
{
    size_t parameters = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op && strcmp(graph->nodes[i].op->name, "linear") == 0)
            parameters += graph_node_parameter_count(graph, i);
    return parameters;
}

static bool describe(struct model_description *facts, const char *path, struct error *error)
{
    struct model model = {0};
    const bool described = model_file_describe(&model, path, error);
    if (described) {
        const struct network *network = model.network;
        network_full_name(network, facts->name, sizeof facts->name);
        snprintf(facts->technique, sizeof facts->technique, "%s",
                 technique_name(network->technique));
        facts->parameters = graph_parameter_count(&network->graph);
        facts->linear_parameters = count_linear(&network->graph);
        facts->classes = network->classes;
        facts->flops = graph_flops(&network->graph);
        snprintf(facts->checksum, sizeof facts->checksum, "%s", model.checksum);
        snprintf(facts->parent, sizeof facts->parent, "%s", model.parent);
    }
    model_free(&model);
    return described;
}

/* Computes the checksum of a file, unless the cache knows it. */
static bool read_checksum(struct checksum_cache *cache, const char *path, uint32_t *crc32,
                          uint64_t *bytes, struct error *error)
{
    struct checksum_stamp stamp = {0};
    const bool stamped = checksum_stamp_read(&stamp, path);
    *bytes = stamp.bytes;
    if (stamped && checksum_cache_find(cache, path, &stamp, crc32)) {
        checksum_cache_add(cache, path, &stamp, *crc32);
        return true;
    }
    FILE *file = file_open_stream(path, error);
    unsigned char *block = file ? memory_new(BLOCK, 1, path, error) : NULL;
    uLong sum = crc32_z(0, NULL, 0);
    *bytes = 0;
    for (size_t read; block && (read = fread(block, 1, BLOCK, file)) > 0; *bytes += read)
        sum = crc32_z(sum, block, read);
    const bool complete = block && !ferror(file);
    if (block && !complete)
        error_set_errno(error, path, "copy it once more", "it cannot be read");
    *crc32 = (uint32_t)sum;
    free(block);
    if (file)
        fclose(file);
    if (complete && stamped && *bytes == stamp.bytes)
        checksum_cache_add(cache, path, &stamp, *crc32);
    return complete;
}

/* Stores the facts of a file that had none, unless another process has done so meanwhile. Without
 * them the file is only read again. */
static void store_facts(struct model_figures *figures)
{
    const struct model_description facts = figures->facts;
    const int lock = lock_figures(NULL);
    if (lock < 0)
        return;
    if (!read_file(figures) || figures->facts.bytes != facts.bytes) {
        model_figures_free(figures);
        figures->facts = facts;
        write_file(figures, NULL);
    }
    close(lock);
}

struct checksum_cache *model_figures_cache(void)
{
    return checksum_cache_open("models");
}

bool model_figures_read(struct model_figures *figures, struct checksum_cache *cache,
                        const char *path, struct error *error)
{
    uint32_t crc32 = 0;
    uint64_t bytes = 0;
    *figures = (struct model_figures){0};
    if (!read_checksum(cache, path, &crc32, &bytes, error))
        return false;
    snprintf(figures->key, sizeof figures->key, "%08" PRIx32 "-%" PRIx64, crc32, bytes);
    if (read_file(figures) && figures->facts.bytes == bytes)
        return true;
    model_figures_free(figures);
    figures->facts = (struct model_description){.bytes = bytes};
    if (!describe(&figures->facts, path, error))
        return false;
    store_facts(figures);
    return true;
}

void model_figures_free(struct model_figures *figures)
{
    free(figures->measured);
    figures->measured = NULL;
    figures->count = figures->capacity = 0;
    free(figures->pairs);
    figures->pairs = NULL;
    figures->pair_count = figures->pair_capacity = 0;
}

/* --- entries --- */

static uint32_t sum_text(uint32_t sum, const char *text)
{
    return (uint32_t)crc32_z(sum, (const unsigned char *)text, strlen(text));
}

/* Returns a checksum of the name, the size and the times of a file; 0 if there is none. */
static uint32_t sum_entry(const char *path)
{
    char line[64];
    struct stat status;
    if (stat(path, &status) != 0)
        return 0;
    snprintf(line, sizeof line, " %lld %lld.%09ld",
             S_ISDIR(status.st_mode) ? 0LL : (long long)status.st_size,
             (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    return sum_text(sum_text(0, path), line);
}

/* Returns the sum of the entries of a folder, which does not depend on their order. */
static uint32_t sum_folder(const char *path)
{
    uint32_t sum = sum_entry(path);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char *inner = entry->d_name[0] == '.' ? NULL : file_join(path, entry->d_name);
        if (inner)
            sum += sum_entry(inner);
        free(inner);
    }
    if (directory)
        closedir(directory);
    return sum;
}

char *model_data_key(const char *spec, char key[MODEL_DATA_KEY])
{
    char absolute[MODEL_SPEC], path[MODEL_SPEC], version[24];
    if (!config_absolute_value(KEY(data), spec, absolute, sizeof absolute, NULL))
        snprintf(absolute, sizeof absolute, "%s", spec);
    snprintf(version, sizeof version, "%d", GENERATOR_VERSION);
    uint32_t sum = sum_text(sum_text(0, absolute), version);
    const char *colon = strchr(absolute, ':');
    if (colon) {
        snprintf(path, sizeof path, "%s", colon + 1);
        path[strcspn(path, ",")] = '\0';
        sum += file_is_directory(path) ? sum_folder(path) : sum_entry(path);
    }
    snprintf(key, MODEL_DATA_KEY, "%08" PRIx32, sum);
    return key;
}

static bool is_same(const struct model_measured *a, const struct model_measured *b)
{
    return strcmp(a->data_key, b->data_key) == 0 && measured_on_same(&a->on, &b->on);
}

const struct model_measured *model_figures_find(const struct model_figures *figures,
                                                const char *data_key, const char *device,
                                                size_t threads)
{
    if (figures->count == 0)
        return NULL;
    const struct measured_on here = measured_on_here(device, threads);
    for (size_t i = figures->count; i-- > 0;) {
        const struct model_measured *entry = &figures->measured[i];
        if (strcmp(entry->data_key, data_key) == 0 && measured_on_is(&entry->on, &here))
            return entry;
    }
    return NULL;
}

const struct model_measured *model_figures_times(const struct model_figures *figures,
                                                 const char *device, size_t threads)
{
    if (figures->count == 0)
        return NULL;
    const struct measured_on here = measured_on_here(device, threads);
    for (size_t i = figures->count; i-- > 0;) {
        const struct model_measured *entry = &figures->measured[i];
        if (isfinite(entry->ms) && measured_on_is(&entry->on, &here))
            return entry;
    }
    return NULL;
}

const struct model_pair *model_figures_pair(const struct model_figures *figures, const char *origin,
                                            const char *device, size_t threads)
{
    if (figures->pair_count == 0)
        return NULL;
    const struct measured_on here = measured_on_here(device, threads);
    for (size_t i = figures->pair_count; i-- > 0;) {
        const struct model_pair *pair = &figures->pairs[i];
        if (strcmp(pair->origin, origin) == 0 && measured_on_is(&pair->turns.on, &here))
            return pair;
    }
    return NULL;
}

const struct model_measured *model_figures_latest(const struct model_figures *figures)
{
    return figures->count > 0 ? &figures->measured[figures->count - 1] : NULL;
}

/* Replaces or adds an entry. The figures are locked. */
static bool put_measured(struct model_figures *figures, const struct model_measured *measured,
                         struct error *error)
{
    const struct model_measured added = *measured; /* it may be an entry of `figures` itself */
    read_file(figures); /* another process may have stored figures meanwhile */
    size_t kept = 0;
    for (size_t i = 0; i < figures->count; i++)
        if (!is_same(&figures->measured[i], &added))
            figures->measured[kept++] = figures->measured[i];
    figures->count = kept;
    if (!memory_grow(&figures->measured, &figures->capacity, kept + 1, sizeof *figures->measured,
                     "figures of a model", error))
        return false;
    figures->measured[figures->count++] = added;
    return write_file(figures, error);
}

bool model_figures_put(struct model_figures *figures, const struct model_measured *measured,
                       struct error *error)
{
    const int lock = lock_figures(error);
    const bool put = lock >= 0 && put_measured(figures, measured, error);
    if (lock >= 0)
        close(lock);
    return put;
}

/* Replaces or adds a pair. The figures are locked. */
static bool put_pair(struct model_figures *figures, const struct model_pair *pair,
                     struct error *error)
{
    const struct model_pair added = *pair;
    read_file(figures);
    size_t kept = 0;
    for (size_t i = 0; i < figures->pair_count; i++) {
        const struct model_pair *old = &figures->pairs[i];
        if (strcmp(old->origin, added.origin) != 0 ||
            !measured_on_same(&old->turns.on, &added.turns.on))
            figures->pairs[kept++] = *old;
    }
    figures->pair_count = kept;
    return add_pair(figures, &added, error) && write_file(figures, error);
}

bool model_figures_put_pair(struct model_figures *figures, const struct model_pair *pair,
                            struct error *error)
{
    const int lock = lock_figures(error);
    const bool put = lock >= 0 && put_pair(figures, pair, error);
    if (lock >= 0)
        close(lock);
    return put;
}
