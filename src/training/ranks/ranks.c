/* Broadcasts rank 0's commands, and compares the settings of all ranks before they compute.
 *
 * All processes are of the same version, which the cluster has checked, so structures are sent as
 * they are in memory. */
#include "training/ranks/ranks.h"

#include "base/language.h"
#include "base/memory.h"
#include "data/dataset/contents.h"
#include "engine/devices/rank_device.h"
#include "runs/folder/computed_with.h"
#include "runs/settings/config_differences.h"
#include "runs/settings/settings.h"
#include "training/ranks/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *rank_name(const struct cluster *cluster, size_t rank, char *text, size_t size)
{
    snprintf(text, size, "rank %zu on %s", rank, cluster_host(cluster, rank));
    return text;
}

bool ranks_name_error(const struct cluster *cluster, struct error *error)
{
    const struct error plain = *error;
    char name[CLUSTER_HOST + 32];
    if (cluster)
        snprintf(error->what, sizeof error->what, "%s%s%.150s",
                 rank_name(cluster, cluster_rank(cluster), name, sizeof name),
                 plain.what[0] ? ": " : "", plain.what);
    return false;
}

/* --- the settings that the ranks were started with --- */

static bool refuse_setting(const struct cluster *cluster, size_t rank, const char *key,
                           const char *first, const char *other, struct error *error)
{
    char name[CLUSTER_HOST + 32];
    return error_set(error, ERROR_USAGE, rank_name(cluster, rank, name, sizeof name),
                     "start all ranks with the same command", "--%s is %s, but %s on rank 0", key,
                     other[0] ? other : "''", first[0] ? first : "''");
}

static bool compare_configs(const struct cluster *cluster, const struct run_config *configs,
                            struct error *error)
{
    char first[600], other[600];
    for (size_t r = 1; r < cluster_ranks(cluster); r++)
        for (size_t i = 0; i < config_field_count; i++) {
            const struct config_field *field = &config_fields[i];
            if (!(field->ignored_by & COMPARE_RANKS) &&
                !config_field_equal(&configs[0], &configs[r], field))
                return refuse_setting(cluster, r, field->key,
                                      config_get(&configs[0], field->key, first, sizeof first),
                                      config_get(&configs[r], field->key, other, sizeof other),
                                      error);
        }
    return true;
}

bool ranks_compare(struct cluster *cluster, const struct run_config *config, struct error *error)
{
    struct run_config *configs;
    bool same = true;
    if (!cluster)
        return true;
    configs = memory_new(cluster_ranks(cluster), sizeof *configs, "the ranks", error);
    if (!configs)
        return false;
    if (cluster_gather(cluster, config, sizeof *config, configs)) {
        same = compare_configs(cluster, configs, error);
        free(configs);
    } else /* MPI may still write to the array */
        same = cluster_check(cluster, error);
    return same;
}

/* --- how the ranks have prepared a run --- */

enum { REPORT_FACTS = 9, REPORT_NODES_SEED = 5381, REPORT_BROKEN = 200 };

struct report {
    bool prepared;
    struct error error;
    char values[COMPUTED_WITH][COMPUTED_WITH_SIZE];
    uint64_t facts[REPORT_FACTS];
    char broken[REPORT_BROKEN]; /* pictures that were left out; "": none */
};

static const char *const fact_names[REPORT_FACTS] = {
    N_("images in the training set"),
    N_("classes in the training set"),
    N_("values of an image"),
    N_("layers in the network"),
    N_("weights in the network"),
    N_("the checksum of the layers' names"),
    N_("iterations in an epoch"),
    N_("the checksum of the teacher's file"),
    N_("the checksum of the training set's files and labels"),
};

/* Returns a checksum of the names of a network's layers and of their operators. */
static uint64_t sum_names(const struct graph *graph)
{
    uint64_t sum = REPORT_NODES_SEED;
    for (size_t n = 0; n < graph->node_count; n++)
        for (const char *c = graph->nodes[n].name; *c; c++)
            sum = sum * 33 + (unsigned char)*c;
    return sum & 0xffffffff;
}

static void fill_report(struct report *report, const struct run_config *config,
                        const struct preparation *prepared, bool good, const struct error *error)
{
    struct computed_with here;
    const struct machine_settings machine = machine_settings(config);
    *report = (struct report){.prepared = good};
    computed_with_here(&here, machine.device, (enum device_precision)machine.precision);
    memcpy(report->values, here.values, sizeof report->values);
    if (!good) {
        report->error = *error;
        return;
    }
    const struct dataset_facts *facts = dataset_facts(prepared->data);
    const struct graph *graph = &prepared->network->graph;
    const uint64_t values[REPORT_FACTS] = {facts->images,
                                           facts->classes,
                                           facts->channels * facts->height * facts->width,
                                           graph->node_count,
                                           graph->total_floats,
                                           sum_names(graph),
                                           prepared->per_epoch,
                                           method_checksum(&prepared->method),
                                           dataset_checksum(prepared->data)};
    memcpy(report->facts, values, sizeof values);
    if (facts->broken)
        broken_list_words(facts->broken, report->broken, sizeof report->broken);
}

/* Fails with the error of a rank that could not prepare the run. */
static bool refuse_failed(const struct cluster *cluster, size_t rank, const struct error *failed,
                          struct error *error)
{
    char name[CLUSTER_HOST + 32];
    error_set(error, failed->kind, rank_name(cluster, rank, name, sizeof name), NULL,
              "%.255s: %.511s", failed->what, failed->why);
    snprintf(error->advice, sizeof error->advice, "%.255s", failed->advice);
    return false;
}

static bool compare_computed(const struct cluster *cluster, const struct report *reports,
                             size_t rank, struct error *error)
{
    char name[CLUSTER_HOST + 32];
    for (size_t i = 0; i < COMPUTED_WITH; i++)
        if (strcmp(reports[0].values[i], reports[rank].values[i]) != 0)
            return error_set(error, ERROR_UNSUPPORTED, rank_name(cluster, rank, name, sizeof name),
                             "choose hosts that are alike; TINCA_CPU=avx2 makes stronger "
                             "processors compute as weaker ones",
                             "%s: %s, but %s on rank 0; the bits would differ",
                             gettext(computed_with_word(i)), reports[rank].values[i],
                             reports[0].values[i]);
    return true;
}

static bool compare_facts(const struct cluster *cluster, const struct report *reports, size_t rank,
                          struct error *error)
{
    char name[CLUSTER_HOST + 32];
    const char *broken = reports[rank].broken[0] ? reports[rank].broken : reports[0].broken;
    for (size_t i = 0; i < REPORT_FACTS; i++)
        if (reports[0].facts[i] != reports[rank].facts[i])
            return error_set(error, ERROR_INPUT, rank_name(cluster, rank, name, sizeof name),
                             "give all hosts the same files", "%s: %llu, but %llu on rank 0%s%s",
                             gettext(fact_names[i]), (unsigned long long)reports[rank].facts[i],
                             (unsigned long long)reports[0].facts[i],
                             broken[0] ? _("; left out, because they cannot be read: ") : "",
                             broken);
    return true;
}

/* Returns whether no rank could prepare the run, all for the same reason. */
static bool all_failed_alike(const struct report *reports, size_t ranks)
{
    for (size_t r = 0; r < ranks; r++)
        if (reports[r].prepared || strcmp(reports[r].error.why, reports[0].error.why) != 0)
            return false;
    return true;
}

static bool compare_reports(const struct cluster *cluster, const struct report *reports,
                            struct error *error)
{
    if (all_failed_alike(reports, cluster_ranks(cluster))) {
        *error = reports[0].error;
        return false;
    }
    for (size_t r = 0; r < cluster_ranks(cluster); r++)
        if (!reports[r].prepared)
            return refuse_failed(cluster, r, &reports[r].error, error);
    for (size_t r = 1; r < cluster_ranks(cluster); r++)
        if (!compare_computed(cluster, reports, r, error) ||
            !compare_facts(cluster, reports, r, error))
            return false;
    return true;
}

bool ranks_agree(struct cluster *cluster, const struct run_config *config,
                 const struct preparation *preparation, bool prepared, struct error *error)
{
    bool agreed = prepared;
    if (!cluster)
        return prepared;
    struct report mine;
    struct report *reports =
        memory_new(cluster_ranks(cluster), sizeof *reports, "the ranks", error);
    if (!reports) {
        cluster_fail(cluster, error);
        return false;
    }
    fill_report(&mine, config, preparation, prepared, error);
    if (cluster_gather(cluster, &mine, sizeof mine, reports)) {
        agreed = compare_reports(cluster, reports, error);
        free(reports);
        return agreed;
    }
    return cluster_check(cluster, error);
}

/* --- commands --- */

bool ranks_broadcast(struct cluster *cluster, void *data, size_t bytes, struct error *error)
{
    return cluster_broadcast(cluster, data, bytes) || cluster_check(cluster, error);
}

bool ranks_command(struct cluster *cluster, const struct ranks_command *command,
                   struct error *error)
{
    struct ranks_command copy = *command;
    return ranks_broadcast(cluster, &copy, sizeof copy, error);
}

bool ranks_begin(struct cluster *cluster, const struct run_config *config,
                 const struct run_preprocessing *from, uint64_t first_iteration,
                 struct error *error)
{
    struct ranks_command begin = {.order = RANKS_BEGIN, .iteration = first_iteration};
    struct run_config copy = *config;
    struct run_preprocessing followed = *from;
    if (!cluster)
        return true;
    return ranks_command(cluster, &begin, error) &&
           ranks_broadcast(cluster, &copy, sizeof copy, error) &&
           ranks_broadcast(cluster, &followed, sizeof followed, error);
}

/* Broadcasts the weights of a network and the state of its solver. */
static bool broadcast_network(struct cluster *cluster, const struct method_network *network)
{
    struct execution *execution = network->execution;
    const struct graph *graph = network->weights->graph;
    if (!cluster_broadcast(cluster, network->weights->values, graph->total_floats * sizeof(float)))
        return false;
    for (size_t i = 0; i < 2; i++) {
        float *state = execution_solver_state(execution, i);
        if (state && !cluster_broadcast(cluster, state, graph->learnable_floats * sizeof(float)))
            return false;
    }
    execution_touch(execution);
    return true;
}

bool ranks_broadcast_state(struct cluster *cluster, struct preparation *preparation)
{
    struct method_network networks[METHOD_NETWORKS];
    const size_t count = method_networks(&preparation->method, networks);
    struct weights *derived = &preparation->derived;
    for (size_t i = 0; i < count; i++)
        if (!broadcast_network(cluster, &networks[i]))
            return false;
    if (!derived->values)
        return true;
    if (!cluster_broadcast(cluster, derived->values, derived->graph->total_floats * sizeof(float)))
        return false;
    weights_mark_changed(derived);
    return true;
}

bool ranks_share_state(struct cluster *cluster, struct preparation *preparation,
                       struct error *error)
{
    if (!cluster)
        return true;
    const struct ranks_command state = {.order = RANKS_STATE,
                                        .counters = method_save(&preparation->method)};
    return ranks_command(cluster, &state, error) &&
           execution_join(method_execution(&preparation->method), error) &&
           (ranks_broadcast_state(cluster, preparation) || cluster_check(cluster, error));
}

void ranks_step(struct cluster *cluster, uint64_t iteration, float learning_rate, bool next)
{
    struct ranks_command step = {
        .order = RANKS_STEP, .iteration = iteration, .learning_rate = learning_rate, .next = next};
    if (cluster)
        ranks_command(cluster, &step, NULL);
}

void ranks_end(struct cluster *cluster)
{
    struct ranks_command end = {.order = RANKS_END};
    if (cluster)
        ranks_command(cluster, &end, NULL);
}

void ranks_quit(struct cluster *cluster)
{
    struct ranks_command quit = {.order = RANKS_QUIT};
    if (cluster)
        ranks_command(cluster, &quit, NULL);
}

/* --- work --- */

bool ranks_gather_work(struct cluster *cluster, const struct cluster_work *mine,
                       struct cluster_work **all)
{
    struct error error;
    *all = memory_new(cluster_ranks(cluster), sizeof **all, "the ranks", &error);
    if (!*all)
        cluster_fail(cluster, &error);
    else if (cluster_gather(cluster, mine, sizeof *mine, *all))
        return true;
    *all = NULL; /* MPI may still write to the array */
    return false;
}

struct cluster_work *ranks_collect_work(struct cluster *cluster, const struct cluster_work *mine)
{
    struct ranks_command work = {.order = RANKS_WORK};
    struct cluster_work *all;
    return ranks_command(cluster, &work, NULL) && ranks_gather_work(cluster, mine, &all) ? all
                                                                                         : NULL;
}

/* --- the first bad layer --- */

struct found {
    bool found;
    size_t place; /* of the layer in the network */
    struct bad_layer layer;
};

static size_t place_in(const struct graph *graph, const char *name)
{
    size_t n = 0;
    while (n < graph->node_count && strcmp(graph->nodes[n].name, name) != 0)
        n++;
    return n;
}

/* Returns the place of a layer; a discriminator comes after the generator. */
static size_t place_of(const struct network *network, const char *name)
{
    static const char other[] = "discriminator: ";
    return strncmp(name, other, sizeof other - 1) == 0
               ? network->graph.node_count +
                     place_in(&network->discriminator, name + sizeof other - 1)
               : place_in(&network->graph, name);
}

bool ranks_gather_bad_layers(struct cluster *cluster, const struct preparation *prepared,
                             uint64_t iteration, struct bad_layer *layer)
{
    const size_t ranks = cluster_ranks(cluster);
    struct found mine = {0};
    struct found *all = memory_new(ranks, sizeof *all, "the ranks", NULL);
    mine.found = method_find_first_bad_layer(&prepared->method, iteration, &mine.layer);
    mine.place = mine.found ? place_of(prepared->network, mine.layer.node) : SIZE_MAX;
    struct found first = mine;
    if (!all || !cluster_gather(cluster, &mine, sizeof mine, all))
        ; /* only this rank's: all ranks end anyway, and MPI may still write to the array */
    else {
        for (size_t r = 0; r < ranks; r++)
            if (all[r].place < first.place)
                first = all[r];
        free(all);
    }
    *layer = first.layer;
    return first.found;
}

bool ranks_find_first_bad_layer(struct cluster *cluster, const struct preparation *prepared,
                                uint64_t iteration, struct bad_layer *layer)
{
    const struct ranks_command find = {.order = RANKS_FIND, .iteration = iteration};
    if (!cluster)
        return method_find_first_bad_layer(&prepared->method, iteration, layer);
    ranks_command(cluster, &find, NULL);
    return ranks_gather_bad_layers(cluster, prepared, iteration, layer);
}

/* --- whether one process would be as fast --- */

/* The number of iterations of each; two are no turns (turns.h), so that they give a hint and no
 * verdict. */
enum { COMPARED_ITERATIONS = 2 };

bool ranks_measure_scaling(struct cluster *cluster, const struct run_config *config,
                           struct scaling *scaling)
{
    struct error error;
    char device[DEVICE_NAME_SIZE];
    if (!rank_device_choose(cluster, machine_settings(config).device, device, &error))
        return false;
    struct bench_settings settings = bench_settings_of(config);
    settings.device = device;
    settings.iterations = COMPARED_ITERATIONS;
    settings.batch = training_settings(config).batch;
    settings.cluster = cluster;
    return scaling_compare(&settings, scaling, &error);
}

void ranks_compare_with_one(struct cluster *cluster, const struct run_config *config, char *text,
                            size_t size)
{
    struct scaling scaling;
    struct ranks_command compare = {.order = RANKS_COMPARE};
    struct run_config copy = *config;
    size_t threads;
    text[0] = '\0';
    if (!cluster || !cluster_broadcast(cluster, &compare, sizeof compare) ||
        !cluster_broadcast(cluster, &copy, sizeof copy) ||
        !ranks_measure_scaling(cluster, &copy, &scaling))
        return;
    const double one = scaling_fastest_one(&scaling, &threads);
    if (one == 0 || scaling.together < one)
        return;
    snprintf(
        text, size,
        "an iteration of %zu images took %.3g ms in %zu processes and %.3g ms in one process "
        "with %zu thread%s: not comparable: measured at different times; tinca bench --cluster "
        "takes turns and says whether data parallelism pays here",
        scaling.batch, 1e3 * scaling.together, scaling.ranks, 1e3 * one, threads,
        threads == 1 ? "" : "s");
}
