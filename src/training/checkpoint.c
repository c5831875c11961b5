/* Writes and reads the checkpoints of a run, and decides when one is due.
 *
 * The arrays depend on the networks; the numbers are rows of the observers, and those of the
 * training itself are rows here. Writing and reading go through the same lists.
 *
 * A checkpoint is due by time and at the end of epochs. All checkpoints together take at most the
 * configured share of the run's time: the seconds spent so far plus the expected seconds of the
 * next one are compared with the time that the run has taken. If writing fails, the run continues,
 * the snapshot reports the error, and the next checkpoint tries once more; but a run of several
 * ranks ends, so that a cluster does not compute results that may be lost. A checkpoint is written
 * only when everything that it depends on (the journal, the best model) is on the disk. */
#include "training/checkpoint.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/folder/computed_with.h"
#include "runs/folder/run_files.h"
#include "runs/record/last_checkpoint.h"
#include "training/observer.h"

#include <assert.h>
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

struct checkpoint_arrays {
    struct safetensors_array *arrays; /* NULL: they are counted only */
    char (*names)[NAME_SIZE];
    size_t count;
    uint64_t bytes;
};

static void add_array(struct checkpoint_arrays *list, const struct safetensors_array *array,
                      const char *prefix)
{
    const size_t n = list->count++;
    list->bytes += safetensors_array_bytes(array);
    if (!list->arrays)
        return;
    snprintf(list->names[n], NAME_SIZE, "%s%s", prefix, array->name);
    list->arrays[n] = *array;
    list->arrays[n].name = list->names[n];
}

/* Adds an array of a parameter's shape, named PREFIX and the parameter's name. */
static void add_parameter(struct checkpoint_arrays *list, const char *prefix,
                          const struct parameter *parameter, const float *values)
{
    struct safetensors_array array = {.name = parameter->name,
                                      .type = SAFETENSORS_F32,
                                      .rank = parameter->rank,
                                      .data = values + parameter->offset};
    memcpy(array.dims, parameter->dims, sizeof array.dims);
    add_array(list, &array, prefix);
}

static void add_learnable(struct checkpoint_arrays *list, const char *prefix,
                          const struct graph *graph, const float *values)
{
    for (size_t p = 0; values && p < graph->parameter_count; p++)
        if (graph->parameters[p].learnable)
            add_parameter(list, prefix, &graph->parameters[p], values);
}

static void add_network(struct checkpoint_arrays *list, const struct method_network *network)
{
    char full[32];
    const struct graph *graph = network->weights->graph;
    for (size_t p = 0; p < graph->parameter_count; p++)
        add_parameter(list, network->prefix, &graph->parameters[p], network->weights->values);
    for (size_t i = 0; i < STATES; i++) {
        snprintf(full, sizeof full, "%ssolver.%zu.", network->prefix, i);
        add_learnable(list, full, graph, execution_solver_state(network->execution, i));
    }
}

static void list_arrays(const struct trainer *trainer, struct checkpoint_arrays *list)
{
    struct method_network networks[METHOD_NETWORKS];
    const size_t count = method_networks(&trainer->prepared.method, networks);
    const struct safetensors_array window = {.name = "loss_window",
                                             .type = SAFETENSORS_F32,
                                             .rank = 1,
                                             .dims = {trainer->meter.size},
                                             .data = trainer->meter.window};
    list->count = list->bytes = 0;
    for (size_t i = 0; i < count; i++)
        add_network(list, &networks[i]);
    for (size_t i = 0; trainer->states && trainer->observers[i]; i++) {
        const struct saved_arrays *saved = trainer->observers[i]->arrays;
        if (saved)
            add_learnable(list, saved->prefix, &trainer->prepared.network->graph,
                          saved->values(trainer));
    }
    add_array(list, &window, "");
}

static void free_list(struct checkpoint_arrays *list)
{
    free(list->arrays);
    free(list->names);
}

static bool make_list(const struct trainer *trainer, struct checkpoint_arrays *list,
                      struct error *error)
{
    *list = (struct checkpoint_arrays){0};
    list_arrays(trainer, list);
    list->names = memory_new(list->count, sizeof *list->names, "a checkpoint", error);
    list->arrays = memory_new(list->count, sizeof *list->arrays, "a checkpoint", error);
    if (!list->arrays || !list->names) {
        free_list(list);
        return false;
    }
    list_arrays(trainer, list);
    return true;
}

/* Returns the bytes of a checkpoint without its header. */
static uint64_t bytes_of(const struct trainer *trainer)
{
    struct checkpoint_arrays list = {0};
    list_arrays(trainer, &list);
    return list.bytes;
}

/* --- numbers --- */

struct checkpoint_state {
    uint64_t tried; /* clock_nanoseconds: the last attempt */
    bool requested; /* one must be written as soon as possible */
    double cost;    /* seconds that the last one took; 0: none yet */
};

static const struct saved_number numbers[] = {
    SAVED_OF_TRAINER(COUNT, "iteration", moment.iteration),
    SAVED_OF_TRAINER(NUMBER, "epoch", moment.epoch),
    SAVED_OF_TRAINER(COUNT, "journal", resumption.journal.length),
    SAVED_OF_TRAINER(COUNT, "per_epoch", resumption.data.per_epoch),
    SAVED_OF_TRAINER(COUNT, "images", resumption.data.images),
    SAVED_OF_TRAINER(COUNT, "validation_images", resumption.data.validation_images),
    SAVED_OF_TRAINER(COUNT, "losses_seen", meter.seen),
    SAVED_OF_TRAINER(REAL, "loss_caffe", meter.caffe),
    SAVED_OF_TRAINER(NUMBER, "loss_mean", meter.exact),
    SAVED_OF_TRAINER(NUMBER, "epoch_loss", epoch.loss),
    SAVED_OF_TRAINER(COUNT, "epoch_iterations", epoch.iterations),
    SAVED_OF_TRAINER(FLAG, "epoch_end_due", epoch.end_due),
    SAVED_OF_TRAINER(NUMBER, "schedule.best_loss", lr_schedule_state.best_loss),
    SAVED_OF_TRAINER(COUNT, "schedule.stale_epochs", lr_schedule_state.stale_epochs),
    SAVED_OF_TRAINER(COUNT, "schedule.plateaus_seen", lr_schedule_state.plateaus_seen),
    SAVED_OF_TRAINER(NUMBER, "schedule.scale", lr_schedule_state.scale),
    SAVED_OF_TRAINER(FLAG, "schedule.ended", ended),
    SAVED_OF_TRAINER(FLAG, "has_validation", now.validation.known),
    SAVED_OF_TRAINER(NUMBER, "validation_loss", now.validation.loss),
    SAVED_OF_TRAINER(NUMBER, "top1", now.validation.top1),
    SAVED_OF_TRAINER(NUMBER, "top5", now.validation.top5),
    SAVED_OF_TRAINER(NUMBER, "pixel_accuracy", now.validation.pixel_accuracy),
    ADDED_OF_TRAINER(NUMBER, "best_validation_loss", now.validation.best_loss),
    SAVED_OF_TRAINER(COUNT, "validations", validations),
    SAVED_OF_TRAINER(NUMBER, "validation_seconds", clock.validation_seconds),
    SAVED_OF_TRAINER(NUMBER, "seconds", resumption.seconds),
    SAVED_OF_TRAINER(COUNT, "checkpoints", now.checkpoint.count),
    SAVED_OF_TRAINER(NUMBER, "checkpoint_seconds", now.checkpoint.seconds),
    ADDED_OF_TRAINER(REAL, "loss_scale", resumption.counters.loss_scales[0].scale),
    ADDED_OF_TRAINER(COUNT, "loss_scale.steps", resumption.counters.loss_scales[0].steps),
    ADDED_OF_TRAINER(COUNT, "loss_scale.skipped", resumption.counters.loss_scales[0].skipped),
    ADDED_OF_TRAINER(REAL, "discriminator_scale", resumption.counters.loss_scales[1].scale),
    ADDED_OF_TRAINER(COUNT, "discriminator_scale.steps", resumption.counters.loss_scales[1].steps),
    ADDED_OF_TRAINER(COUNT, "discriminator_scale.skipped",
                     resumption.counters.loss_scales[1].skipped),
    SAVED_OF_TRAINER(COUNT, "solver_step", resumption.counters.steps[0]),
    SAVED_OF_TRAINER(COUNT, "discriminator_step", resumption.counters.steps[1]),
    {0}};
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are kept in 64 bits");

/* Visits a number that is stored at `at`. Returns false to end the iteration. */
typedef bool visit_number(void *context, const struct saved_number *number, void *at);

/* Calls `visit` for the numbers of all observers; `at` is NULL without a trainer. Returns false if
 * a visit has returned false. */
static bool visit_numbers(const struct observer *const *observers, const struct trainer *trainer,
                          visit_number *visit, void *context)
{
    for (size_t i = 0; observers[i]; i++) {
        for (const struct saved_number *n = observers[i]->numbers; n && n->key; n++) {
            char *base = !trainer ? NULL : n->of_trainer ? (char *)trainer : trainer->states[i];
            if (!visit(context, n, base ? base + n->offset : NULL))
                return false;
        }
    }
    return true;
}

/* Prints a number such that it reads back exactly (%.17g, %.9g), infinity and NaN included. */
static void print_number(enum number_kind kind, const void *from, char text[NUMBER_SIZE])
{
    switch (kind) {
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

static bool parse_number(enum number_kind kind, const char *text, void *to)
{
    uint64_t count = 0;
    double number = 0;
    const bool counts = kind == COUNT || kind == FLAG;
    if (!text || !(counts ? text_to_uint64(text, &count) : parse_double(text, &number)))
        return false;
    switch (kind) {
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

/* --- metadata --- */

enum { NUMBERS_MOST = 96, TEXTS = 5 };

/* Keys and values, as safetensors_write takes them: `texts` has them in turn. */
struct metadata {
    struct computed_with here;
    char journal_sum[NUMBER_SIZE];
    size_t numbers, count;
    char keys[NUMBERS_MOST + COMPUTED_WITH][KEY_SIZE], values[NUMBERS_MOST][NUMBER_SIZE];
    const char *texts[2 * (NUMBERS_MOST + COMPUTED_WITH + TEXTS) + 1];
};

static void add_text(struct metadata *metadata, const char *key, const char *value)
{
    metadata->texts[metadata->count++] = key;
    metadata->texts[metadata->count++] = value;
}

static bool add_number(void *context, const struct saved_number *number, void *at)
{
    struct metadata *metadata = context;
    const size_t n = metadata->numbers++;
    assert(n < NUMBERS_MOST);
    snprintf(metadata->keys[COMPUTED_WITH + n], KEY_SIZE, "tinca.%s", number->key);
    print_number(number->kind, at, metadata->values[n]);
    add_text(metadata, metadata->keys[COMPUTED_WITH + n], metadata->values[n]);
    return true;
}

static void fill_metadata(const struct trainer *trainer, const char *class_names,
                          struct metadata *metadata)
{
    const struct machine_settings *machine = &trainer->settings.machine;
    add_text(metadata, "tinca.format", format);
    computed_with_here(&metadata->here, machine->device, (enum device_precision)machine->precision);
    for (size_t i = 0; i < COMPUTED_WITH; i++) {
        snprintf(metadata->keys[i], KEY_SIZE, "tinca.%s", metadata->here.keys[i]);
        add_text(metadata, metadata->keys[i], metadata->here.values[i]);
    }
    snprintf(metadata->journal_sum, NUMBER_SIZE, "%" PRIu32, trainer->run->journal.sum);
    add_text(metadata, "tinca.chosen", trainer->chosen);
    add_text(metadata, "tinca.parent", trainer->prepared.parent);
    add_text(metadata, "tinca.class_names", class_names);
    add_text(metadata, "tinca.journal_sum", metadata->journal_sum);
    visit_numbers(trainer->observers, trainer, add_number, metadata);
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

/* Copies numbers that other modules own into the members that the tables name. */
static void collect_numbers(struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    struct resumption *resumption = &trainer->resumption;
    resumption->data = data_counts_of(prepared);
    resumption->journal.length = trainer->run->journal.synced;
    resumption->seconds = trainer_seconds(trainer, clock_nanoseconds());
    resumption->counters = method_save(&prepared->method);
    TELL_OBSERVERS(trainer, save);
}

bool checkpoint_write(struct trainer *trainer, uint64_t *bytes, struct error *error)
{
    struct checkpoint_arrays list;
    if (!method_fetch(&trainer->prepared.method, error) ||
        !weights_fetch(&trainer->prepared.derived, error))
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
    const bool written = path && previous
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

static bool refuse(const struct safetensors *file, const char *what, struct error *error)
{
    return error_set(error, ERROR_INPUT, file->path,
                     "go on with the version of tinca that wrote it",
                     "this checkpoint does not fit the run: %s", what);
}

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

static bool read_kernels(const char *directory, const char *name, struct plan_choices *choices)
{
    struct safetensors file;
    char *path = file_join(directory, name);
    bool read = path && safetensors_open(&file, path, NULL);
    if (read) {
        read = kernel_choices_read(checkpoint_text(&file, "chosen"), choices, NULL);
        safetensors_close(&file);
    }
    free(path);
    return read;
}

bool checkpoint_read_kernels(const char *directory, bool previous, struct plan_choices *choices)
{
    *choices = (struct plan_choices){0};
    return (!previous && read_kernels(directory, last_name, choices)) ||
           read_kernels(directory, previous_name, choices);
}

/* The context of read_number. */
struct number_reader {
    const struct safetensors *file;
    const char *wrong; /* the first number that is missing or is not one */
};

/* Reads a number into its place; without one, checks it only. */
static bool read_number(void *context, const struct saved_number *number, void *at)
{
    struct number_reader *reader = context;
    uint64_t value; /* large enough for each kind */
    const char *text = checkpoint_text(reader->file, number->key);
    if ((number->added && !text) || parse_number(number->kind, text, at ? at : &value))
        return true;
    reader->wrong = number->key;
    return false;
}

const char *checkpoint_find_missing(const struct safetensors *file,
                                    const struct observer *const *observers)
{
    struct number_reader reader = {.file = file};
    const char *written = safetensors_metadata(file, "tinca.format");
    if (!written || strcmp(written, format) != 0)
        return "format";
    visit_numbers(observers, NULL, read_number, &reader);
    return reader.wrong;
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
    struct number_reader reader = {.file = file};
    if (!visit_numbers(trainer->observers, trainer, read_number, &reader))
        return refuse(file, reader.wrong, error);
    const struct data_counts now = data_counts_of(&trainer->prepared);
    const struct data_counts then = trainer->resumption.data;
    if (now.per_epoch == then.per_epoch && now.images == then.images &&
        now.validation_images == then.validation_images)
        return true;
    return error_set(error, ERROR_INPUT, trainer->settings.data.data,
                     "bring the images back as they were",
                     "the data has changed since: %llu and %llu images, but there were %llu and "
                     "%llu",
                     (unsigned long long)now.images, (unsigned long long)now.validation_images,
                     (unsigned long long)then.images, (unsigned long long)then.validation_images);
}

bool checkpoint_restore(struct trainer *trainer, struct safetensors *file, struct error *error)
{
    struct checkpoint_arrays list;
    if (!make_list(trainer, &list, error))
        return false;
    bool read = read_numbers(trainer, file, error);
    for (size_t i = 0; read && i < list.count; i++)
        read = read_array(file, &list.arrays[i], error);
    free_list(&list);
    if (read) {
        method_restore(&trainer->prepared.method, &trainer->resumption.counters);
        TELL_OBSERVERS(trainer, restore);
    }
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

/* --- when they are written --- */

/* Returns the expected seconds of the next checkpoint; before the first one, at a typical speed. */
static double expected_seconds(const struct checkpoint_state *state, const struct trainer *trainer)
{
    const double pause = 0.01, bytes_per_second = 4e8;
    return state->cost > 0 ? state->cost : pause + (double)bytes_of(trainer) / bytes_per_second;
}

static bool is_affordable(const struct checkpoint_state *state, const struct trainer *trainer,
                          uint64_t now)
{
    const double share = trainer->settings.record.checkpoint_share / 100;
    return share >= 1 || trainer->now.checkpoint.seconds + expected_seconds(state, trainer) <=
                             share * trainer_seconds(trainer, now);
}

static bool is_due(const struct checkpoint_state *state, const struct trainer *trainer,
                   bool epoch_over)
{
    const uint64_t now = trainer->clock.iteration;
    const double interval = trainer->settings.record.checkpoint;
    if (state->requested)
        return true;
    const bool in_time = interval > 0 && clock_seconds(state->tried, now) >= interval;
    return (in_time || epoch_over) && is_affordable(state, trainer, now);
}

static void note_checkpoint(struct trainer *trainer, double seconds, uint64_t bytes)
{
    struct json *event = json_new_object();
    trainer->now.checkpoint.count++;
    trainer->now.checkpoint.iteration = trainer->moment.iteration;
    last_checkpoint_set(trainer->run->directory, trainer->moment.iteration);
    if (json_add_string(event, "event", "checkpoint") &&
        json_add_count(event, "iteration", trainer->moment.iteration) &&
        json_add_number(event, "seconds", seconds) && json_add_count(event, "bytes", bytes))
        journal_add_event(&trainer->run->journal, "checkpoint", event);
    else
        json_free(event);
}

static bool write_all(struct trainer *trainer, uint64_t *bytes, struct error *unsaved)
{
    struct journal *journal = &trainer->run->journal;
    if (!observers_sync(trainer, unsaved))
        return false;
    if (!journal_sync(journal)) {
        *unsaved = journal->trouble;
        return false;
    }
    return checkpoint_write(trainer, bytes, unsaved);
}

/* Writes a checkpoint now. Returns false if it cannot; refusals.unsaved says why. */
static bool write_now(struct checkpoint_state *state, struct trainer *trainer)
{
    struct cluster *cluster = trainer->run->cluster;
    struct error *unsaved = &trainer->refusals.unsaved;
    const uint64_t began = clock_nanoseconds();
    uint64_t bytes = 0;
    /* lets the other ranks notice a hang while it saves, possibly within a validation */
    const enum cluster_activity before = cluster_set_activity(cluster, CLUSTER_SAVING, 0);
    const bool written = write_all(trainer, &bytes, unsaved);
    cluster_set_activity(cluster, before, 0);
    state->tried = clock_nanoseconds();
    state->cost = clock_seconds(began, state->tried);
    state->requested = false;
    trainer_restart_clock(trainer);
    trainer->now.checkpoint.seconds += state->cost;
    if (written) {
        *unsaved = (struct error){0};
        journal_note_checkpoint(&trainer->run->journal);
        note_checkpoint(trainer, state->cost, bytes);
    }
    trainer_report_unsaved(trainer);
    trainer_publish(trainer);
    return written;
}

static void begin(void *state, struct trainer *trainer)
{
    struct checkpoint_state *checkpoint = state;
    checkpoint->tried = clock_nanoseconds();
    last_checkpoint_set(trainer->run->directory, trainer->now.checkpoint.iteration);
}

/* Returns whether the run may continue after a failed write. */
static bool tolerates_refusal(struct trainer *trainer)
{
    const struct cluster *cluster = trainer->run->cluster;
    const struct error *refusal = trainer_find_refusal(trainer);
    if (!cluster || refusal->kind == ERROR_NONE)
        return true;
    error_set(trainer->error, refusal->kind, refusal->what,
              trainer->now.checkpoint.count > 0
                  ? N_("look at the disk; tinca resume goes on from the last checkpoint")
                  : N_("look at the disk; tinca resume starts the run over"),
              "%s", refusal->why);
    return ranks_name_error(cluster, trainer->error);
}

static bool between(void *state, struct trainer *trainer, bool epoch_over)
{
    if (!trainer->stop && !trainer_is_over(trainer) && is_due(state, trainer, epoch_over) &&
        trainer_owns_folder(trainer, true))
        write_now(state, trainer);
    return tolerates_refusal(trainer);
}

/* Writes a checkpoint if the user asks for it, also within a validation and a pause, because the
 * program may end next. Before the first iteration there is nothing to save yet, and the checkpoint
 * is written after it. If writing fails, the run continues, and the snapshot has the error. */
static void obey(void *state, struct trainer *trainer, const struct commands *commands)
{
    struct checkpoint_state *checkpoint = state;
    if (commands_have(commands, COMMAND_LEARNING_RATE))
        checkpoint->requested = true; /* the journal alone does not restore the changed rate */
    if (!commands_have(commands, COMMAND_SAVE) || !trainer_owns_folder(trainer, true))
        return;
    checkpoint->requested = true;
    if (trainer->moment.iteration > 0)
        write_now(checkpoint, trainer);
    trainer_publish(trainer);
    journal_add_event(&trainer->run->journal, "save", NULL);
}

static void secure(void *state, struct trainer *trainer)
{
    if (!write_now(state, trainer))
        trainer_record_lost(trainer, &trainer->refusals.unsaved);
}

static void afterwards(void *state, struct trainer *trainer, enum run_status status)
{
    (void)state;
    (void)trainer;
    (void)status;
    last_checkpoint_set(NULL, 0);
}

const struct observer observer_checkpoint = {.name = "checkpoint",
                                             .state_bytes = sizeof(struct checkpoint_state),
                                             .numbers = numbers,
                                             .begin = begin,
                                             .between = between,
                                             .obey = obey,
                                             .secure = secure,
                                             .afterwards = afterwards};
