/* One lock guards everything that both threads use; it is held only to copy. The probe's thread
 * alone uses the model and the data set. Pointers into them that the caller has are valid until the
 * thread begins the next request, which only the caller can make. */
#include "training/inspect/probe.h"

#include "base/memory.h"
#include "base/threads/thread.h"
#include "data/loader/data_loader.h"
#include "models/saved/samples.h"
#include "models/saved/translate.h"
#include "training/prepare/forecast.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The FLOPs of a batch: well under a second on one thread, because questions wait for its end. */
static const uint64_t BATCH_FLOPS = (uint64_t)5 * 1000 * 1000 * 1000;
enum { BATCH_MAX = 100 };

struct question {
    bool pending;
    unsigned ticket;
    char path[1024];
    size_t index;
};

struct probe {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_bool leave; /* end the present evaluation: there is another request, or quit is set */
    /* guarded by the lock: */
    bool quit, requested;
    struct probe_request request;
    struct question question;
    bool answered;
    struct probe_answer answer;
    struct probe_status status;
    /* used by the probe's thread alone: */
    struct model model;
    struct dataset *dataset;
    struct outcome *outcomes;
    size_t outcome_count, batch;
    float *input, *target;
};

/* --- publishing results. Results of a request that has been replaced are discarded --- */

static void publish_error(struct probe *probe, enum probe_phase phase, const struct error *error)
{
    pthread_mutex_lock(&probe->lock);
    if (!probe->requested) {
        probe->status.phase = phase;
        probe->status.error = *error;
    }
    pthread_mutex_unlock(&probe->lock);
}

/* Publishes that the data set could not be evaluated, and closes it. */
static void publish_no_data(struct probe *probe, const struct error *error)
{
    pthread_mutex_lock(&probe->lock);
    if (!probe->requested) {
        probe->status.phase = PROBE_READY;
        probe->status.error = *error;
        probe->status.images = 0;
    }
    pthread_mutex_unlock(&probe->lock);
    dataset_free(probe->dataset);
    probe->dataset = NULL;
}

static void publish_model(struct probe *probe)
{
    const struct probe_status status = {
        .phase = PROBE_EVALUATING,
        .network = probe->model.network->name,
        .classes = probe->model.network->classes,
        .class_names = (const char(*)[64])probe->model.class_names,
        .images = probe->dataset ? dataset_facts(probe->dataset)->images : 0,
        .outcomes = probe->outcomes};
    pthread_mutex_lock(&probe->lock);
    if (!probe->requested)
        probe->status = status;
    pthread_mutex_unlock(&probe->lock);
}

static void publish_outcomes(struct probe *probe)
{
    pthread_mutex_lock(&probe->lock);
    if (!probe->requested)
        probe->status.outcome_count = probe->outcome_count;
    pthread_mutex_unlock(&probe->lock);
}

/* Publishes the end of an evaluation; `evaluation` is NULL if there is no data set. */
static void publish_end(struct probe *probe, const struct evaluation *evaluation)
{
    pthread_mutex_lock(&probe->lock);
    if (!probe->requested) {
        probe->status.phase = PROBE_READY;
        probe->status.evaluated = evaluation;
        if (evaluation)
            probe->status.evaluation = *evaluation;
    }
    pthread_mutex_unlock(&probe->lock);
}

/* --- one image --- */

static struct shape output_shape(const struct network *network)
{
    return network->graph.nodes[network->graph.output].output;
}

/* Adds a picture of `values`, if the shape can be shown. */
static bool add_picture(const struct probe *probe, struct probe_answer *answer, struct shape shape,
                        const float *values)
{
    struct image *picture = &answer->pictures[answer->picture_count];
    if (shape.channels != 1 && shape.channels != 3)
        return true;
    if (!image_create(picture, shape.width, shape.height, 3, &answer->error))
        return false;
    picture_paste(picture, 0, 0, &probe->model.preprocessing.normalisation, shape, values);
    answer->picture_count++;
    return true;
}

/* Computes the picture that `tinca predict` would write for this file. */
static bool translate_file(struct probe *probe, struct probe_answer *answer)
{
    struct translation translation;
    snprintf(answer->origin, sizeof answer->origin, "%.255s", answer->path);
    if (!model_translate(&probe->model, answer->path, &translation, &answer->error))
        return false;
    answer->pictures[answer->picture_count++] = translation.input;
    answer->pictures[answer->picture_count++] = translation.output;
    return true;
}

static bool read_question(struct probe *probe, struct probe_answer *answer)
{
    if (answer->path[0]) {
        snprintf(answer->origin, sizeof answer->origin, "%.255s", answer->path);
        return model_read_image(&probe->model, answer->path, probe->input, &answer->error);
    }
    if (!probe->dataset)
        return error_set(&answer->error, ERROR_USAGE, "the data set", "choose an image file",
                         "this model has none");
    dataset_origin(probe->dataset, answer->index, answer->origin, sizeof answer->origin);
    answer->labelled = probe->model.network->classes > 0;
    if (answer->labelled && answer->index < dataset_facts(probe->dataset)->images)
        answer->label = dataset_label(probe->dataset, answer->index);
    return data_loader_read_example(probe->dataset, &probe->model.preprocessing.normalisation,
                                    answer->index, probe->input, probe->target, &answer->error);
}

static bool infer(struct probe *probe, struct probe_answer *answer)
{
    const struct network *network = probe->model.network;
    const float *output = model_infer(&probe->model, probe->input, answer->index, &answer->error);
    if (!output || !add_picture(probe, answer, network->input, probe->input))
        return false;
    if (network->classes) {
        answer->top_count = network->classes < PROBE_TOP ? network->classes : PROBE_TOP;
        answer->unranked =
            !model_choose_top(output, network->classes, answer->top_count, answer->top);
        answer->top_count = answer->unranked ? 0 : answer->top_count;
        return true;
    }
    const struct shape shape = output_shape(network);
    return add_picture(probe, answer, shape, output) &&
           add_picture(probe, answer, shape, probe->target);
}

/* Publishes the answer and frees one that was not taken. */
static void hand_over(struct probe *probe, struct probe_answer *answer)
{
    pthread_mutex_lock(&probe->lock);
    struct probe_answer before = probe->answered ? probe->answer : (struct probe_answer){0};
    probe->answer = *answer;
    probe->answered = true;
    pthread_mutex_unlock(&probe->lock);
    probe_answer_free(&before);
}

static void answer_question(struct probe *probe)
{
    struct probe_answer answer = {0};
    pthread_mutex_lock(&probe->lock);
    bool asked = probe->question.pending;
    probe->question.pending = false;
    answer.ticket = probe->question.ticket;
    answer.index = probe->question.index;
    memcpy(answer.path, probe->question.path, sizeof answer.path);
    pthread_mutex_unlock(&probe->lock);
    if (!asked)
        return;
    if (answer.path[0] && probe->model.network->classes == 0)
        translate_file(probe, &answer);
    else if (read_question(probe, &answer))
        infer(probe, &answer);
    hand_over(probe, &answer);
}

/* --- opening --- */

static void close_all(struct probe *probe)
{
    dataset_free(probe->dataset);
    model_free(&probe->model);
    free(probe->outcomes);
    free(probe->input);
    free(probe->target);
    probe->dataset = NULL;
    probe->outcomes = NULL;
    probe->input = probe->target = NULL;
    probe->outcome_count = 0;
}

static size_t choose_batch(const struct network *network)
{
    const uint64_t flops = graph_flops(&network->graph);
    const uint64_t fits = flops > 0 ? BATCH_FLOPS / flops : BATCH_MAX;
    if (network->classes == 0) /* a generator's dropout noise depends on the number of the pair */
        return 1;
    return fits < 1 ? 1 : fits > BATCH_MAX ? BATCH_MAX : (size_t)fits;
}

/* Chooses the batch so that a training at the same time is not driven into swap. Returns false with
 * an error if not even one image fits. */
static bool check_memory(struct probe *probe, struct error *error)
{
    const struct model *model = &probe->model;
    const struct device *device = model->device;
    struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                     .batch = choose_batch(model->network),
                                     .threads = device->threads,
                                     .strict_device = device->strict,
                                     .precision = device->precision,
                                     .device = device,
                                     .machine = &device->machine,
                                     .choices = device->choices,
                                     .with_loss = true};
    struct forecast forecast = {.classes = model->network->classes, .input = model->network->input};
    const struct method method = method_of_network(model->network, settings.mode);
    if (!method_forecast(&method, device->driver, &settings, &forecast.memory, error))
        return false;
    const struct memory_check_request question = {.method = &method,
                                                  .driver = device->driver,
                                                  .settings = &settings,
                                                  .device = device->name,
                                                  .beforehand = true};
    memory_check(&question, &forecast, NULL, NULL);
    probe->batch = forecast.fits && !forecast.swaps ? settings.batch : forecast.largest_batch;
    return probe->batch > 0 || forecast_refuse(&forecast, 1, error);
}

static bool open_model(struct probe *probe, const struct probe_request *request,
                       struct error *error)
{
    struct model *model = &probe->model;
    if (!model_load(model, request->model, request->device, request->threads, error))
        return false;
    model->tolerance = request->tolerance;
    const size_t inputs = shape_count(model->network->input);
    const size_t outputs = shape_count(output_shape(model->network));
    const size_t targets = inputs > outputs ? inputs : outputs;
    probe->input = memory_new_aligned(inputs, sizeof(float), "an image", error);
    probe->target = memory_new_aligned(targets, sizeof(float), "an image", error);
    return probe->input && probe->target && check_memory(probe, error);
}

static bool open_data(struct probe *probe, const char *spec, struct error *error)
{
    probe->dataset = model_open_set(&probe->model, spec, error);
    if (!probe->dataset)
        return false;
    probe->outcomes = memory_new(dataset_facts(probe->dataset)->images, sizeof *probe->outcomes,
                                 "the outcomes", error);
    return probe->outcomes;
}

/* --- the whole set --- */

static void take_outcome(void *context, const struct outcome *outcome, const float *logits)
{
    (void)logits;
    struct probe *probe = context;
    if (probe->outcome_count < dataset_facts(probe->dataset)->images)
        probe->outcomes[probe->outcome_count++] = *outcome;
}

static bool between_batches(void *context, uint64_t done, uint64_t of, struct error *error)
{
    struct probe *probe = context;
    (void)done;
    (void)of;
    publish_outcomes(probe);
    if (atomic_load(&probe->leave))
        return error_set(error, ERROR_INTERRUPTED, "the evaluation", NULL, "it was cancelled");
    answer_question(probe);
    return true;
}

static bool evaluate(struct probe *probe, struct error *error)
{
    struct evaluation evaluation;
    const struct evaluation_request request = {.batch = probe->batch,
                                               .readers = 1,
                                               .progress = between_batches,
                                               .watch = take_outcome,
                                               .context = probe};
    if (!model_evaluate_set(&probe->model, probe->dataset, &request, &evaluation, error))
        return false;
    publish_end(probe, &evaluation);
    return true;
}

static void serve(struct probe *probe, const struct probe_request *request)
{
    struct error error = {0};
    close_all(probe);
    if (!open_model(probe, request, &error)) {
        close_all(probe);
        publish_error(probe, PROBE_FAILED, &error);
        return;
    }
    bool opened = !request->data[0] || open_data(probe, request->data, &error);
    publish_model(probe);
    if (opened && !probe->dataset) {
        publish_end(probe, NULL);
        return;
    }
    if (opened && evaluate(probe, &error))
        return;
    if (probe->outcome_count > 0)
        publish_error(probe, PROBE_READY, &error);
    else
        publish_no_data(probe, &error);
}

/* --- the thread --- */

/* Waits for work. Returns true for a new request, false for a question or the end (*quit). */
static bool next_request(struct probe *probe, struct probe_request *request, bool *quit)
{
    pthread_mutex_lock(&probe->lock);
    while (!probe->quit && !probe->requested && !probe->question.pending)
        pthread_cond_wait(&probe->wake, &probe->lock);
    *quit = probe->quit;
    bool requested = probe->requested;
    if (requested) {
        *request = probe->request;
        probe->requested = false;
        atomic_store(&probe->leave, probe->quit);
    }
    pthread_mutex_unlock(&probe->lock);
    return requested;
}

static void *run(void *argument)
{
    struct probe *probe = argument;
    struct probe_request request;
    for (bool quit = false; !quit;) {
        bool requested = next_request(probe, &request, &quit);
        if (!quit && requested)
            serve(probe, &request);
        else if (!quit && probe->model.network)
            answer_question(probe);
        else if (!quit) { /* no model is open: discard the question */
            pthread_mutex_lock(&probe->lock);
            probe->question.pending = false;
            pthread_mutex_unlock(&probe->lock);
        }
    }
    close_all(probe);
    return NULL;
}

struct probe *probe_create(struct error *error)
{
    struct probe *probe = memory_new(1, sizeof *probe, "the trying out of models", error);
    if (!probe)
        return NULL;
    pthread_mutex_init(&probe->lock, NULL);
    pthread_cond_init(&probe->wake, NULL);
    if (thread_start(&probe->thread, run, probe) == 0)
        return probe;
    pthread_cond_destroy(&probe->wake);
    pthread_mutex_destroy(&probe->lock);
    free(probe);
    error_set(error, ERROR_SYSTEM, "a thread", "end other programs",
              "the system cannot start another thread");
    return NULL;
}

void probe_free(struct probe *probe)
{
    if (!probe)
        return;
    pthread_mutex_lock(&probe->lock);
    probe->quit = true;
    atomic_store(&probe->leave, true);
    pthread_cond_signal(&probe->wake);
    pthread_mutex_unlock(&probe->lock);
    pthread_join(probe->thread, NULL);
    if (probe->answered)
        probe_answer_free(&probe->answer);
    pthread_cond_destroy(&probe->wake);
    pthread_mutex_destroy(&probe->lock);
    free(probe);
}

/* --- the caller's side --- */

void probe_open(struct probe *probe, const struct probe_request *request)
{
    pthread_mutex_lock(&probe->lock);
    probe->request = *request;
    probe->requested = true;
    probe->question.pending = false;
    if (probe->answered)
        probe_answer_free(&probe->answer);
    probe->answered = false;
    probe->status = (struct probe_status){.phase = PROBE_OPENING};
    atomic_store(&probe->leave, true);
    pthread_cond_signal(&probe->wake);
    pthread_mutex_unlock(&probe->lock);
}

void probe_status(struct probe *probe, struct probe_status *status)
{
    pthread_mutex_lock(&probe->lock);
    *status = probe->status;
    pthread_mutex_unlock(&probe->lock);
}

unsigned probe_ask(struct probe *probe, const char *path, size_t index)
{
    struct question *question = &probe->question;
    pthread_mutex_lock(&probe->lock);
    if (++question->ticket == 0)
        question->ticket = 1;
    const unsigned ticket = question->ticket;
    snprintf(question->path, sizeof question->path, "%s", path ? path : "");
    question->index = path ? 0 : index;
    question->pending = true;
    pthread_cond_signal(&probe->wake);
    pthread_mutex_unlock(&probe->lock);
    return ticket;
}

bool probe_take(struct probe *probe, struct probe_answer *answer)
{
    pthread_mutex_lock(&probe->lock);
    bool answered = probe->answered;
    if (answered)
        *answer = probe->answer;
    probe->answered = false;
    pthread_mutex_unlock(&probe->lock);
    return answered;
}

void probe_answer_free(struct probe_answer *answer)
{
    for (size_t i = 0; i < PROBE_PICTURES; i++)
        image_free(&answer->pictures[i]);
    answer->picture_count = 0;
}
