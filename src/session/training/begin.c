/* Starts a new run: collects its facts (parameters, FLOPs, memory forecast) once network, data and
 * device are ready, and writes the journal's start event. */
#include "session/training/begin.h"

#include "base/files/file.h"
#include "engine/weights/weights_average.h"
#include "session/config/settings.h"
#include "session/files/computed_with.h"
#include "session/files/kernel_choices.h"
#include "session/files/run_files.h"
#include "session/training/experiment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct run_facts begin_facts(const struct trainer *trainer)
{
    const struct preparation *prepared = &trainer->prepared;
    struct run_facts facts = trainer->run->early_facts;
    network_full_name(prepared->network, facts.network, sizeof facts.network);
    snprintf(facts.technique, sizeof facts.technique, "%s",
             technique_name(prepared->network->technique));
    facts.parameters = prepared->forecast.parameters;
    facts.flops = prepared->forecast.flops;
    facts.discriminator_parameters = graph_parameter_count(&prepared->network->discriminator);
    facts.images = dataset_facts(prepared->data)->images;
    facts.classes = prepared->network->classes;
    facts.forecast = prepared->forecast.memory;
    facts.threads = prepared->device->threads;
    if (prepared->validation)
        facts.validation_images = dataset_facts(prepared->validation)->images;
    facts.memory_peak = forecast_peak(&prepared->forecast);
    return facts;
}

bool begin_prepare(struct trainer *trainer)
{
    const struct run *run = trainer->run;
    const struct preparation *prepared = &trainer->prepared;
    trainer->now.iterations = prepared->iterations;
    trainer->now.epochs = (double)prepared->iterations / (double)prepared->per_epoch;
    trainer->now.eta_seconds = -1;
    trainer->now.loss_discriminator = trainer->now.loss_l1 = NAN;
    trainer->now.pixel_accuracy = NAN;
    trainer->schedule = settings_schedule(&run->config, prepared->iterations);
    trainer->lr_schedule_state = lr_schedule_begin();
    trainer->early_stopping = settings_early_stopping(&run->config);
    trainer->early_stopping_state = early_stopping_begin();
    trainer->max_seconds = config_max_time(&run->config);
    trainer->now.learning_rate = trainer->schedule.learning_rate;
    trainer->chosen = kernel_choices_text(prepare_inference_plan(prepared), trainer->error);
    return trainer->chosen &&
           loss_meter_create(&trainer->meter, run->config.average_loss, trainer->error);
}

/* Reads the weights that a fork begins with. Its output layers keep their initial values if the
 * ancestor's have another number of outputs: it trains on a set of other classes. */
static bool load_ancestor(struct trainer *trainer)
{
    const struct run *run = trainer->run;
    if (!run->early_facts.fork.weights_only)
        return true;
    if (!method_begins_with_weights(&trainer->prepared.method))
        return error_set(trainer->error, ERROR_UNSUPPORTED, run->config.network,
                         "fork from a checkpoint, and leave batch, data and solver as they were",
                         "a network with a discriminator cannot begin with the weights alone");
    char *path = file_join(run->directory, "ancestor.safetensors");
    const struct weights_source source = {path, "", WEIGHTS_NAMES_OWN, WEIGHTS_OUTPUTS_FIT};
    const bool loaded = path ? weights_begin(&trainer->prepared.weights, &source,
                                             &trainer->prepared.match, trainer->error) &&
                                   prepare_order_outputs(&trainer->prepared, path, trainer->error)
                             : error_set_memory(trainer->error, "a path", 0);
    free(path);
    return loaded;
}

/* Notes the event file in the journal. */
static void note_events(struct trainer *trainer, uint64_t done)
{
    struct json *event = json_new_object();
    if (json_add_string(event, "event", "tensorboard") &&
        json_add_count(event, "iteration", done) &&
        json_add_string(event, "file", trainer->events.file.path))
        journal_add_event(&trainer->run->journal, "tensorboard", event);
    else
        json_free(event);
}

bool begin_events(struct trainer *trainer, const struct run_facts *facts, uint64_t done)
{
    struct error failed;
    const struct run *run = trainer->run;
    struct finding finding = {
        .kind = FINDING_TENSORBOARD, .iteration = done, .epoch = trainer->moment.epoch};
    char text[1100];
    if (run_events_open(&trainer->events, &run->config, facts, done, &failed)) {
        if (trainer->events.file.path)
            note_events(trainer, done);
        return true;
    }
    if (!run->resumes) {
        *trainer->error = failed;
        return false;
    }
    snprintf(finding.text, sizeof finding.text, "%.319s", error_format(&failed, text, sizeof text));
    trainer_add_finding(trainer, &finding);
    trainer_record_lost(trainer, &failed);
    return true;
}

bool begin_run(struct trainer *trainer)
{
    struct run *run = trainer->run;
    const struct run_facts facts = begin_facts(trainer);
    const size_t epochs = (size_t)ceil(trainer->now.epochs);
    struct preparation *prepared = &trainer->prepared;
    if (!load_ancestor(trainer) || !experiment_make(trainer) ||
        !experiment_make_provenance(trainer))
        return false;
    if (prepared->average.values)
        weights_average_begin(&prepared->average, &prepared->weights);
    if (!experiment_write(trainer, &trainer->saving.unsaved))
        trainer_report_unsaved(trainer); /* the first checkpoint tries once more */
    struct json *event = run_files_start_event(&facts, &trainer->now);
    if (!event ||
        !computed_with_add(event, run->config.device,
                           (enum device_precision)run->config.precision) ||
        !kernel_choices_add(event, trainer->chosen)) {
        json_free(event);
        return error_set_memory(trainer->error, "the journal", 0);
    }
    if (!series_create(&run->own_series, trainer->prepared.iterations, epochs, trainer->error)) {
        json_free(event);
        return false;
    }
    series_set_smoothing(&run->own_series, run->config.average_loss,
                         !facts.discriminator_parameters);
    run_state_publish(run, &facts);
    journal_add_event(&run->journal, "start", event);
    return begin_events(trainer, &facts, 0);
}
