/* The table of models with rows that the test makes: origins, gains and Pareto fronts, the advice
 * on techniques after training, the chains of techniques and their commands, and the interval of a
 * median. */
#include "studies/models/other_means.h"
#include "training/compress/technique.h"

#include "base/host/host.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12 };
static struct model_row rows[MOST];
static struct model_table table;
static struct means_advice advice;

static void clear(void)
{
    memset(rows, 0, sizeof rows);
    table = (struct model_table){.rows = rows, .capacity = MOST, .device = "cpu"};
}

/* Writes a checksum for a model that is made up: one of its name. */
static void checksum_of(const char *name, char checksum[MODEL_CHECKSUM])
{
    uint32_t sum = 2166136261u;
    for (const char *at = name; *at; at++)
        sum = (sum ^ (unsigned char)*at) * 16777619u;
    snprintf(checksum, MODEL_CHECKSUM, "%08x", sum);
}

/* Adds a model of the network resnet20 with an accuracy in percent, milliseconds (NaN: not
 * measured) and megabytes. */
static struct model_row *add(const char *name, double top1, double ms, double mb)
{
    struct model_row *row = &rows[table.count++];
    snprintf(row->figures.facts.name, sizeof row->figures.facts.name, "%s", name);
    snprintf(row->base, sizeof row->base, "resnet20");
    snprintf(row->path, sizeof row->path, "/models/%s.safetensors", name);
    snprintf(row->data, sizeof row->data, "digits");
    snprintf(row->data_key, sizeof row->data_key, "00000001");
    model_origin_name(name, "none", row->origin);
    checksum_of(name, row->figures.facts.checksum);
    if (row->origin[0])
        checksum_of(row->origin, row->figures.facts.parent);
    row->figures.facts.classes = 10;
    row->figures.facts.parameters = 1000;
    row->figures.facts.flops = (uint64_t)(mb * 1e6);
    row->figures.facts.bytes = (uint64_t)(mb * 1e6);
    row->source = MODEL_ACCURACY_MEASURED;
    row->timed = isfinite(ms);
    row->now.top1 = top1;
    row->now.ms = ms;
    row->now.ms_low = ms * 0.99;
    row->now.ms_high = ms * 1.01;
    return row;
}

static struct model_pair pairs[MOST][MOST];

/* Adds turns of row i and a row that it was made from, with the ratio of their times. */
static void add_pair(size_t i, const struct model_row *from)
{
    struct host host;
    struct model_row *row = &rows[i];
    struct model_pair *pair = &pairs[i][row->figures.pair_count++];
    host_describe(&host);
    *pair = (struct model_pair){.turns = {.on.threads = host.cores,
                                          .blocks = 16,
                                          .first_ms = row->now.ms,
                                          .second_ms = from->now.ms,
                                          .log_ratio = log(row->now.ms / from->now.ms),
                                          .log_sd = 0.004}};
    snprintf(pair->origin, sizeof pair->origin, "%s", from->figures.facts.checksum);
    snprintf(pair->turns.on.device, sizeof pair->turns.on.device, "%s", table.device);
    snprintf(pair->turns.on.host, sizeof pair->turns.on.host, "%s", host.name);
    snprintf(pair->turns.on.cpu, sizeof pair->turns.on.cpu, "%s", host.cpu);
    row->figures.pairs = pairs[i];
}

/* Lets each row take turns with the rows that it was made from, and completes the table. */
static void complete(void)
{
    model_table_complete(&table);
    for (size_t i = 0; i < table.count; i++) {
        rows[i].figures.pair_count = 0;
        for (size_t from = rows[i].origin_row; from != MODEL_NO_ROW; from = rows[from].origin_row)
            if (model_row_is_made_from(&rows[i], &rows[rows[i].origin_row]) && rows[i].timed &&
                rows[from].timed)
                add_pair(i, &rows[from]);
    }
    model_table_complete(&table);
}

/* --- the table --- */

static bool is_origin(const char *name, const char *technique, const char *expected)
{
    char origin[MODEL_NAME];
    return strcmp(model_origin_name(name, technique, origin), expected) == 0;
}

static void test_origins(void)
{
    tap_ok(is_origin("resnet20+prune:0.5+quantize:mse", "none", "resnet20+prune:0.5") &&
               is_origin("resnet20-shift+prune:2.5ms", "shift", "resnet20-shift"),
           "the origin of a chain lacks its last step");
    tap_ok(is_origin("resnet20-shift", "shift", "resnet20") &&
               is_origin("resnet20-dsc-0.5", "dsc", "resnet20-0.5"),
           "that of a technique is the plain network");
    tap_ok(is_origin("resnet20", "none", "") && is_origin("my-shift", "none", ""),
           "a plain network has none");
}

static void test_gains(void)
{
    clear();
    add("resnet20+quantize:mse", 88, 1, 1);
    add("resnet20", 90, 2, 4);
    add("resnet20", 91, 3, 4);
    snprintf(add("resnet20", 99, 3, 4)->data_key, MODEL_DATA_KEY, "00000002");
    complete();
    tap_ok(rows[0].origin_row == 2,
           "of several copies of the origin the most accurate one on the same data counts");
    tap_ok(rows[0].gain.points == -3 && fabs(rows[0].gain.ms - 3) < 1e-9 && rows[0].gain.bytes == 4,
           "the gain: points lost, times faster, times smaller");
    tap_ok(rows[1].origin_row == MODEL_NO_ROW && isnan(rows[1].gain.ms), "without an origin, none");
    add("resnet20+half", 91, (double)NAN, 2);
    complete();
    tap_ok(rows[4].origin_row == 2 && isnan(rows[4].gain.ms) && rows[4].gain.bytes == 2,
           "what is not measured gains nothing that is known");
    clear();
    add("resnet20", 90, 2, 4);
    snprintf(add("resnet20", 98, 2, 4)->figures.facts.checksum, MODEL_CHECKSUM, "00000001");
    add("resnet20+half", 89.5, 2, 2);
    complete();
    tap_ok(rows[2].origin_row == 0 && rows[2].gain.points == -0.5,
           "another network of the origin's name is not the origin");
    snprintf(rows[0].data_key, MODEL_DATA_KEY, "00000002");
    complete();
    tap_ok(rows[2].origin_row == 0 && isnan(rows[2].gain.points) && rows[2].gain.bytes == 2,
           "accuracies of different data sets are not compared, but bytes are");
    rows[2].figures.facts.parent[0] = '\0';
    complete();
    tap_ok(rows[2].origin_row == MODEL_NO_ROW, "a file that does not name its parent has none");
}

static void test_times(void)
{
    char text[200];
    clear();
    add("resnet20", 90, 2, 4);
    add("resnet20+half", 90, 2.01, 2); /* within the margin */
    add("resnet20+prune:0.5", 90, 1, 2);
    complete();
    tap_ok(rows[1].gain.ms == 1 && strstr(model_gain_text(&rows[1], text, sizeof text), "as fast"),
           "times that turns do not show to differ are as fast: %s", text);
    tap_ok(fabs(rows[2].gain.ms - 2) < 1e-9, "others have a ratio");
    rows[0].now.ms = 0.5; /* measured at another moment */
    model_table_complete(&table);
    tap_ok(fabs(rows[2].gain.ms - 2) < 1e-9 && (rows[2].front & MODEL_FRONT_MS) &&
               !(rows[0].front & MODEL_FRONT_MS),
           "the ratio is that of the turns, and the front compares by them");
    pairs[2][0].turns.marked = 7;
    model_table_complete(&table);
    tap_ok(isnan(rows[2].gain.ms) && (rows[0].front & MODEL_FRONT_MS),
           "with nine undisturbed blocks there is neither a ratio nor a dominated row");
    rows[2].figures.pair_count = 0;
    model_table_complete(&table);
    tap_ok(isnan(rows[2].gain.ms) &&
               !strstr(model_gain_text(&rows[2], text, sizeof text), "faster"),
           "without them there is none: %s", text);
    pairs[2][0].turns.marked = 0;
    rows[2].figures.pair_count = 1;
    table.threads = 1000;
    model_table_complete(&table);
    tap_ok(isnan(rows[2].gain.ms), "nor with another number of threads");
}

/* --- the names of results --- */

static void test_file_names(void)
{
    static const char digits[] = "digits,limit=100", step[] = "prune:0.5",
                      taught[] = "distill:/models/resnet20.safetensors";
    const struct means_settings first = {digits, 1, 1},
                                others[] = {{digits, 2, 1}, {digits, 1, 2}, {"digits", 1, 1}};
    char name[MEANS_FILE_NAME], other[MEANS_FILE_NAME];
    clear();
    snprintf(add("resnet20", 90, 2, 4)->figures.key, MODEL_KEY, "a");
    snprintf(add("resnet20+half", 90, 2, 4)->figures.key, MODEL_KEY, "b");
    means_file_name(&table, 1, 0, step, &first, name);
    tap_ok(strcmp(name, means_file_name(&table, 1, 0, step, &first, other)) == 0 &&
               strncmp(name, "resnet20+half+prune-", 20) == 0,
           "the same result has the same file: %s", name);
    bool differ = true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        differ &= strcmp(name, means_file_name(&table, 1, 0, step, &others[i], other)) != 0;
    tap_ok(differ, "other epochs, another seed and other data have another one");
    tap_ok(strcmp(name, means_file_name(&table, 1, 0, "prune:0.4", &first, other)) != 0,
           "and another step");
    snprintf(rows[1].figures.key, MODEL_KEY, "c");
    tap_ok(strcmp(name, means_file_name(&table, 1, 0, step, &first, other)) != 0,
           "and another model of the same name");
    means_file_name(&table, 1, 0, taught, &first, name);
    snprintf(rows[0].figures.key, MODEL_KEY, "d");
    tap_ok(strcmp(name, means_file_name(&table, 1, 0, taught, &first, other)) != 0,
           "and another teacher of the same path");
}

static void test_fronts(void)
{
    clear();
    add("resnet20", 90, 4, 4);
    add("resnet20+prune:0.5", 89, 2, 2);
    /* slower and less accurate than the one before, but smaller; they took no turns */
    add("resnet20+prune:0.4", 88, 3, 1);
    add("resnet20+prune:0.6", 85, 5, 4.5);    /* worse in everything than the first */
    add("resnet20+half", 95, (double)NAN, 5); /* its time is not measured */
    complete();
    const unsigned all = MODEL_FRONT_MS | MODEL_FRONT_BYTES | MODEL_FRONT_FLOPS;
    tap_ok(rows[0].front == all && rows[1].front == all,
           "models that nothing dominates are on all fronts");
    tap_ok(rows[2].front == all, "times that were not taken in turns call no row dominated");
    tap_ok(rows[3].front == 0, "a dominated one is on none");
    tap_ok(!(rows[4].front & MODEL_FRONT_MS) && (rows[4].front & MODEL_FRONT_BYTES),
           "a figure that is not measured keeps a model from its front only");
    model_table_sort(&table, 5);
    tap_ok(strcmp(rows[0].figures.facts.name, "resnet20+prune:0.5") == 0 &&
               strcmp(rows[4].figures.facts.name, "resnet20+half") == 0,
           "sorted by ms, rows without it come last");
}

/* --- the advice --- */

static bool advises(struct means_request request, enum means_verdict verdict, const char *step)
{
    struct error error;
    complete();
    request.accept_loss = request.accept_loss > 0 ? request.accept_loss : 2;
    const bool advised = means_advise(&table, &request, &advice, &error);
    tap_note("%s %s: %s", advised ? means_verdict_name(advice.verdict) : error.why, advice.step,
             advice.reason_count > 0 ? advice.reasons[advice.reason_count - 1] : "");
    return advised && advice.verdict == verdict && (!step || strcmp(advice.step, step) == 0);
}

static struct means_request faster(double ms)
{
    return (struct means_request){.faster = true, .limit_ms = ms, .limit_mb = (double)NAN};
}

static struct means_request smaller(double mb)
{
    return (struct means_request){.smaller = true, .limit_ms = (double)NAN, .limit_mb = mb};
}

static void test_speed(void)
{
    clear();
    add("resnet20", 90, (double)NAN, 4);
    tap_ok(advises(faster(2), MEANS_MEASURE, NULL) && advice.row == 0,
           "what is not measured comes first");
    clear();
    add("resnet20", 90, 2, 4);
    tap_ok(advises(faster(3), MEANS_USE, NULL), "a network within the limit is to be used");
    tap_ok(advises(faster(1.9), MEANS_TRY, "quantize:percentile") &&
               advice.evidence == MODEL_NO_ROW,
           "int8, if it is assumed to be enough");
    tap_ok(advises(faster(0.5), MEANS_TRY, "prune:0.2"),
           "else pruning to the share that is missing");
    tap_ok(advises(faster((double)NAN), MEANS_TRY, "quantize:percentile"),
           "without a limit any gain is enough");
    add("resnet20+quantize:percentile", 89, 0.45, 1);
    tap_ok(advises(faster(0.5), MEANS_USE, NULL) && advice.row == 1,
           "a row that meets the limit is to be used");
    tap_ok(advises(faster(0.1), MEANS_TRY, "prune:0.1"),
           "a limit that is far away: the least share");
    clear();
    add("resnet20", 90, 2, 4);
    add("resnet20+prune:0.5", 89, 1.1, 2);
    add("resnet20+prune:0.3", 89, 0.9, 1.5);
    add("resnet20+prune:0.3+quantize:mse", 88.5, 0.3, 0.4);
    complete();
    tap_ok(advises(faster(0.5), MEANS_USE, NULL) && advice.row == 3, "also one after a chain");
    tap_ok(advises(faster(0.28), MEANS_TRY, "quantize:percentile") && advice.row == 1 &&
               advice.evidence == 3,
           "int8 on the next accurate row, by what it gained in the table");
}

/* Excludes a result of the network. */
static void exclude(struct means_request *request, const char *name)
{
    struct means_exclusion *excluded = &request->excluded[request->excluded_count++];
    snprintf(excluded->name, sizeof excluded->name, "%s", name);
    checksum_of("resnet20", excluded->parent);
}

static void test_size(void)
{
    clear();
    add("resnet20", 90, 2, 4);
    tap_ok(advises(smaller(2.5), MEANS_TRY, "half:float16"), "up to two times: half precision");
    tap_ok(advises(smaller(1.1), MEANS_TRY, "quantize:percentile"), "up to four times: int8");
    tap_ok(advises(smaller(0.4), MEANS_TRY, "prune:p0.35"),
           "beyond: pruning to as many parameters as int8 then makes small enough");
    rows[0].figures.facts.linear_parameters = 900;
    tap_ok(advises(smaller(0.4), MEANS_TRY, "factorize:p0.35"),
           "or factorization, where linear layers have most");
    struct means_request request = smaller(0.4);
    exclude(&request, "resnet20+factorize:p0.35");
    tap_ok(advises(request, MEANS_TRY, NULL) && strncmp(advice.step, "prune:p", 7) == 0,
           "what failed is not tried again");
    add("resnet20+quantize:mse", 89, 1, 1);
    add("resnet20+half:bf16", 90, 2, 2);
    for (size_t i = 0; i < 12; i++) {
        char name[MODEL_NAME];
        snprintf(name, sizeof name, "resnet20+prune:p%.2g", 0.05 * (double)(i + 1));
        exclude(&request, name);
    }
    tap_ok(advises(request, MEANS_NOTHING, NULL) && advice.best == 1,
           "when all is tried, nothing is left, and the nearest is the best");
}

static void test_pairs(void)
{
    clear();
    add("resnet20", 90, 2, 4);
    add("resnet20+prune:p0.35", 89, 1, 1.4);
    tap_ok(advises(smaller(0.4), MEANS_TRY, "quantize:percentile") && advice.row == 1,
           "a pruned model that int8 makes small enough is quantized");
    add("resnet20+prune:p0.35+quantize:percentile", 88.5, 1, 0.37);
    tap_ok(advises(smaller(0.4), MEANS_USE, NULL) && advice.row == 2, "and that is used");
    clear();
    add("resnet20", 90, 2, 4);
    add("resnet20+prune:p0.35", 50, 1, 1.4);
    tap_ok(advises(smaller(0.4), MEANS_TRY, "distill:/models/resnet20.safetensors") &&
               advice.row == 1,
           "one that has lost too much is distilled before");
    rows[1].now.top1 = 50;
    add("resnet20+prune:p0.35+distill:resnet20", 60, 1, 1.4);
    add("resnet20+quantize:percentile", 89, 1, 1);
    tap_ok(advises(smaller(0.4), MEANS_TRY, "half:float16"),
           "smaller shares are not tried where a larger one has lost too much");
}

/* Returns whether a reason of the last advice has these words. */
static bool says(const char *words)
{
    for (size_t i = 0; i < advice.reason_count; i++)
        if (strstr(advice.reasons[i], words))
            return true;
    return false;
}

static void test_time(void)
{
    clear();
    add("resnet20", 90, 2, 4)->figures.facts.linear_parameters = 900;
    add("resnet20+quantize:percentile", 89, 4, 1);
    add("resnet20+prune:0.4", 89, 1.5, 2);
    tap_ok(advises(faster(1.2), MEANS_TRY, "prune:0.55") && advice.row == 0,
           "int8 that was slower is not tried for time; pruning goes on");
    tap_ok(says("0.50 times the speed (median of 1; the last one is row 2"),
           "the reason names the row");
    snprintf(table.device, sizeof table.device, "cuda");
    tap_ok(advises(faster(1.2), MEANS_TRY, NULL) && strncmp(advice.step, "quantize", 8) != 0 &&
               says("does not compute in int8"),
           "nor is it where the device has none");
    clear();
    struct model_row *row = add("resnet20", 90, 2, 4);
    row->figures.facts.linear_parameters = 900;
    row->figures.facts.flops = 2000;
    struct means_request request = faster(0.5);
    for (size_t i = 0; i < 4; i++) {
        char name[MODEL_NAME];
        snprintf(name, sizeof name, "resnet20+prune:%.2g", 0.1 + 0.05 * (double)i);
        exclude(&request, name);
    }
    exclude(&request, "resnet20+quantize:percentile");
    tap_ok(advises(request, MEANS_TRY, "factorize:0.5ms"), "factorization has the time as target");
    struct model_row *made = add("resnet20+factorize:0.5ms", 90, 1.9, 4);
    made->figures.facts.linear_parameters = 900;
    made->figures.facts.flops = 2000;
    tap_ok(advises(request, MEANS_TRY, NULL) && strncmp(advice.step, "factorize", 9) != 0,
           "and is not repeated");
    clear();
    add("resnet20", 90, 2, 4);
    advises(faster((double)NAN), MEANS_TRY, NULL);
    tap_ok(says("0.00 points lost: no better than the network") && !says("limit"),
           "without a limit none is named");
    add("resnet20+prune:0.5", 93.2, 1, 2);
    advises(faster((double)NAN), MEANS_USE, NULL);
    tap_ok(says("3.20 points gained"), "points that are gained are not lost");
}

/* Of models that are too slow, times of different moments do not say which one is nearer to the
 * limit: turns do, or else the accuracy decides. */
static void test_nearest(void)
{
    clear();
    add("resnet20", 90, 4, 4);
    add("resnet20+prune:0.6", 89, 3, 2);
    add("resnet20+prune:0.4", 89.5, 3.2, 2); /* slower by number, and more accurate */
    complete();
    struct means_request request = faster(1);
    request.accept_loss = 2;
    tap_ok(!means_is_better(&table, &request, 0, 1, 2) &&
               means_is_better(&table, &request, 0, 2, 1),
           "3 and 3.2 ms of different moments have no order: the accuracy decides");
    tap_ok(means_is_better(&table, &request, 0, 1, 0) &&
               !means_is_better(&table, &request, 0, 0, 1),
           "3 and 4 ms in turns have one, before the accuracy");
    rows[1].figures.pair_count = 0;
    tap_ok(!means_is_better(&table, &request, 0, 1, 0), "and none without the turns");
    request.limit_ms = 3.1;
    tap_ok(means_is_better(&table, &request, 0, 1, 2), "one that meets the limit is nearer");
}

static void test_ratio_without_verdict(void)
{
    char text[200];
    clear();
    add("resnet20", 90, 2, 4);
    add("resnet20+half", 90, 1, 4);
    model_table_complete(&table);
    tap_ok(isnan(rows[1].gain.ms) && rows[1].gain.ms_apart == 0.5 &&
               strstr(model_gain_text(&rows[1], text, sizeof text),
                      ", ms ratio 0.50 without a verdict"),
           "without turns the gain has a ratio and no verdict: %s", text);
    complete();
    tap_ok(isnan(rows[1].gain.ms_apart) &&
               strstr(model_gain_text(&rows[1], text, sizeof text), ", 2.00 x faster") &&
               !strstr(text, "verdict"),
           "turns give one: %s", text);
}

static void test_distillation(void)
{
    clear();
    add("resnet20", 90, 2, 4);
    add("resnet20+prune:0.4", 80, 0.9, 1.6);
    tap_ok(advises(faster(1), MEANS_TRY, "distill:/models/resnet20.safetensors") && advice.row == 1,
           "fast enough, but too inaccurate: distillation with the network as teacher");
    tap_ok(advice.best == 0, "the best so far is the accurate one");
    struct means_request generous = faster(1);
    generous.accept_loss = 20;
    tap_ok(advises(generous, MEANS_USE, NULL), "unless the loss is accepted");
    add("resnet20+prune:0.4+distill:resnet20", 89, 0.9, 1.6);
    tap_ok(advises(faster(1), MEANS_USE, NULL) && advice.row == 2, "and then its result is used");
}

/* --- chains --- */

static bool reads(const char *text)
{
    struct technique_chain chain;
    struct error error;
    return technique_chain_read(&chain, text, &error);
}

static bool has_goal(const char *argument, enum technique_goal goal, double value)
{
    double found;
    return technique_goal_of(argument, &found) == goal && found == value;
}

static void test_chains(void)
{
    tap_ok(reads("half") && reads("prune:0.5+quantize:percentile") && reads("factorize") &&
               reads("prune:p0.5+prune:2.5ms+prune:m0.9") && reads("distill:a/b.safetensors"),
           "chains of techniques");
    tap_ok(!reads("") && !reads("melt") && !reads("prune") && !reads("prune:0") &&
               !reads("prune:1.5") && !reads("half+") && !reads("half:int3") &&
               !reads("factorize:m0.5") && !reads("quantize:best") && !reads("distill"),
           "and what is none");
    tap_ok(has_goal("0.5", TECHNIQUE_PLAIN, 0.5) && has_goal("p0.25", TECHNIQUE_PARAMETERS, 0.25) &&
               has_goal("m0.9", TECHNIQUE_ZEROS, 0.9) && has_goal("2.5ms", TECHNIQUE_TIME, 2.5),
           "what a step makes smaller");
    const char *argument;
    tap_ok(technique_step_is("distill:a:b", "distill", &argument) && strcmp(argument, "a:b") == 0 &&
               technique_step_is("half", "half", &argument) && !argument[0] &&
               !technique_step_is("halfway", "half", &argument),
           "kinds and arguments of steps");
    tap_ok(technique_step_trains("prune:0.5") && !technique_step_trains("prune:m0.5") &&
               technique_step_trains("factorize") && technique_step_trains("tune") &&
               !technique_step_trains("quantize"),
           "which steps train");
}

/* --- the median --- */

static void test_median(void)
{
    double times[101], median, low, high;
    for (size_t i = 0; i < 101; i++)
        times[i] = (double)((i * 37) % 101 + 1); /* 1 to 101 in another order */
    model_median(times, 101, &median, &low, &high);
    tap_ok(median == 51, "the median of 101 times");
    /* Conover 1999: the order statistics 41 and 61 of 101 */
    tap_ok(low == 41 && high == 61, "and its interval: %g to %g", low, high);
    model_median(times, 5, &median, &low, &high);
    tap_ok(isfinite(median) && isnan(low) && isnan(high), "five times have no interval of 95 %%");
    model_median(times, 0, &median, &low, &high);
    tap_ok(isnan(median), "no times, no median");
}

TEST_CASE(models_test)
{
    test_origins();
    test_gains();
    test_times();
    test_file_names();
    test_fronts();
    test_speed();
    test_size();
    test_pairs();
    test_time();
    test_nearest();
    test_ratio_without_verdict();
    test_distillation();
    test_chains();
    test_median();
    return tap_done();
}
