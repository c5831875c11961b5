/* Writes the journal's record of the run: its start or resumption, a line for each iteration and
 * each validation, pauses. The same points go into the series that views of this process read. */
#include "training/observer.h"

#include "runs/folder/computed_with.h"
#include "runs/folder/run_files.h"

#include <math.h>
#include <stdio.h>

/* --- the start --- */

/* Returns the facts about a prepared run. */
static struct run_facts collect_facts(const struct trainer *trainer)
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

static bool add_arithmetic(const struct trainer *trainer, struct json *event)
{
    const struct machine_settings *machine = &trainer->settings.machine;
    return computed_with_add(event, machine->device, (enum device_precision)machine->precision);
}

static bool begin_new(struct trainer *trainer, const struct run_facts *facts)
{
    struct run *run = trainer->run;
    const size_t epochs = (size_t)ceil(trainer->now.epochs);
    struct json *event = run_files_start_event(facts, &trainer->now);
    if (!event || !add_arithmetic(trainer, event) || !kernel_choices_add(event, trainer->chosen)) {
        json_free(event);
        return error_set_memory(trainer->error, "the journal", 0);
    }
    if (!series_create(&run->own_series, trainer->prepared.iterations, epochs, trainer->error)) {
        json_free(event);
        return false;
    }
    series_set_smoothing(&run->own_series, trainer->settings.measurement.average_loss,
                         !facts->discriminator_parameters);
    run_state_publish(run, facts);
    journal_add_event(&run->journal, "start", event);
    return true;
}

static void note_resumption(struct trainer *trainer)
{
    struct json *event = json_new_object();
    if (json_add_string(event, "event", "resume") &&
        json_add_count(event, "iteration", trainer->moment.iteration) &&
        json_add_count(event, "threads", trainer->prepared.device->threads) &&
        add_arithmetic(trainer, event))
        journal_add_event(&trainer->run->journal, "resume", event);
    else
        json_free(event);
}

static bool open_journal(void *state, struct trainer *trainer)
{
    const struct run_facts facts = collect_facts(trainer);
    (void)state;
    if (!trainer->resumption.file.file)
        return begin_new(trainer, &facts);
    run_state_publish(trainer->run, &facts);
    note_resumption(trainer);
    return true;
}

/* --- the curves --- */

/* Returns the bytes of the curves in memory. */
static uint64_t bytes_of_curves(const struct run_extent *extent)
{
    return extent->on_host && extent->iterations ? series_bytes(extent->iterations) : 0;
}

static void after_iteration(void *state, struct trainer *trainer, struct iteration *iteration)
{
    (void)state;
    series_add(&trainer->run->own_series, &iteration->point);
    journal_add_point(&trainer->run->journal, &iteration->point, iteration->now);
}

static void before_validation(void *state, struct trainer *trainer)
{
    (void)state;
    journal_flush(&trainer->run->journal);
}

static void after_validation(void *state, struct trainer *trainer,
                             const struct evaluation *evaluation,
                             const struct series_validation *row)
{
    (void)state;
    (void)evaluation;
    series_add_validation(&trainer->run->own_series, row);
    journal_add_validation(&trainer->run->journal, row);
}

static void note_pause(void *state, struct trainer *trainer, bool on)
{
    (void)state;
    journal_add_event(&trainer->run->journal, on ? "pause" : "go-on", NULL);
}

const struct observer observer_journal = {.name = "journal",
                                          .bytes = bytes_of_curves,
                                          .open = open_journal,
                                          .after_iteration = after_iteration,
                                          .before_validation = before_validation,
                                          .after_validation = after_validation,
                                          .pause = note_pause};
