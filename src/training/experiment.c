/* Writes and compares the description of a run's experiment: network.json is the network as it is
 * trained, a network file of plain operators (engine/network/network_write.h); data.json lists the
 * contents of the data sets (data_fingerprint.h); provenance.json the software and hardware of a
 * new run (computed_with.h). They are written before the first iteration or, if that fails, before
 * the first checkpoint. A resumed run compares the first two with the prepared ones. */
#include "training/observer.h"

#include "base/files/file.h"
#include "base/json/json_checksum.h"
#include "base/language.h"
#include "engine/network/network_write.h"
#include "runs/folder/computed_with.h"
#include "runs/folder/run_json.h"
#include "runs/record/differences.h"
#include "runs/settings/config_paths.h"
#include "training/prepare/data_fingerprint.h"

#include <stdlib.h>
#include <string.h>

static const char network_name[] = "network.json", data_name[] = "data.json",
                  provenance_name[] = "provenance.json";

/* The texts until they are written; NULL: written. */
struct experiment_texts {
    char *network, *data;
    char *provenance; /* NULL also when a run is resumed */
};

extern const struct observer observer_experiment;

/* --- writing --- */

static char *print_and_free(struct json *tree, struct error *error)
{
    char *text = tree ? json_print_with_checksum(tree, error) : NULL;
    json_free(tree);
    return text;
}

bool experiment_make(struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    struct experiment_texts *texts = observer_state(trainer, &observer_experiment);
    struct json *network = network_to_json(prepared->network);
    if (!network)
        return error_set_memory(trainer->error, "the network", 0);
    texts->network = print_and_free(network, trainer->error);
    texts->data = texts->network ? print_and_free(data_fingerprint_make(prepared, trainer->error),
                                                  trainer->error)
                                 : NULL;
    return texts->data;
}

static bool write_text(const struct run *run, const char *name, char **text, struct error *error)
{
    if (!*text)
        return true;
    char *path = file_join(run->directory, name);
    const bool written = path ? file_write(path, *text, strlen(*text), true, error)
                              : error_set_memory(error, "a path", 0);
    free(path);
    if (written) {
        free(*text);
        *text = NULL;
    }
    return written;
}

static bool sync_texts(void *state, struct trainer *trainer, struct error *error)
{
    struct experiment_texts *texts = state;
    return write_text(trainer->run, network_name, &texts->network, error) &&
           write_text(trainer->run, data_name, &texts->data, error) &&
           write_text(trainer->run, provenance_name, &texts->provenance, error);
}

/* Makes the texts of a new run, and writes them; if that fails, the first checkpoint tries once
 * more. */
static bool open_texts(void *state, struct trainer *trainer)
{
    struct experiment_texts *texts = state;
    const struct machine_settings *machine = &trainer->settings.machine;
    if (!trainer->resumption.file.file) {
        if (!experiment_make(trainer))
            return false;
        texts->provenance = provenance_make(
            machine->device, (enum device_precision)machine->precision, trainer->error);
        if (!texts->provenance)
            return false;
    }
    if (!sync_texts(state, trainer, &trainer->refusals.unsaved) && texts->provenance)
        trainer_report_unsaved(trainer);
    return true;
}

static void close_texts(void *state, struct trainer *trainer)
{
    struct experiment_texts *texts = state;
    (void)trainer;
    free(texts->network);
    free(texts->data);
    free(texts->provenance);
}

const struct observer observer_experiment = {.name = "experiment",
                                             .state_bytes = sizeof(struct experiment_texts),
                                             .open = open_texts,
                                             .sync = sync_texts,
                                             .close = close_texts};

/* --- comparing --- */

static bool refuse(const struct differences *differences, const char *what, const char *advice,
                   const char *why, struct error *error)
{
    char words[480];
    if (differences->count == 0)
        return true;
    differences_words(differences, words, sizeof words);
    return error_set(error, ERROR_INPUT, what, advice, why, words);
}

static bool check_network(struct trainer *trainer, const struct json *then)
{
    struct differences differences = {0};
    struct json *now = network_to_json(trainer->prepared.network);
    if (!now)
        return error_set_memory(trainer->error, "the network", 0);
    network_difference(then, now, &differences);
    json_free(now);
    return refuse(&differences, trainer->settings.network.network,
                  N_("bring the network back as it was, or train another run"),
                  N_("it is not the network that the run began with: %s"), trainer->error);
}

static bool check_set(struct trainer *trainer, const struct json *then, const struct json *now,
                      const char *spec, const char *why)
{
    struct differences differences = {0};
    return data_difference(then, now, &differences, trainer->error) &&
           refuse(&differences, spec, N_("bring the data back as it was, or train another run"),
                  why, trainer->error);
}

static bool check_validation(struct trainer *trainer, const struct json *then,
                             const struct json *now)
{
    const char *spec = trainer->settings.data.validate;
    const bool had = json_is_object(then), has = json_is_object(now);
    if (had != has)
        return error_set(trainer->error, ERROR_INPUT, has ? spec : OPTION(validate),
                         N_("train another run"),
                         has ? N_("the run began without a validation set")
                             : N_("the run began with a validation set, and has none now"));
    return !had || check_set(trainer, then, now, spec,
                             N_("the validation set has changed since the run began: %s"));
}

/* Checks the test set. A fork may have another one than its ancestor, since nothing depends on it.
 */
static bool check_test(struct trainer *trainer, const struct json *then, const struct json *now)
{
    if (!json_is_object(then) || !json_is_object(now) ||
        !differences_same(json_member(then, "spec"), json_member(now, "spec")))
        return true;
    return check_set(trainer, then, now, trainer->settings.data.test,
                     N_("the test set has changed since the run began: %s"));
}

/* Refuses another teacher than the run began with. */
static bool check_teacher(struct trainer *trainer, const struct json *then, const struct json *now)
{
    char before[DIFFERENCES_VALUE], after[DIFFERENCES_VALUE], path[512];
    const struct json *old = json_member(then, "teacher"), *teacher = json_member(now, "teacher");
    const struct json *sum = json_member(old, "crc32"), *present = json_member(teacher, "crc32");
    config_short_value(KEY(teacher), trainer->settings.training.teacher, path, sizeof path);
    if (differences_same(sum, present) &&
        differences_same(json_member(old, "bytes"), json_member(teacher, "bytes")))
        return true;
    return error_set(trainer->error, ERROR_INPUT, path,
                     "bring the teacher back as it was, or train another run",
                     "it is not the teacher that the run began with: its checksum was %s, and is "
                     "%s now",
                     differences_value(sum, before), differences_value(present, after));
}

static bool check_data(struct trainer *trainer, const struct json *then)
{
    struct json *now = data_fingerprint_make(&trainer->prepared, trainer->error);
    const bool same = now &&
                      check_set(trainer, json_member(then, "training"),
                                json_member(now, "training"), trainer->settings.data.data,
                                N_("the data has changed since the run began: %s")) &&
                      check_validation(trainer, json_member(then, "validation"),
                                       json_member(now, "validation")) &&
                      check_test(trainer, json_member(then, "test"), json_member(now, "test")) &&
                      check_teacher(trainer, then, now);
    json_free(now);
    return same;
}

bool experiment_check(struct trainer *trainer, bool *known)
{
    struct json_document network, data = {0};
    const struct run *run = trainer->run;
    bool same =
        run_json_open(&network, run->directory, network_name, JSON_MAX_BYTES, NULL,
                      trainer->error) &&
        run_json_open(&data, run->directory, data_name, JSON_MAX_BYTES, NULL, trainer->error) &&
        (!network.root || check_network(trainer, network.root)) &&
        (!data.root || check_data(trainer, data.root));
    *known = network.root && data.root;
    json_document_free(&network);
    json_document_free(&data);
    return same;
}
