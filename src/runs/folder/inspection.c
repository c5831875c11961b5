/* Each structure has a table of its members, with which it is written and read. */
#include "runs/folder/inspection.h"

#include "base/language.h"
#include "base/memory.h"
#include "runs/folder/run_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- values --- */

static void free_network(struct inspection_network *network)
{
    free(network->layers);
    free(network->gemm);
    free(network->tensors);
}

void inspection_free(struct inspection *inspection)
{
    if (!inspection)
        return;
    for (size_t i = 0; i < INSPECTION_NETWORKS; i++)
        free_network(&inspection->networks[i]);
    for (size_t i = 0; i < INSPECTION_NETWORKS + 1; i++)
        free(inspection->arenas[i].arrays);
    free(inspection);
}

double inspection_update_ratio(const struct inspection_tensor *tensor)
{
    return tensor->norm > 0 ? tensor->update_norm / tensor->norm : NAN;
}

double inspection_gflops(const struct inspection_layer *layer)
{
    double flops = layer->forward_flops + layer->backward_flops;
    double seconds = layer->forward_seconds + layer->backward_seconds;
    return flops > 0 && seconds > 0 ? flops / seconds * 1e-9 : NAN;
}

/* --- tables of members --- */

static const char file_name[] = "profile.json";
enum { FILE_LIMIT = 64 << 20 };

enum member_kind { MEMBER_TEXT, MEMBER_COUNT, MEMBER_NUMBER, MEMBER_BOOL };

struct member {
    const char *key;
    enum member_kind kind;
    size_t offset, size;
};

#define MEMBER(type, kind, member)                                                                 \
    {                                                                                              \
#member, MEMBER_##kind, offsetof(struct type, member), sizeof(((struct type *)0)->member)  \
    }

static const struct member whole_members[] = {MEMBER(inspection, COUNT, iteration),
                                              MEMBER(inspection, COUNT, iterations),
                                              MEMBER(inspection, COUNT, images),
                                              MEMBER(inspection, COUNT, threads),
                                              MEMBER(inspection, NUMBER, seconds),
                                              MEMBER(inspection, NUMBER, cost),
                                              {0}};

/* Only of an inspection in which CUDA graphs were refused. */
static const struct member refusal_members[] = {MEMBER(inspection, TEXT, graph_refused),
                                                MEMBER(inspection, COUNT, graphs_refused),
                                                MEMBER(inspection, COUNT, passes_without_graph),
                                                {0}};

static const struct member layer_members[] = {MEMBER(inspection_layer, TEXT, name),
                                              MEMBER(inspection_layer, TEXT, op),
                                              MEMBER(inspection_layer, TEXT, kernel),
                                              MEMBER(inspection_layer, TEXT, choice),
                                              MEMBER(inspection_layer, COUNT, memory_bytes),
                                              MEMBER(inspection_layer, NUMBER, forward_seconds),
                                              MEMBER(inspection_layer, NUMBER, backward_seconds),
                                              MEMBER(inspection_layer, NUMBER, forward_flops),
                                              MEMBER(inspection_layer, NUMBER, backward_flops),
                                              {0}};

static const struct member tensor_members[] = {MEMBER(inspection_tensor, TEXT, name),
                                               MEMBER(inspection_tensor, COUNT, count),
                                               MEMBER(inspection_tensor, COUNT, rank),
                                               MEMBER(inspection_tensor, BOOL, learnable),
                                               MEMBER(inspection_tensor, NUMBER, mean),
                                               MEMBER(inspection_tensor, NUMBER, deviation),
                                               MEMBER(inspection_tensor, NUMBER, low),
                                               MEMBER(inspection_tensor, NUMBER, high),
                                               MEMBER(inspection_tensor, NUMBER, norm),
                                               MEMBER(inspection_tensor, NUMBER, gradient_norm),
                                               MEMBER(inspection_tensor, NUMBER, update_norm),
                                               {0}};

static const struct member array_members[] = {
    MEMBER(inspection_array, TEXT, name),   MEMBER(inspection_array, COUNT, offset),
    MEMBER(inspection_array, COUNT, bytes), MEMBER(inspection_array, COUNT, first),
    MEMBER(inspection_array, COUNT, last),  {0}};

static const struct member arena_members[] = {MEMBER(inspection_arena, TEXT, name),
                                              MEMBER(inspection_arena, COUNT, steps),
                                              MEMBER(inspection_arena, COUNT, bytes),
                                              MEMBER(inspection_arena, COUNT, workspace),
                                              {0}};

static const struct member network_members[] = {MEMBER(inspection_network, TEXT, name), {0}};

static const char *const array_kinds[] = {"value", "gradient", "saved", "value again"};

/* --- members --- */

static bool add_member(struct json *object, const struct member *member, const char *at)
{
    uint64_t count;
    double number;
    bool flag;
    switch (member->kind) {
    case MEMBER_TEXT:
        return json_add_string(object, member->key, at);
    case MEMBER_COUNT:
        memcpy(&count, at, sizeof count);
        return json_add_count(object, member->key, count);
    case MEMBER_NUMBER:
        memcpy(&number, at, sizeof number);
        return json_add_number(object, member->key, number);
    default:
        memcpy(&flag, at, sizeof flag);
        return json_add_bool(object, member->key, flag);
    }
}

static bool add_members(struct json *object, const struct member *members, const void *base)
{
    bool added = object;
    for (; added && members->key; members++)
        added = add_member(object, members, (const char *)base + members->offset);
    return added;
}

/* Reads null as NaN, since JSON has no NaN. */
static bool read_number(const struct json *value, double *number)
{
    *number = NAN;
    return value && (json_is_null(value) || json_number(value, number));
}

static bool read_member(const struct json *value, const struct member *member, char *at)
{
    const char *text = json_string(value);
    double number;
    size_t count;
    bool flag;
    if (member->kind == MEMBER_TEXT && text)
        snprintf(at, member->size, "%s", text);
    else if (member->kind == MEMBER_COUNT && value && json_count(value, &count))
        memcpy(at, &(uint64_t){count}, sizeof(uint64_t));
    else if (member->kind == MEMBER_NUMBER && read_number(value, &number))
        memcpy(at, &number, sizeof number);
    else if (member->kind == MEMBER_BOOL && value && json_bool(value, &flag))
        memcpy(at, &flag, sizeof flag);
    else
        return false;
    return true;
}

static bool read_members(const struct json *object, const struct member *members, void *base)
{
    for (; members->key; members++)
        if (!read_member(json_member(object, members->key), members,
                         (char *)base + members->offset))
            return false;
    return true;
}

/* --- writing --- */

static bool add_layer(struct json *list, const struct inspection_layer *layer)
{
    struct json *object = json_add_object(list, NULL);
    bool added = add_members(object, layer_members, layer);
    struct json *shape = json_add_array(object, "output");
    return added && json_add_count(shape, NULL, layer->output.channels) &&
           json_add_count(shape, NULL, layer->output.height) &&
           json_add_count(shape, NULL, layer->output.width);
}

static bool add_gemm(struct json *list, const struct gemm_row *row)
{
    struct json *object = json_add_object(list, NULL);
    bool added = json_add_string(object, "kind", gemm_kind_name(row->kind));
    struct json *shape = json_add_array(object, "shape");
    return added && json_add_count(shape, NULL, row->m) && json_add_count(shape, NULL, row->n) &&
           json_add_count(shape, NULL, row->k) && json_add_count(object, "calls", row->calls) &&
           json_add_number(object, "seconds", row->seconds);
}

static bool add_profile(struct json *object, const struct inspection_network *network)
{
    struct json *layers = json_add_array(object, "layers");
    bool added = layers;
    for (size_t i = 0; i < network->layer_count; i++)
        added = added && add_layer(layers, &network->layers[i]);
    struct json *gemm = json_add_array(object, "gemm");
    for (size_t i = 0; i < network->gemm_count; i++)
        added = added && add_gemm(gemm, &network->gemm[i]);
    return added && gemm;
}

static bool add_tensor(struct json *list, const struct inspection_tensor *tensor)
{
    struct json *object = json_add_object(list, NULL);
    bool added = add_members(object, tensor_members, tensor);
    struct json *bins = json_add_array(object, "histogram");
    for (size_t i = 0; i < INSPECTION_BINS; i++)
        added = added && json_add_count(bins, NULL, tensor->histogram[i]);
    return added;
}

static bool add_network(struct json *list, const struct inspection_network *network)
{
    struct json *object = json_add_object(list, NULL);
    bool added = add_members(object, network_members, network) && add_profile(object, network);
    struct json *tensors = json_add_array(object, "weights");
    for (size_t i = 0; i < network->tensor_count; i++)
        added = added && add_tensor(tensors, &network->tensors[i]);
    return added && tensors;
}

static bool add_arena(struct json *list, const struct inspection_arena *arena)
{
    struct json *object = json_add_object(list, NULL);
    bool added =
        add_members(object, arena_members, arena) && json_add_count(object, "times", arena->times);
    struct json *arrays = json_add_array(object, "arrays");
    for (size_t i = 0; i < arena->array_count; i++) {
        struct json *array = json_add_object(arrays, NULL);
        added = added && json_add_string(array, "kind", array_kinds[arena->arrays[i].kind]) &&
                add_members(array, array_members, &arena->arrays[i]);
    }
    return added && arrays;
}

struct json *inspection_to_json(const struct inspection *inspection)
{
    struct json *root = json_new_object();
    bool added =
        json_add_string(root, "format", "tinca-profile") && json_add_count(root, "version", 1) &&
        add_members(root, whole_members, inspection) &&
        (!inspection->graph_refused[0] || add_members(root, refusal_members, inspection)) &&
        json_add_bool(root, "after_end", inspection->after_end);
    struct json *networks = json_add_array(root, "networks");
    for (size_t i = 0; i < inspection->network_count; i++)
        added = added && add_network(networks, &inspection->networks[i]);
    struct json *arenas = json_add_array(root, "arenas");
    for (size_t i = 0; i < inspection->arena_count; i++)
        added = added && add_arena(arenas, &inspection->arenas[i]);
    if (added && arenas)
        return root;
    json_free(root);
    return NULL;
}

struct json *inspection_profile(const struct inspection *inspection)
{
    struct json *root = json_new_object();
    bool added = json_add_count(root, "iteration", inspection->iteration) &&
                 json_add_count(root, "iterations", inspection->iterations) &&
                 json_add_number(root, "seconds", inspection->seconds) &&
                 add_profile(root, &inspection->networks[0]);
    if (added && inspection->network_count > 1)
        added = add_profile(json_add_object(root, "discriminator"), &inspection->networks[1]);
    if (added)
        return root;
    json_free(root);
    return NULL;
}

/* --- reading --- */

struct reader {
    const struct json_document *document;
    struct error *error;
};

static bool refuse(const struct reader *reader, const struct json *value)
{
    return error_set(reader->error, ERROR_INPUT, reader->document->name,
                     "delete the file; the next inspection of the run writes it",
                     "line %zu is not what a profile says", json_line(reader->document, value));
}

/* Reads an array of `count` numbers. */
static bool read_counts(const struct json *array, uint64_t *counts, size_t count)
{
    const struct json *item = json_first(array);
    for (size_t i = 0; i < count; i++, item = json_next(item)) {
        size_t value;
        if (!item || !json_count(item, &value))
            return false;
        counts[i] = value;
    }
    return !item;
}

static bool read_layer(const struct json *object, void *item)
{
    struct inspection_layer *layer = item;
    uint64_t shape[3];
    if (!read_members(object, layer_members, layer) ||
        !read_counts(json_member(object, "output"), shape, 3))
        return false;
    layer->output = (struct shape){shape[0], shape[1], shape[2]};
    return true;
}

static bool read_gemm(const struct json *object, void *item)
{
    struct gemm_row *row = item;
    const char *kind = json_string(json_member(object, "kind"));
    const struct json *calls = json_member(object, "calls");
    uint64_t shape[3];
    size_t count;
    for (row->kind = GEMM_NN; kind && row->kind <= GEMM_TN; row->kind++)
        if (strcmp(gemm_kind_name(row->kind), kind) == 0)
            break;
    if (!kind || row->kind > GEMM_TN || !read_counts(json_member(object, "shape"), shape, 3) ||
        !calls || !json_count(calls, &count) ||
        !read_number(json_member(object, "seconds"), &row->seconds))
        return false;
    row->m = shape[0], row->n = shape[1], row->k = shape[2];
    row->calls = count;
    return true;
}

static bool read_tensor(const struct json *object, void *item)
{
    struct inspection_tensor *tensor = item;
    return read_members(object, tensor_members, tensor) &&
           read_counts(json_member(object, "histogram"), tensor->histogram, INSPECTION_BINS);
}

static bool read_array(const struct json *object, void *item)
{
    struct inspection_array *array = item;
    const char *kind = json_string(json_member(object, "kind"));
    for (size_t k = 0; kind && k <= PLAN_SAVED; k++)
        if (strcmp(array_kinds[k], kind) == 0) {
            array->kind = (enum plan_array_kind)k;
            return read_members(object, array_members, array) && array->first <= array->last;
        }
    return false;
}

/* Reads a list of objects into a new array of items of `size` bytes; returns NULL if one is
 * invalid. */
static void *read_list(const struct reader *reader, const struct json *list, size_t size,
                       bool (*read)(const struct json *object, void *item), size_t *count)
{
    char *items = memory_new(json_length(list), size, "the profile", reader->error);
    if (!items)
        return NULL;
    for (const struct json *object = json_first(list); object; object = json_next(object))
        if (!read(object, items + (*count)++ * size)) {
            refuse(reader, object);
            free(items);
            return NULL;
        }
    return items;
}

static bool read_network(const struct reader *reader, const struct json *object,
                         struct inspection_network *network)
{
    if (!read_members(object, network_members, network))
        return refuse(reader, object);
    network->layers = read_list(reader, json_member(object, "layers"), sizeof *network->layers,
                                read_layer, &network->layer_count);
    if (network->layers)
        network->gemm = read_list(reader, json_member(object, "gemm"), sizeof *network->gemm,
                                  read_gemm, &network->gemm_count);
    if (network->gemm)
        network->tensors = read_list(reader, json_member(object, "weights"),
                                     sizeof *network->tensors, read_tensor, &network->tensor_count);
    return network->tensors;
}

/* Checks what the views rely on. */
static bool lies_inside(const struct inspection_arena *arena)
{
    for (size_t i = 0; i < arena->array_count; i++) {
        const struct inspection_array *array = &arena->arrays[i];
        if (array->last > arena->times || array->offset > arena->bytes ||
            array->bytes > arena->bytes - array->offset)
            return false;
    }
    return arena->workspace <= arena->bytes;
}

static bool read_arena(const struct reader *reader, const struct json *object,
                       struct inspection_arena *arena)
{
    size_t times;
    if (!read_members(object, arena_members, arena))
        return refuse(reader, object);
    /* older files do not have it: every step ran twice then */
    arena->times = json_count(json_member(object, "times"), &times) ? times : 2 * arena->steps;
    arena->arrays = read_list(reader, json_member(object, "arrays"), sizeof *arena->arrays,
                              read_array, &arena->array_count);
    return arena->arrays && (lies_inside(arena) || refuse(reader, object));
}

static bool is_measured(const struct inspection *inspection)
{
    return inspection->iterations > 0 && inspection->threads > 0 && inspection->seconds > 0;
}

static bool read_whole(const struct reader *reader, struct inspection *inspection)
{
    const struct json *root = reader->document->root;
    const char *format = json_string(json_member(root, "format"));
    if (!format || strcmp(format, "tinca-profile") != 0 ||
        !read_members(root, whole_members, inspection) || !is_measured(inspection))
        return refuse(reader, root);
    const struct json *after_end = json_member(root, "after_end"); /* older files have none */
    if (after_end && !json_bool(after_end, &inspection->after_end))
        return refuse(reader, root);
    if (json_member(root, "graph_refused") && !read_members(root, refusal_members, inspection))
        return refuse(reader, root);
    const struct json *object = json_first(json_member(root, "networks"));
    for (; object && inspection->network_count < INSPECTION_NETWORKS; object = json_next(object))
        if (!read_network(reader, object, &inspection->networks[inspection->network_count++]))
            return false;
    object = json_first(json_member(root, "arenas"));
    for (; object && inspection->arena_count <= INSPECTION_NETWORKS; object = json_next(object))
        if (!read_arena(reader, object, &inspection->arenas[inspection->arena_count++]))
            return false;
    return inspection->network_count > 0 || refuse(reader, root);
}

struct inspection *inspection_from_json(const struct json_document *document, struct error *error)
{
    const struct reader reader = {document, error};
    struct inspection *inspection = memory_new(1, sizeof *inspection, "the profile", error);
    if (!inspection || read_whole(&reader, inspection))
        return inspection;
    inspection_free(inspection);
    return NULL;
}

/* --- profile.json --- */

bool inspection_save(const struct inspection *inspection, const char *directory,
                     struct error *error)
{
    struct json *tree = inspection_to_json(inspection);
    return run_json_write(directory, file_name, tree, tree, error);
}

struct inspection *inspection_load(const char *directory, struct error *error)
{
    struct json_document document;
    struct inspection *inspection = NULL;
    *error = (struct error){0};
    if (!run_json_open(&document, directory, file_name, FILE_LIMIT, N_("delete it"), error))
        return NULL;
    if (document.root)
        inspection = inspection_from_json(&document, error);
    json_document_free(&document);
    return inspection;
}
