/* Rank 0 prints what it has measured with the others, and what the model says of other clusters. */
#include "cli/internal.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/processes.h"

#include "base/language.h"
#include "base/text.h"
#include "runs/settings/settings.h"
#include "training/bench/scaling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Without --batch each of the ranks that are predicted has at least one image. */
enum { MOST_RANKS = 64, USUAL_BATCH = MOST_RANKS };

/* Networks between hosts for the prediction: typical latencies of TCP over 10 Gbit/s Ethernet, and
 * of RDMA over 100 Gbit/s. */
static const struct network_kind {
    const char *key;
    double latency, bits_per_second;
} networks[] = {{"10_gbit", 25e-6, 10e9}, {"100_gbit", 3e-6, 100e9}};
enum { NETWORKS = sizeof networks / sizeof *networks };

static double speedup(const struct scaling *scaling, double seconds)
{
    return scaling_one(scaling) / seconds;
}

/* --- JSON --- */

static bool add_prediction(struct json *list, const struct scaling *scaling, size_t ranks,
                           const struct scaling_link *link)
{
    struct json *object = json_add_object(list, NULL);
    const double seconds = scaling_predict(scaling, ranks, link);
    return json_add_count(object, "ranks", ranks) && json_add_number(object, "ms", 1e3 * seconds) &&
           json_add_number(object, "speedup", speedup(scaling, seconds));
}

static bool add_predictions(struct json *list, const struct scaling *scaling,
                            const struct scaling_link *link)
{
    bool added = list;
    for (size_t ranks = 2; added && ranks <= MOST_RANKS && ranks <= scaling->batch; ranks *= 2)
        added = add_prediction(list, scaling, ranks, link);
    return added;
}

/* Adds what the model says of other clusters. */
static bool add_clusters(struct json *root, const struct scaling *scaling)
{
    struct json *clusters = json_add_object(root, "predictions");
    if (scaling->hosts > 1)
        return add_predictions(json_add_array(clusters, "this_network"), scaling, &scaling->link);
    bool added = clusters;
    for (size_t i = 0; added && i < NETWORKS; i++) {
        const struct scaling_link link =
            scaling_network(scaling, networks[i].latency, networks[i].bits_per_second);
        added = add_predictions(json_add_array(clusters, networks[i].key), scaling, &link);
    }
    return added;
}

/* Adds the parameters of the memory that the measured ranks share. */
static bool add_shared(struct json *root, const struct scaling_link *here)
{
    struct json *shared = json_add_object(root, "shared_memory");
    return json_add_number(shared, "latency_us", 1e6 * here->latency) &&
           json_add_number(shared, "ns_per_byte", 1e9 * here->seconds_per_byte) &&
           json_add_number(shared, "gather_us", 1e6 * here->gather);
}

/* Adds what the turns of all ranks and one process show; null if none were taken. */
static bool add_turns(struct json *root, const struct scaling *scaling)
{
    static const char *const verdicts[] = {[TURNS_ALIKE] = "no-difference-shown",
                                           [TURNS_FIRST_FASTER] = "ranks-faster",
                                           [TURNS_SECOND_FASTER] = "one-process-faster"};
    size_t threads;
    const struct turns_test test = turns_test(&scaling->turns);
    if (scaling->turns.blocks == 0)
        return json_add_null(root, "turns");
    struct json *object = json_add_object(root, "turns"), *interval;
    scaling_fastest_one(scaling, &threads);
    const bool added =
        (test.verdict == TURNS_NONE ? json_add_null(object, "verdict")
                                    : json_add_string(object, "verdict", verdicts[test.verdict])) &&
        json_add_count(object, "one_process_threads", threads) &&
        json_add_number(object, "ratio", test.ratio) &&
        (interval = json_add_array(object, "ratio_interval")) &&
        json_add_number(interval, NULL, test.low) && json_add_number(interval, NULL, test.high);
    return added && turns_to_json(object, &scaling->turns);
}

static int print_json(const struct scaling *scaling)
{
    const struct scaling_link *link = &scaling->link;
    struct json *root = json_new_object();
    const bool complete =
        json_add_string(root, "network", scaling->network) &&
        json_add_string(root, "technique", technique_name(scaling->technique)) &&
        json_add_count(root, "ranks", scaling->ranks) &&
        json_add_count(root, "hosts", scaling->hosts) &&
        json_add_count(root, "threads", scaling->threads) &&
        json_add_count(root, "batch", scaling->batch) &&
        json_add_count(root, "gradients", scaling->gradients) &&
        json_add_count(root, "gathers", scaling->gathers) &&
        json_add_number(root, "one_process_ms",
                        scaling->one > 0 ? 1e3 * scaling->one : (double)NAN) &&
        json_add_number(root, "one_process_all_threads_ms",
                        scaling->whole > 0 ? 1e3 * scaling->whole : (double)NAN) &&
        json_add_count(root, "all_threads", scaling->whole_threads) &&
        json_add_number(root, "share_alone_ms", 1e3 * scaling->share_alone) &&
        json_add_number(root, "share_ms", 1e3 * scaling->share) &&
        json_add_number(root, "latency_us", 1e6 * link->latency) &&
        json_add_number(root, "ns_per_byte", 1e9 * link->seconds_per_byte) &&
        json_add_number(root, "gather_us", 1e6 * link->gather) &&
        (!scaling->shared || add_shared(root, &scaling->here)) &&
        json_add_number(root, "predicted_ms", 1e3 * scaling_predict_measured(scaling)) &&
        json_add_number(root, "measured_ms", 1e3 * scaling->together) && add_turns(root, scaling) &&
        add_clusters(root, scaling);
    return output_json(root, complete);
}

/* --- text --- */

static void print_parts(const struct scaling *scaling)
{
    const struct scaling_link *link = &scaling->link, *here = &scaling->here;
    char bytes[32];
    if (scaling->one > 0)
        output_print(_("  one process  %.4g ms an iteration\n"), 1e3 * scaling->one);
    else
        output_print(_("  one process  the batch does not fit into its memory\n"));
    if (scaling->whole > 0 && scaling->whole_threads != scaling->threads)
        output_print(
            _("  all threads  %.4g ms in one process with the %zu threads of all ranks here\n"),
            1e3 * scaling->whole, scaling->whole_threads);
    output_print(_("  its share    %.4g ms for %zu images, %.4g ms while all ranks compute\n"),
                 1e3 * scaling->share_alone, scaling->batch / scaling->ranks, 1e3 * scaling->share);
    output_print(_("  messages     gradients: %s; gathers: %zu\n"),
                 text_bytes(scaling->gradients * sizeof(float), bytes, sizeof bytes),
                 scaling->gathers);
    output_print(_("  parameters   latency %.3g us, %.3g ns/byte; a gather %.3g us\n"),
                 1e6 * link->latency, 1e9 * link->seconds_per_byte, 1e6 * link->gather);
    if (scaling->shared)
        output_print(
            _("  shared       %.3g us, %.3g ns/byte; %.3g us: here through shared memory\n"),
            1e6 * here->latency, 1e9 * here->seconds_per_byte, 1e6 * here->gather);
}

/* Prints how all ranks stand to one process: a verdict only of turns. */
static void print_turns(const struct scaling *scaling)
{
    static const char *const verdicts[] = {
        [TURNS_NONE] = N_("  in turns     %.4g of the time of one process with threads: %zu, no "
                          "verdict: %s\n"),
        [TURNS_ALIKE] = N_("  in turns     %.4g of the time of one process with threads: %zu, no "
                           "difference is shown (%s)\n"),
        [TURNS_FIRST_FASTER] = N_("  in turns     %.4g of the time of one process with threads: "
                                  "%zu, faster (%s)\n"),
        [TURNS_SECOND_FASTER] = N_("  in turns     %.4g of the time of one process with threads: "
                                   "%zu, slower: data parallelism does not pay here (%s)\n")};
    size_t threads;
    char words[400];
    const struct turns_test test = turns_test(&scaling->turns);
    if (scaling->turns.blocks == 0) {
        output_print(_("  in turns     not measured: the batch does not fit into one process\n"));
        return;
    }
    scaling_fastest_one(scaling, &threads);
    output_print(gettext(verdicts[test.verdict]), test.ratio, threads,
                 turns_text(&scaling->turns, words, sizeof words));
}

static void print_result(const struct scaling *scaling)
{
    const double predicted = scaling_predict_measured(scaling);
    output_print(_("  predicted    %.4g ms\n"), 1e3 * predicted);
    output_print(_("  measured     %.4g ms; the model is off by %+.0f %%\n"),
                 1e3 * scaling->together, 100 * (predicted / scaling->together - 1));
    print_turns(scaling);
}

/* Appends the time and the speed-up of a prediction to the table. */
static void print_prediction(struct table *table, const struct scaling *scaling, size_t ranks,
                             const struct scaling_link *link)
{
    const double seconds = scaling_predict(scaling, ranks, link);
    table_cell(table, "%.4g", 1e3 * seconds);
    table_cell(table, "%.2f", speedup(scaling, seconds));
}

static int print_clusters(const struct scaling *scaling)
{
    const bool here = scaling->hosts > 1;
    struct table table =
        here ? table_begin("rrr", _("RANKS|ms|RATIO"))
             : table_begin("rrrrr", _("RANKS|10 Gbit/s ms|RATIO|100 Gbit/s ms|RATIO"));
    output_print(
        "\n%s\n",
        here ? _("Predicted, each rank on a host like that of rank 0, in this network:")
             : _("Predicted, each rank on a host like this one, with latencies of 25 and 3 us:"));
    for (size_t ranks = 2; ranks <= MOST_RANKS && ranks <= scaling->batch; ranks *= 2) {
        table_cell(&table, "%zu", ranks);
        if (here)
            print_prediction(&table, scaling, ranks, &scaling->link);
        for (size_t i = 0; !here && i < NETWORKS; i++) {
            const struct scaling_link link =
                scaling_network(scaling, networks[i].latency, networks[i].bits_per_second);
            print_prediction(&table, scaling, ranks, &link);
        }
    }
    if (output_table(&table) != EXIT_DONE)
        return EXIT_FAILED;
    output_print(_("RATIO: the time of one process to the predicted one, without a verdict.\n"));
    return EXIT_DONE;
}

static int print_text(const struct scaling *scaling)
{
    output_print(_("%s, technique %s: training, batch %zu; ranks: %zu, hosts: %zu, threads of "
                   "each rank: %zu\n"),
                 scaling->network, technique_name(scaling->technique), scaling->batch,
                 scaling->ranks, scaling->hosts, scaling->threads);
    print_parts(scaling);
    print_result(scaling);
    return print_clusters(scaling);
}

/* --- the command --- */

/* Checks what all ranks can check alike, before they meet. */
static bool check(const struct run_config *config, const struct bench_settings *settings,
                  struct error *error)
{
    if (settings->mode == PLAN_TRAINING && !settings->profile)
        return !config_is_given(config, KEY(device)) ||
               strcmp(machine_settings(config).device, "cpu") == 0 ||
               error_set(error, ERROR_USAGE, "--cluster", "leave --device out",
                         "it measures messages of MPI, but GPUs send by NCCL");
    return error_set(error, ERROR_USAGE, "--cluster", "leave --mode and --profile out",
                     "it measures how an iteration of training scales");
}

/* Sets batch and blocks, and checks that the ranks can share them. The usual batch is rounded up to
 * a multiple of the ranks. */
static bool divide(const struct run_config *config, struct bench_settings *settings,
                   struct error *error)
{
    const size_t ranks = cluster_ranks(settings->cluster);
    char batch[48], advice[64];
    if (!settings->batch)
        settings->batch = (USUAL_BATCH + ranks - 1) / ranks * ranks;
    if (!config_is_given(config, KEY(blocks)))
        settings->image_blocks = ranks;
    if (ranks == 1)
        return error_set(error, ERROR_USAGE, "--cluster",
                         "start it with mpirun -n 2 tinca bench NET --cluster",
                         "there is only one process");
    snprintf(batch, sizeof batch, "--batch %zu", settings->batch);
    snprintf(advice, sizeof advice, _("choose a multiple of %zu"), ranks);
    return settings->batch % ranks == 0 || error_set(error, ERROR_USAGE, batch, advice,
                                                     "%zu ranks cannot have equal shares", ranks);
}

/* Prints an error, which all ranks have unless the cluster has failed. Returns the exit status. */
static int print_failure(struct cluster *cluster, const struct error *error)
{
    if (cluster_rank(cluster) == 0 || !cluster_check(cluster, NULL))
        return processes_print_failure(cluster, error);
    return error->kind == ERROR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

int bench_cluster_run(const struct run_config *config, struct bench_settings *settings,
                      size_t ranks, bool as_json)
{
    struct error error;
    struct scaling scaling;
    int status;
    if (!check(config, settings, &error))
        return output_error(&error);
    if (!processes_meet(ranks, &settings->cluster, &status))
        return status;
    struct cluster *cluster = settings->cluster;
    if (!divide(config, settings, &error) || !scaling_measure(settings, &scaling, &error))
        status = print_failure(cluster, &error);
    else if (cluster_rank(cluster) == 0)
        status = as_json ? print_json(&scaling) : print_text(&scaling);
    else
        status = EXIT_DONE;
    processes_close(cluster, status);
    return status;
}
