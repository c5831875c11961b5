/* Two lists describe a checkpoint: the arrays, which depend on the network, and the numbers, a
 * table of members of struct trainer. Writing and reading use the same lists. */
#include "session/training/checkpoint.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/weights/weights_average.h"
#include "session/files/checkpoint_position.h"
#include "session/files/computed_with.h"
#include "session/training/energy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char last_name[] = "checkpoint.safetensors";
static const char previous_name[] = "checkpoint.previous.safetensors";
static const char format[] = "tinca-checkpoint-1";

enum { NAME_SIZE = 112, NUMBER_SIZE = 32, KEY_SIZE = 48, STATES = 2 };

/* --- arrays --- */

struct list {
    struct safetensors_array *arrays;
    char (*names)[NAME_SIZE];
    size_t count;
};

static void add(struct list *list, const char *prefix, const struct parameter *parameter,
                const float *values)
{
    struct safetensors_array *array = &list->arrays[list->count];
    snprintf(list->names[list->count], NAME_SIZE, "%s%s", prefix, parameter->name);
    *array = (struct safetensors_array){.name = list->names[list->count],
                                        .type = SAFETENSORS_F32,
                                        .rank = parameter->rank,
                                        .data = values + parameter->offset};
    memcpy(array->dims, parameter->dims, sizeof array->dims);
    list->count++;
}

static void add_network(struct list *list, const struct method_network *network)
{
    char full[32];
    const struct graph *graph = network->weights->graph;
    for (size_t p = 0; p < graph->parameter_count; p++)
        add(list, network->prefix, &graph->parameters[p], network->weights->values);
    for (size_t i = 0; i < STATES; i++) {
        const float *state = execution_solver_state(network->execution, i);
        snprintf(full, sizeof full, "%ssolver.%zu.", network->prefix, i);
        for (size_t p = 0; state && p < graph->parameter_count; p++)
            if (graph->parameters[p].learnable)
                add(list, full, &graph->parameters[p], state);
    }
}

/* Adds the averaged weights, if there are some. Running statistics are those of the weights. */
static void add_average(struct list *list, const struct weights *average)
{
    for (size_t p = 0; average->values && p < average->graph->parameter_count; p++)
        if (average->graph->parameters[p].learnable)
            add(list, "average.", &average->graph->parameters[p], average->values);
}

static void free_list(struct list *list)
{
    free(list->arrays);
    free(list->names);
}

static bool make_list(const struct trainer *trainer, struct list *list, struct error *error)
{
    const struct preparation *prepared = &trainer->prepared;
    struct method_network networks[METHOD_NETWORKS];
    const size_t count = method_networks(&prepared->method, networks);
    size_t most = prepared->weights.graph->parameter_count + 1;
    for (size_t i = 0; i < count; i++)
        most += (1 + STATES) * networks[i].weights->graph->parameter_count;
    *list = (struct list){.arrays = memory_new(most, sizeof *list->arrays, "a checkpoint", error),
                          .names = memory_new(most, sizeof *list->names, "a checkpoint", error)};
    if (!list->arrays || !list->names) {
        free_list(list);
        return false;
    }
    add_network(list, &networks[0]);
    add_average(list, &prepared->average);
    for (size_t i = 1; i < count; i++)
        add_network(list, &networks[i]);
    list->arrays[list->count++] = (struct safetensors_array){.name = "loss_window",
                                                             .type = SAFETENSORS_F32,
                                                             .rank = 1,
                                                             .dims = {trainer->meter.size},
                                                             .data = trainer->meter.window};
    return true;
}

uint64_t checkpoint_bytes(const struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    const struct memory_forecast *forecast = &prepared->forecast.memory;
    return forecast->weights * (prepared->average.values ? 2 : 1) + forecast->solver +
           trainer->meter.size * sizeof(float);
}

/* --- numbers --- */

enum kind { COUNT, NUMBER, REAL, FLAG };

struct place {
    const char *key;
    enum kind kind;
    size_t offset;
    bool added; /* checkpoints of earlier versions do not have it */
};

#define PLACE(kind, key, member)                                                                   \
    {                                                                                              \
        key, kind, offsetof(struct trainer, member), false                                         \
    }
#define ADDED_PLACE(kind, key, member)                                                             \
    {                                                                                              \
        key, kind, offsetof(struct trainer, member), true                                          \
    }

static const struct place places[] = {
    PLACE(COUNT, "iteration", moment.iteration),
    PLACE(NUMBER, "epoch", moment.epoch),
    PLACE(COUNT, "journal", run_journal),
    PLACE(COUNT, "per_epoch", data_counts.per_epoch),
    PLACE(COUNT, "images", data_counts.images),
    PLACE(COUNT, "validation_images", data_counts.validation_images),
    PLACE(COUNT, "losses_seen", meter.seen),
    PLACE(REAL, "loss_caffe", meter.caffe),
    PLACE(NUMBER, "loss_mean", meter.exact),
    PLACE(NUMBER, "epoch_loss", epoch_loss),
    PLACE(COUNT, "epoch_iterations", epoch_iterations),
    PLACE(FLAG, "epoch_end_due", epoch_end_due),
    PLACE(NUMBER, "schedule.best_loss", lr_schedule_state.best_loss),
    PLACE(COUNT, "schedule.stale_epochs", lr_schedule_state.stale_epochs),
    PLACE(COUNT, "schedule.plateaus_seen", lr_schedule_state.plateaus_seen),
    PLACE(NUMBER, "schedule.scale", lr_schedule_state.scale),
    PLACE(FLAG, "schedule.ended", ended),
    PLACE(FLAG, "has_best", has_best),
    PLACE(NUMBER, "best", best),
    PLACE(REAL, "watcher.largest_loss", watcher.largest_loss),
    PLACE(FLAG, "watcher.negative", watcher.negative_reported),
    PLACE(FLAG, "watcher.residue", watcher.residue_reported),
    PLACE(FLAG, "watcher.overfitting", watcher.overfitting_reported),
    PLACE(FLAG, "watcher.memory", watcher.memory_reported),
    PLACE(FLAG, "watcher.validation", watcher.validation_reported),
    PLACE(COUNT, "watcher.skipped", watcher.skipped),
    PLACE(FLAG, "has_validation", now.has_validation),
    PLACE(NUMBER, "validation_loss", now.validation_loss),
    PLACE(NUMBER, "top1", now.top1),
    PLACE(NUMBER, "top5", now.top5),
    PLACE(NUMBER, "best_top1", now.best_top1),
    PLACE(NUMBER, "pixel_accuracy", now.pixel_accuracy),
    ADDED_PLACE(NUMBER, "best_validation_loss", now.best_validation_loss),
    PLACE(COUNT, "validations", validations),
    PLACE(NUMBER, "validation_seconds", validation_seconds),
    PLACE(COUNT, "sampled", sample_iteration),
    PLACE(NUMBER, "seconds", run_seconds),
    PLACE(NUMBER, "feed_wait_seconds", now.feed_wait_seconds),
    PLACE(COUNT, "checkpoints", now.checkpoints),
    PLACE(NUMBER, "checkpoint_seconds", now.checkpoint_seconds),
    ADDED_PLACE(REAL, "loss_scale", counters.loss_scales[0].scale),
    ADDED_PLACE(COUNT, "loss_scale.steps", counters.loss_scales[0].steps),
    ADDED_PLACE(COUNT, "loss_scale.skipped", counters.loss_scales[0].skipped),
    ADDED_PLACE(REAL, "discriminator_scale", counters.loss_scales[1].scale),
    ADDED_PLACE(COUNT, "discriminator_scale.steps", counters.loss_scales[1].steps),
    ADDED_PLACE(COUNT, "discriminator_scale.skipped", counters.loss_scales[1].skipped),
    ADDED_PLACE(NUMBER, "energy_joules", now.energy_joules),
    ADDED_PLACE(NUMBER, "energy_seconds", now.energy_seconds),
    ADDED_PLACE(NUMBER, "energy_images", now.energy_images),
    ADDED_PLACE(NUMBER, "early_stopping.best", early_stopping_state.best),
    ADDED_PLACE(COUNT, "early_stopping.stale", early_stopping_state.stale),
    PLACE(COUNT, "solver_step", counters.steps[0]),
    PLACE(COUNT, "discriminator_step", counters.steps[1])};
enum { PLACES = sizeof places / sizeof *places };
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are kept in 64 bits");

/* Prints a number such that it reads back exactly (%.17g, %.9g), infinity and NaN included. */
static void print_number(const struct place *place, const void *base, char *text)
{
    const void *from = (const char *)base + place->offset;
    switch (place->kind) {
    case COUNT:
        snprintf(text, NUMBER_SIZE, "%" PRIu64, *(const uint64_t *)from);
        break;
    case NUMBER:
        snprintf(text, NUMBER_SIZE, "%.17g", *(const double *)from);
        break;
    case REAL:
        snprintf(text, NUMBER_SIZE, "%.9g", (double)*(const float *)from);
        break;
    case FLAG:
        snprintf(text, NUMBER_SIZE, "%d", *(const bool *)from);
        break;
    }
}

/* Parses a number; unlike text_to_double it accepts "inf" and "nan". */
static bool parse_double(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

static bool parse_number(const struct place *place, const char *text, void *base)
{
    uint64_t count = 0;
    double number = 0;
    void *to = (char *)base + place->offset;
    bool counts = place->kind == COUNT || place->kind == FLAG;
    if (!text || !(counts ? text_to_uint64(text, &count) : parse_double(text, &number)))
        return false;
    switch (place->kind) {
    case COUNT:
        *(uint64_t *)to = count;
        break;
    case NUMBER:
        *(double *)to = number;
        break;
    case REAL:
        *(float *)to = (float)number;
        break;
    case FLAG:
        *(bool *)to = count != 0;
        break;
    }
    return true;
}

/* The metadata as safetensors_write takes it: `texts` has keys and values in turn. */
struct metadata {
    char keys[PLACES][KEY_SIZE], values[PLACES][NUMBER_SIZE];
    struct computed_with here;
    char here_keys[COMPUTED_WITH][KEY_SIZE];
    char journal_sum[NUMBER_SIZE];
    const char *texts[2 * (PLACES + COMPUTED_WITH) + 11];
};

static void fill_metadata(const struct trainer *trainer, const char *class_names,
                          struct metadata *metadata)
{
    size_t n = 0;
    metadata->texts[n++] = "tinca.format";
    metadata->texts[n++] = format;
    computed_with_here(&metadata->here, trainer->run->config.device,
                       (enum device_precision)trainer->run->config.precision);
    for (size_t i = 0; i < COMPUTED_WITH; i++) {
        snprintf(metadata->here_keys[i], KEY_SIZE, "tinca.%s", metadata->here.keys[i]);
        metadata->texts[n++] = metadata->here_keys[i];
        metadata->texts[n++] = metadata->here.values[i];
    }
    snprintf(metadata->journal_sum, NUMBER_SIZE, "%" PRIu32, trainer->run->journal.crc32);
    metadata->texts[n++] = "tinca.chosen";
    metadata->texts[n++] = trainer->chosen;
    metadata->texts[n++] = "tinca.parent";
    metadata->texts[n++] = trainer->prepared.parent;
    metadata->texts[n++] = "tinca.class_names";
    metadata->texts[n++] = class_names;
    metadata->texts[n++] = "tinca.journal_crc32";
    metadata->texts[n++] = metadata->journal_sum;
    for (size_t i = 0; i < PLACES; i++) {
        snprintf(metadata->keys[i], KEY_SIZE, "tinca.%s", places[i].key);
        print_number(&places[i], trainer, metadata->values[i]);
        metadata->texts[n++] = metadata->keys[i];
        metadata->texts[n++] = metadata->values[i];
    }
    metadata->texts[n] = NULL;
}

static bool refuse(const struct safetensors *file, const char *what, struct error *error)
{
    return error_set(error, ERROR_INPUT, file->path,
                     "go on with the version of tinca that wrote it",
                     "this checkpoint does not fit the run: %s", what);
}

/* --- writing --- */

static struct data_counts data_counts_of(const struct preparation *prepared)
{
    return (struct data_counts){
        .per_epoch = prepared->per_epoch,
        .images = dataset_facts(prepared->data)->images,
        .validation_images =
            prepared->validation ? dataset_facts(prepared->validation)->images : 0};
}

/* Copies numbers that other modules own into the members that the table names. */
static void collect_numbers(struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    energy_add(trainer);
    trainer->data_counts = data_counts_of(prepared);
    trainer->run_journal = trainer->run->journal.synced;
    trainer->run_seconds = trainer_seconds(trainer, clock_nanoseconds());
    trainer->counters = method_save(&prepared->method);
}

static void distribute_numbers(struct trainer *trainer)
{
    struct preparation *prepared = &trainer->prepared;
    method_restore(&prepared->method, &trainer->counters);
    if (prepared->average.values)
        weights_average_restore(&prepared->average, &prepared->weights);
    trainer->skip_reported = trainer->counters.loss_scales[0].skipped > 0;
    trainer->low_scale_reported = trainer->counters.loss_scales[0].scale < 1;
}

bool checkpoint_write(struct trainer *trainer, uint64_t *bytes, struct error *error)
{
    struct list list;
    if (!method_fetch(&trainer->prepared.method, error) ||
        !weights_fetch(&trainer->prepared.average, error))
        return false;
    const struct model_facts facts = prepare_model_facts(&trainer->prepared);
    struct metadata *metadata = memory_new(1, sizeof *metadata, "a checkpoint", error);
    char *class_names = metadata ? model_print_class_names(&facts, error) : NULL;
    if (!class_names || !make_list(trainer, &list, error)) {
        free(class_names);
        free(metadata);
        return false;
    }
    char *path = file_join(trainer->run->directory, last_name);
    char *previous = file_join(trainer->run->directory, previous_name);
    collect_numbers(trainer);
    fill_metadata(trainer, class_names, metadata);
    bool written = path && previous
                       ? safetensors_write_checked(path, previous, list.arrays, list.count,
                                                   metadata->texts, bytes, error)
                       : error_set_memory(error, "a path", 0);
    free(path);
    free(previous);
    free(class_names);
    free(metadata);
    free_list(&list);
    return written;
}

/* --- choosing --- */

static bool check_format(const struct safetensors *file, struct error *error)
{
    char advice[128];
    const char *written = safetensors_metadata(file, "tinca.format");
    const char *version = checkpoint_text(file, "version");
    if (written && strcmp(written, format) == 0)
        return true;
    if (!written)
        return refuse(file, "tinca.format", error);
    snprintf(advice, sizeof advice, _("resume it with tinca %.40s, which wrote it"),
             version ? version : "?");
    return error_set(error, ERROR_UNSUPPORTED, file->path, advice,
                     "its format is %.60s, but this version of tinca reads %s", written, format);
}

static bool open_whole(const char *path, struct safetensors *file, struct error *error)
{
    if (!safetensors_open(file, path, error))
        return false;
    if (!safetensors_check(file, error) || !check_format(file, error)) {
        safetensors_close(file);
        return false;
    }
    return true;
}

bool checkpoint_open(const char *directory, bool previous, struct safetensors *file,
                     struct error *error)
{
    *file = (struct safetensors){0};
    char *path = file_join(directory, previous ? previous_name : last_name);
    if (!path)
        return error_set_memory(error, "a path", 0);
    const bool opened = !file_exists(path) || open_whole(path, file, error);
    free(path);
    return opened;
}

const char *checkpoint_missing(const struct safetensors *file)
{
    const char *written = safetensors_metadata(file, "tinca.format");
    uint64_t value; /* large enough for each kind */
    if (!written || strcmp(written, format) != 0)
        return "format";
    for (size_t i = 0; i < PLACES; i++) {
        const struct place place = {.key = places[i].key, .kind = places[i].kind};
        const char *text = checkpoint_text(file, place.key);
        if (!(places[i].added && !text) && !parse_number(&place, text, &value))
            return place.key;
    }
    return NULL;
}

/* --- reading --- */

/* Reads an array of the file into the trainer's. */
static bool read_array(struct safetensors *file, const struct safetensors_array *array,
                       struct error *error)
{
    const struct safetensors_entry *entry = safetensors_find(file, array->name);
    if (!entry || entry->type != array->type || entry->rank != array->rank ||
        memcmp(entry->dims, array->dims, array->rank * sizeof *array->dims) != 0)
        return refuse(file, array->name, error);
    return safetensors_read(file, entry, (void *)array->data, error);
}

static bool read_numbers(struct trainer *trainer, const struct safetensors *file,
                         struct error *error)
{
    for (size_t i = 0; i < PLACES; i++) {
        const char *text = checkpoint_text(file, places[i].key);
        if (!(places[i].added && !text) && !parse_number(&places[i], text, trainer))
            return refuse(file, places[i].key, error);
    }
    const struct data_counts now = data_counts_of(&trainer->prepared), then = trainer->data_counts;
    if (now.per_epoch == then.per_epoch && now.images == then.images &&
        now.validation_images == then.validation_images)
        return true;
    return error_set(error, ERROR_INPUT, trainer->run->config.data,
                     "bring the images back as they were",
                     "the data has changed since: %llu and %llu images, but there were %llu and "
                     "%llu",
                     (unsigned long long)now.images, (unsigned long long)now.validation_images,
                     (unsigned long long)then.images, (unsigned long long)then.validation_images);
}

bool checkpoint_restore(struct trainer *trainer, struct safetensors *file, struct error *error)
{
    struct list list;
    if (!make_list(trainer, &list, error))
        return false;
    bool read = read_numbers(trainer, file, error);
    for (size_t i = 0; read && i < list.count; i++)
        read = read_array(file, &list.arrays[i], error);
    free_list(&list);
    if (read)
        distribute_numbers(trainer);
    return read;
}

static void remove_one(const char *directory, const char *name)
{
    char *path = file_join(directory, name);
    if (path)
        unlink(path);
    free(path);
}

void checkpoint_remove_last(const char *directory)
{
    remove_one(directory, last_name);
}

void checkpoint_remove(const char *directory)
{
    remove_one(directory, last_name);
    remove_one(directory, previous_name);
}
