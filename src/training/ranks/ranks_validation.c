/* Divides validations among the ranks: each computes some of the batches that one process would
 * compute, with the same kernels in batches of the same size, and rank 0 joins the results of all
 * images in their order (evaluator.h). So its figures have the bits of one process.
 *
 * All ranks have equal weights, running statistics and weights that are derived of them, since each
 * computes every step, so none of these are sent. Rank 0 decides when to validate. If it ends a
 * validation early, because the run is to stop or its own part has failed, it tells the others by
 * messages, which they check for between two batches. All ranks then gather their results, even if
 * these are of no use, so that they stay in step. A rank whose part fails tells all by
 * cluster_fail, as in an iteration.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "data/dataset/contents.h"
#include "runs/folder/computed_with.h"
#include "training/ranks/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- dividing --- */

enum { FACTS = 6 };

/* The message of a rank about its validation set. */
struct readiness {
    bool ready; /* it has the set and an evaluator */
    struct error error;
    uint64_t facts[FACTS];
};

static void fill_facts(const struct preparation *prepared, struct readiness *mine)
{
    const struct dataset_facts *facts = dataset_facts(prepared->validation);
    const struct evaluator *evaluator = &prepared->evaluator;
    const uint64_t values[FACTS] = {
        facts->images,      facts->classes,         facts->channels * facts->height * facts->width,
        evaluator->batches, evaluator->plan->batch, dataset_checksum(prepared->validation)};
    memcpy(mine->facts, values, sizeof mine->facts);
}

/* Returns whether a rank can take part. Otherwise writes the reason, with its name, into `why`. */
static bool can_take_part(const struct cluster *cluster, const struct readiness *all, size_t rank,
                          char *why, size_t size)
{
    const struct readiness *of = &all[rank];
    if (of->ready && memcmp(of->facts, all[0].facts, sizeof of->facts) == 0)
        return true;
    const int used = snprintf(why, size, "rank %zu on %.40s: ", rank, cluster_host(cluster, rank));
    if (!of->ready)
        snprintf(why + used, size - (size_t)used, "%.60s: %.80s", of->error.what, of->error.why);
    else if (of->facts[0] == all[0].facts[0] && of->facts[1] == all[0].facts[1])
        snprintf(why + used, size - (size_t)used,
                 "the files, labels or sizes of its set differ from those of rank 0");
    else
        snprintf(why + used, size - (size_t)used,
                 "its set has %llu images of %llu classes, and that of rank 0 %llu of %llu",
                 (unsigned long long)of->facts[0], (unsigned long long)of->facts[1],
                 (unsigned long long)all[0].facts[0], (unsigned long long)all[0].facts[1]);
    return false;
}

/* Writes how many ranks validate, and why the first one that cannot does not. */
static void write_reason(char *text, size_t size, size_t able, size_t ranks, const char *why)
{
    if (able == 1)
        snprintf(text, size, "rank 0 validates alone: %s", why);
    else if (able < ranks)
        snprintf(text, size, "%zu of %zu ranks share the validations: %s", able, ranks, why);
}

/* Gathers which ranks can take part, and gives each of them a part, as far as there are batches. */
static bool assign(struct cluster *cluster, const struct readiness *mine,
                   struct ranks_validation *validation, char *text, size_t size,
                   struct error *error)
{
    const size_t ranks = cluster_ranks(cluster);
    struct readiness *all = memory_new(ranks, sizeof *all, "the ranks", error);
    char first[200] = "", other[200];
    size_t able = 0, parts = 0;
    validation->ranks = memory_new(ranks, sizeof *validation->ranks, "the ranks", error);
    if (!all || !validation->ranks) {
        free(all);
        cluster_fail(cluster, error);
        return false;
    }
    if (!cluster_gather(cluster, mine, sizeof *mine, all)) /* MPI may still write to the array */
        return cluster_check(cluster, error);
    const uint64_t batches = all[0].facts[3], batch = all[0].facts[4];
    validation->part = SIZE_MAX;
    for (size_t r = 0; r < ranks; r++) {
        if (!can_take_part(cluster, all, r, first[0] ? other : first, sizeof first))
            continue;
        able++;
        if (parts == batches)
            continue;
        if (r == cluster_rank(cluster))
            validation->part = parts;
        validation->ranks[parts++] = r;
    }
    validation->parts = parts;
    validation->room = (size_t)((batches + parts - 1) / parts * batch);
    write_reason(text, size, able, ranks, first);
    free(all);
    return true;
}

/* Restricts this rank's evaluator to its part; without a part, frees it. */
static bool take_part(struct preparation *prepared, const struct ranks_validation *validation,
                      struct error *error)
{
    if (validation->parts <= 1 && validation->part == 0)
        return true;
    if (validation->part < validation->parts)
        return evaluator_divide(&prepared->evaluator, validation->parts, validation->part, error);
    evaluator_free(&prepared->evaluator);
    dataset_free(prepared->validation);
    prepared->validation = NULL;
    return true;
}

bool ranks_divide_validation(struct cluster *cluster, struct preparation *prepared,
                             const char *chosen, struct ranks_validation *validation, char *text,
                             size_t size, struct error *error)
{
    struct readiness mine = {.ready = true};
    text[0] = '\0';
    *validation = (struct ranks_validation){0};
    if (!cluster || !prepared->validation)
        return true;
    const struct ranks_command divide = {.order = RANKS_DIVIDE,
                                         .batch = prepared->evaluator.plan->batch,
                                         .bytes = strlen(chosen) + 1};
    if (!ranks_command(cluster, &divide, error) ||
        !ranks_broadcast(cluster, (char *)chosen, divide.bytes, error))
        return false;
    fill_facts(prepared, &mine);
    return assign(cluster, &mine, validation, text, size, error) &&
           take_part(prepared, validation, error);
}

/* Receives the record of rank 0's kernels, which the caller frees with kernel_choices_free. */
static bool receive_choices(struct cluster *cluster, size_t bytes, struct plan_choices *choices,
                            struct error *error)
{
    char *text = memory_new(bytes, 1, "the kernels", error);
    if (!text) {
        cluster_fail(cluster, error);
        return false;
    }
    if (!ranks_broadcast(cluster, text, bytes, error))
        return false; /* MPI may still write to the array */
    const bool read = kernel_choices_read(text, choices, error);
    free(text);
    if (!read)
        cluster_fail(cluster, error);
    return read;
}

bool ranks_take_part(struct cluster *cluster, const struct ranks_command *divide,
                     struct preparation *prepared, struct ranks_validation *validation,
                     struct error *error)
{
    struct plan_choices choices;
    struct readiness mine = {0};
    char unused[320];
    if (!receive_choices(cluster, (size_t)divide->bytes, &choices, error))
        return false;
    mine.ready = prepare_evaluator(prepared, (size_t)divide->batch, &choices, &mine.error);
    kernel_choices_free(&choices);
    if (mine.ready)
        fill_facts(prepared, &mine);
    *validation = (struct ranks_validation){0};
    if (!assign(cluster, &mine, validation, unused, sizeof unused, error))
        return false;
    if (take_part(prepared, validation, error))
        return true;
    cluster_fail(cluster, error);
    return false;
}

void ranks_validation_free(struct ranks_validation *validation)
{
    free(validation->ranks);
    *validation = (struct ranks_validation){0};
}

/* --- a validation --- */

/* The message by which rank 0 ends a validation early. */
struct end_message {
    uint64_t number; /* of the validation */
};

/* Tells the ranks that have parts to end the validation. */
static void send_end(struct cluster *cluster, const struct ranks_validation *validation)
{
    const struct end_message message = {validation->number};
    struct error unused;
    for (size_t p = 1; p < validation->parts; p++)
        cluster_post(cluster, validation->ranks[p], &message, sizeof message, &unused);
}

/* Gathers the results of all ranks, each with room for the same number of images. Returns the
 * array, which the caller frees, or NULL with an error. After a failure MPI may still read and
 * write the arrays, which are then never freed. */
static struct image_result *gather(struct cluster *cluster,
                                   const struct ranks_validation *validation,
                                   struct evaluator *evaluator, struct error *error)
{
    const size_t ranks = cluster_ranks(cluster);
    struct image_result *mine = evaluator->results, *none = NULL;
    struct image_result *all =
        memory_new(ranks * validation->room, sizeof *all, "the validation", error);
    if (all && !mine)
        mine = none = memory_new(validation->room, sizeof *none, "the validation", error);
    if (!all || !mine) {
        free(all);
        cluster_fail(cluster, error);
        return NULL;
    }
    if (!cluster_gather(cluster, mine, validation->room * sizeof *mine, all)) {
        evaluator->results = NULL;
        cluster_check(cluster, error);
        return NULL;
    }
    free(none);
    return all;
}

/* Rank 0's progress: that of the caller, which may pause, unless another rank has failed. */
struct watched {
    struct cluster *cluster;
    evaluator_progress *progress;
    void *context;
};

static bool watch(void *context, uint64_t done, struct error *error)
{
    const struct watched *watched = context;
    cluster_set_activity(watched->cluster, CLUSTER_IDLE, 0);
    const bool good = cluster_check(watched->cluster, error) &&
                      (!watched->progress || watched->progress(watched->context, done, error));
    cluster_set_activity(watched->cluster, CLUSTER_VALIDATING, 0);
    return good;
}

/* Returns false, and adds this rank's name to its error. */
static bool refuse_own(struct cluster *cluster, struct error *error)
{
    const bool own = error->kind != ERROR_INTERRUPTED && cluster_check(cluster, NULL);
    return own ? ranks_name_error(cluster, error) : false;
}

/* Validates alone. */
static bool validate_alone(struct watched *watched, struct evaluator *evaluator,
                           struct evaluation *evaluation, struct error *error)
{
    cluster_set_activity(watched->cluster, CLUSTER_VALIDATING, 0);
    const bool good = evaluator_run(evaluator, watch, watched, evaluation, error) ||
                      refuse_own(watched->cluster, error);
    cluster_set_activity(watched->cluster, CLUSTER_IDLE, 0);
    return good;
}

bool ranks_validate(struct cluster *cluster, struct ranks_validation *validation,
                    struct evaluator *evaluator, evaluator_progress *progress, void *context,
                    struct evaluation *evaluation, struct error *error)
{
    struct watched watched = {cluster, progress, context};
    struct error late;
    if (validation->parts <= 1)
        return validate_alone(&watched, evaluator, evaluation, error);
    validation->number = clock_nanoseconds(); /* unlike that of any other, also of another run */
    const struct ranks_command validate = {.order = RANKS_VALIDATE,
                                           .iteration = validation->number};
    if (!ranks_command(cluster, &validate, error))
        return false;
    cluster_set_activity(cluster, CLUSTER_VALIDATING, 0);
    const bool good = evaluator_run_part(evaluator, watch, &watched, error);
    if (!good) {
        refuse_own(cluster, error);
        send_end(cluster, validation);
    }
    struct image_result *all = gather(cluster, validation, evaluator, good ? error : &late);
    const bool joined =
        good && all && evaluator_join(evaluator, all, validation->ranks, evaluation, error);
    free(all);
    cluster_set_activity(cluster, CLUSTER_IDLE, 0);
    return joined;
}

/* The context in which a rank other than 0 checks between two batches whether the validation was
 * ended. */
struct part {
    struct cluster *cluster;
    uint64_t number; /* of the validation */
};

/* Returns false if rank 0 has ended the validation. Ignores a late message about an earlier one. */
static bool goes_on(void *context, uint64_t done, struct error *error)
{
    const struct part *part = context;
    struct end_message message;
    size_t from;
    (void)done;
    cluster_set_activity(part->cluster, CLUSTER_VALIDATING, 0);
    while (cluster_take(part->cluster, 0, &from, &message, sizeof message) == sizeof message)
        if (message.number == part->number)
            return error_set(error, ERROR_INTERRUPTED, "the validation", NULL, "it was stopped");
    return cluster_check(part->cluster, error);
}

bool ranks_validate_part(struct cluster *cluster, const struct ranks_command *validate,
                         struct preparation *prepared, const struct ranks_validation *validation,
                         struct error *error)
{
    struct part part = {cluster, validate->iteration};
    if (validation->part < validation->parts) {
        execution_wait(method_execution(&prepared->method));
        data_loader_pause(prepared->loader);
        cluster_set_activity(cluster, CLUSTER_VALIDATING, 0);
        const bool good = evaluator_run_part(&prepared->evaluator, goes_on, &part, error);
        data_loader_continue(prepared->loader);
        if (!good && error->kind != ERROR_INTERRUPTED) {
            cluster_fail(cluster, error);
            return false;
        }
    }
    struct image_result *all = gather(cluster, validation, &prepared->evaluator, error);
    const bool gathered = all;
    free(all);
    return gathered;
}
