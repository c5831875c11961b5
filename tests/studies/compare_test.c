/* The comparison of runs, from folders that the test writes: values, missing measurements and their
 * commands, what turns show of times, order, published rows, and the four formats. */
#include "studies/compare/compare_significance.h"

#include "base/escape/shell.h"
#include "base/json/json.h"
#include "runs/settings/train_command.h"

#include "made_runs.h"

static const struct made_run made[] = {
    {"20260101-000000-resnet20-0001", "resnet20", "none", NULL, 86, 272762, "cpu", 2.0, 0.1, false},
    {"20260102-000000-resnet20-0002", "resnet20-shift", "shift", NULL, 82, 35194, "cpu", 1.5, 0.1,
     false},
    {"20260103-000000-resnet20-0003", "resnet20-shuffle (4 groups)", "shuffle", NULL, 80, 20000,
     "cpu", 1.6, 0.1, false},
    {"20260104-000000-lenet-0004", "lenet", "none", "digits", NAN, 431080, NULL, 0, 0, false},
    {"20260105-000000-resnet20-0005", "resnet20-dsc-0.36", "dsc", NULL, 83, 270000, NULL, 0, 0,
     true},
};
enum { RUNS = sizeof made / sizeof *made };
static struct run *runs[RUNS];

static bool fill(struct comparison *comparison, size_t count, bool published)
{
    struct error error;
    *comparison = (struct comparison){0};
    for (size_t i = 0; i < count; i++)
        if (!runs[i] || !compare_add_run(comparison, runs[i], &error)) {
            note_error(&error);
            return false;
        }
    return (!published || compare_add_published(comparison, &error)) &&
           compare_complete(comparison, &error);
}

static bool holds(const struct comparison *table, enum compare_format format, const char *part);

static void test_rows(void)
{
    struct comparison table;
    if (!tap_ok(fill(&table, RUNS, false) && table.count == RUNS, "runs become rows"))
        return;
    const struct compare_row *rows = table.rows;
    tap_ok(rows[0].figures.best_top1 == 86 && rows[0].figures.parameters == 272762 &&
               rows[0].figures.flops == 1000000 && rows[0].figures.model_bytes == 272762 * 4 &&
               rows[0].figures.training_memory_bytes == 5000000,
           "with the values of the run and its files");
    tap_ok(fabs(rows[0].figures.e_p - 86.0 / 272762) < 1e-12, "E_P is accuracy / parameters");
    tap_ok(isnan(rows[3].figures.best_top1) && isnan(rows[3].figures.e_p),
           "an unknown accuracy is not zero");
    tap_ok(isnan(rows[4].figures.model_bytes), "nor is a size, when no model is saved, invented");
    tap_ok(strcmp(rows[1].base, "resnet20") == 0 && strcmp(rows[2].base, "resnet20") == 0 &&
               strcmp(rows[4].base, "resnet20-0.36") == 0 && strcmp(rows[3].base, "lenet") == 0,
           "the network without its technique");
    tap_ok(table.device_count == 1 && strcmp(table.devices[0], "cpu") == 0, "one column of times");
    tap_ok(strcmp(rows[0].name, made[0].id) == 0, "a run is called by its ID");
    compare_free(&table);
}

static void test_relations(void)
{
    struct comparison table;
    if (!tap_ok(fill(&table, RUNS, false), "a table"))
        return;
    const struct compare_test apart = compare_test_times(&table, 0, 0, 2);
    tap_ok(compare_rows(&table, 0, 0, 2) == COMPARE_UNRELATED && apart.kind == TEST_NONE &&
               !apart.differs && apart.ratio == 2.0 / 1.6 &&
               strcmp(apart.reason, "not comparable: measured at different times") == 0,
           "2.0 and 1.6 +- 0.1, measured at different times, have a ratio and no verdict: %s",
           apart.reason);
    tap_ok(compare_rows(&table, 0, 0, 1) == COMPARE_SLOWER &&
               compare_rows(&table, 0, 1, 0) == COMPARE_FASTER,
           "2.0 and 1.5 in turns differ, whichever run's folder has them");
    const struct compare_test turns = compare_test_times(&table, 0, 1, 0);
    tap_ok(turns.kind == TEST_TURNS && turns.differs && fabs(turns.ratio - 0.75) < 1e-12 &&
               turns.first == 16 && turns.p < 1e-6,
           "with the ratio, the blocks and p");
    tap_ok(compare_rows(&table, 0, 1, 2) == COMPARE_INDISTINGUISHABLE,
           "a difference that the blocks do not show is none");
    tap_ok(compare_rows(&table, 0, 0, 4) == COMPARE_UNRELATED, "an unmeasured time is neither");
    table.rows[1].ms.entries[0].on.threads = 1;
    tap_ok(isnan(compare_test_times(&table, 0, 3, 0).ratio), "without a time there is no ratio");
    table.rows[1].ms.turns_count = 0;
    table.rows[0].ms.turns_count = 0;
    tap_ok(isnan(compare_test_times(&table, 0, 0, 1).ratio), "nor with other threads");
    compare_free(&table);
}

/* The precisions are said in the cells, in the comparison of two times, in JSON and in CSV. */
static void test_precisions(void)
{
    struct comparison table;
    char cell[640], words[400];
    if (!tap_ok(fill(&table, 3, false), "a table"))
        return;
    snprintf(table.rows[2].ms.entries[0].on.precision, 16, "int8");
    const struct compare_test apart = compare_test_times(&table, 0, 0, 2);
    tap_ok(apart.kind == TEST_NONE &&
               strcmp(apart.reason, "not comparable: measured at different times; computed in "
                                    "float32 and int8") == 0,
           "times of different moments: %s", apart.reason);
    struct turns *turns = &table.rows[1].ms.turns[0].turns;
    snprintf(turns->on.precision, 16, "bf16");
    snprintf(turns->second_precision, 16, "float32");
    const struct compare_test test = compare_test_times(&table, 0, 0, 1);
    compare_test_text(&test, words, sizeof words);
    tap_ok(strncmp(words, "computed in float32 and bf16; ", 30) == 0, "times in turns: %s", words);
    size_t column = 1;
    while (strcmp(compare_heading(&table, column, cell, sizeof cell), "ms cpu") != 0)
        column++;
    tap_ok(strstr(compare_cell(&table, 2, column, cell, sizeof cell), "1.6 +- 0.1 int8") == cell,
           "a cell names a precision other than float32: %s", cell);
    tap_ok(!strstr(compare_cell(&table, 0, column, cell, sizeof cell), "float32"), "only those: %s",
           cell);
    tap_ok(holds(&table, COMPARE_JSON, "\"precision\":\"int8\"") &&
               holds(&table, COMPARE_JSON, "\"precision\":\"float32\"") &&
               holds(&table, COMPARE_CSV, ",watts cpu,precision cpu,"),
           "JSON and CSV have each row's");
    compare_free(&table);
}

/* NaN is a loss, that of a run that diverged; it is written in one way, without a sign. */
static void test_nan(void)
{
    struct comparison table;
    char cell[640], heading[64];
    size_t column = 0;
    if (!tap_ok(fill(&table, 2, false), "a table"))
        return;
    while (column < compare_columns(&table) &&
           strcmp(compare_heading(&table, column, heading, sizeof heading), "LOSS") != 0)
        column++;
    table.rows[0].figures.loss = -(double)NAN;
    table.rows[0].figures.has_loss = true;
    tap_ok(strcmp(compare_cell(&table, 0, column, cell, sizeof cell), "NaN") == 0,
           "a loss that became NaN: %s", cell);
    table.rows[0].figures.loss = INFINITY;
    tap_ok(strcmp(compare_cell(&table, 0, column, cell, sizeof cell), "inf") == 0, "or infinite");
    table.rows[0].figures.validation_loss = -(double)NAN;
    for (column = 0; strcmp(compare_heading(&table, column, heading, sizeof heading), "VAL. LOSS");)
        column++;
    tap_ok(strcmp(compare_cell(&table, 0, column, cell, sizeof cell), "NaN") == 0,
           "that of a validation, too: %s", cell);
    compare_free(&table);
}

/* Turns say nothing once a model has changed, nor with too few undisturbed blocks. */
static void test_stale_turns(void)
{
    struct comparison table;
    if (!tap_ok(fill(&table, 2, false), "a table"))
        return;
    struct turns *turns = &table.rows[1].ms.turns[0].turns;
    turns->blocks = 30;
    turns->marked = 21;
    turns->log_ratio = 1;
    const struct compare_test test = compare_test_times(&table, 0, 1, 0);
    tap_ok(test.kind == TEST_NONE && strstr(test.reason, "disturbed 21 of 30 blocks") &&
               test.ratio == exp(1) && compare_rows(&table, 0, 1, 0) == COMPARE_UNRELATED,
           "nine undisturbed blocks are too few: %s", test.reason);
    table.rows[0].ms.model.changed++;
    tap_ok(strcmp(compare_test_times(&table, 0, 1, 0).reason,
                  "not comparable: measured at different times") == 0,
           "of a model that has changed since, they say nothing");
    compare_free(&table);
}

static bool gap_is(const struct comparison *table, size_t row, const char *what,
                   const char *command)
{
    struct compare_missing missing;
    bool is = compare_missing(table, row, 0, &missing) && strcmp(missing.what, what) == 0 &&
              strcmp(missing.command, command) == 0;
    if (!is)
        tap_note("%s: %s", missing.what, missing.command);
    return is;
}

static void test_missing(void)
{
    struct comparison table;
    struct compare_missing missing;
    struct text text = {0};
    if (!tap_ok(fill(&table, RUNS, true), "a table with published rows"))
        return;
    tap_ok(!compare_missing(&table, 0, 0, &missing), "a measured time is not missing");
    tap_ok(gap_is(&table, 3, "accuracy and ms on cpu",
                  "tinca measure 20260104-000000-lenet-0004 --device cpu --threads 2"),
           "a model must be measured, with the threads of the others");
    tap_ok(gap_is(&table, 4, "model size and ms on cpu (no weights are saved)",
                  "tinca train resnet20-dsc-0.36 --data cifar10:/data/cifar --validate "
                  "cifar10:/data/cifar,split=test --batch 32 --epochs 3"),
           "without a model a run must be started");
    bool none = true;
    for (size_t row = 0; row < table.count; row++)
        none = none && !compare_missing(&table, row, 1, &missing);
    tap_ok(none && !compare_missing(&table, RUNS, 0, &missing),
           "published figures are never missing");
    static const char *const settings[] = {"network=resnet20", "technique=shuffle", "groups=4",
                                           "data=shapes", NULL};
    struct run_config config = configure(settings);
    train_command_append(&text, &config, NULL, NULL);
    tap_ok(strcmp(text.data, "tinca train resnet20 --technique shuffle --data shapes --groups 4") ==
               0,
           "a technique and its groups: %s", text.data);
    text_free(&text);
    train_command_append(&text, &config, "resnet20", "shift");
    tap_ok(strcmp(text.data, "tinca train resnet20-shift --data shapes") == 0,
           "another technique has no groups: %s", text.data);
    text_free(&text);
    bench_command_append(&text, &config);
    tap_ok(strcmp(text.data, "tinca bench --batch 64 --device cpu --technique shuffle --groups 4 "
                             "--profile resnet20") == 0,
           "the command trains the same network: %s", text.data);
    text_free(&text);
    shell_word_append(&text, "it's here");
    tap_ok(strcmp(text.data, "'it'\\''s here'") == 0, "words are quoted for the shell");
    text_free(&text);
    compare_free(&table);
}

static bool order_is(const struct comparison *table, const char *order)
{
    char found[16] = "";
    for (size_t i = 0; i < table->count && i + 1 < sizeof found; i++) {
        const char *name = table->rows[i].name;
        found[i] = name[strlen(name) - 1];
        found[i + 1] = '\0';
    }
    if (strcmp(found, order) != 0)
        tap_note("%s", found);
    return strcmp(found, order) == 0;
}

static void test_order(void)
{
    static const char *const orders[][2] = {
        {"top1", "15234"},    {"e_p", "32154"}, {"parameters", "32514"},
        {"size", "32145"},    {"ms", "23145"},  {"cpu", "23145"},
        {"network", "41523"}, {"run", "12345"}, {NULL, NULL}};
    struct error error;
    for (size_t i = 0; orders[i][0]; i++) {
        struct comparison table;
        tap_ok(fill(&table, RUNS, false) && compare_sort(&table, orders[i][0], false, &error) &&
                   order_is(&table, orders[i][1]),
               "sorted by %s, the unknown last", orders[i][0]);
        compare_free(&table);
    }
    struct comparison table;
    tap_ok(fill(&table, RUNS, false) && !compare_sort(&table, "beauty", false, &error) &&
               strstr(error.advice, "top1"),
           "for an unknown column the message lists the known ones");
    compare_free(&table);
}

static void test_published(void)
{
    struct comparison table;
    if (!tap_ok(fill(&table, 2, true) && table.count == 2 + 4,
                "published rows of the networks that are compared"))
        return;
    const struct compare_row *row = &table.rows[4]; /* resnet20-shift */
    bool marked = true;
    char cell[640];
    for (size_t i = 2; i < table.count; i++)
        marked = marked && !table.rows[i].run &&
                 strstr(compare_cell(&table, i, 1, cell, sizeof cell), "published");
    tap_ok(marked, "each is marked");
    tap_ok(strcmp(row->network, "resnet20-shift") == 0 && row->figures.best_top1 == 80.81 &&
               row->figures.parameters == 35194,
           "with the dissertation's figures");
    tap_ok(table.device_count == 3 && compare_time(&table, 4, 2) &&
               compare_time(&table, 4, 2)->ms_per_image.mean == 2.07 && !compare_time(&table, 0, 2),
           "in separate columns");
    tap_ok(compare_rows(&table, 1, 3, 4) == COMPARE_UNRELATED, "and never compared");
    tap_ok(compare_speed_up(&table, 4, 1, 2) == 2.07 / 1.92 &&
               compare_speed_up(&table, 4, 2, 1) == 1.92 / 2.07,
           "the speed-up of a device is the ratio of the times");
    tap_ok(isnan(compare_speed_up(&table, 0, 0, 1)) && isnan(compare_speed_up(&table, 4, 1, 1)),
           "and unknown where a time is");
    compare_free(&table);
}

static bool holds(const struct comparison *table, enum compare_format format, const char *part)
{
    struct text text = {0};
    compare_write(table, format, &text, NULL);
    bool found = text.data && !text.failed && strstr(text.data, part);
    if (!found)
        tap_note("%s", text.data ? text.data : "nothing");
    text_free(&text);
    return found;
}

static void test_formats(void)
{
    struct comparison table;
    if (!tap_ok(fill(&table, RUNS, true), "a table"))
        return;
    tap_ok(holds(&table, COMPARE_TEXT, "1.5 +- 0.1 ~3"),
           "text: the mark of times that do not differ");
    tap_ok(holds(&table, COMPARE_TEXT, "not measured: 4, accuracy and ms on cpu: tinca measure"),
           "text: missing measurements");
    tap_ok(holds(&table, COMPARE_TEXT, "accuracies of different data"), "text: other data");
    tap_ok(holds(&table, COMPARE_MARKDOWN,
                 "| 2 | resnet20-shift | 82.00 | 81.00 | 0.25 | 0.5 | 35,194 | 2.3299 |"),
           "Markdown");
    tap_ok(holds(&table, COMPARE_CSV,
                 "\n2,20260102-000000-resnet20-0002,no,resnet20-shift,shift,"
                 "\"cifar10:/data/cifar,split=test\",validation,81,35194,"),
           "CSV, quoted where necessary");
    tap_ok(holds(&table, COMPARE_CSV, "4,20260104-000000-lenet-0004,no,lenet,none,digits,none,,"),
           "CSV: an unknown value is empty");
    struct text text = {0};
    struct json_document document = {0};
    compare_write(&table, COMPARE_JSON, &text, NULL);
    json_parse(&document, text.data, text.length, "the comparison", NULL);
    const struct json *root = document.root, *first = json_first(json_member(root, "runs"));
    double top1 = 0;
    tap_ok(json_number(json_member(first, "top1"), &top1) && top1 == 85 &&
               json_length(json_member(root, "runs")) == RUNS + 4 &&
               json_length(json_member(root, "not_measured")) == 2,
           "JSON");
    json_document_free(&document);
    text_free(&text);
    compare_free(&table);
}

static void test_times(void)
{
    struct comparison table;
    if (!tap_ok(fill(&table, 3, false), "a table of three"))
        return;
    tap_ok(holds(&table, COMPARE_TEXT,
                 "ms cpu of 1 and 3: ratio 1.25, not comparable: measured at different times ("),
           "text: a ratio without a verdict");
    tap_ok(holds(&table, COMPARE_TEXT, "ms cpu of 1 and 2: ratio 1.333, they differ (") &&
               holds(&table, COMPARE_TEXT, "of 2 and 3: ratio 0.9891, no difference is shown ("),
           "and the verdicts of turns");
    tap_ok(
        holds(&table, COMPARE_JSON, "\"reason\":\"not comparable: measured at different times\"") &&
            holds(&table, COMPARE_JSON, "\"test\":\"turns\""),
        "JSON has both");
    compare_free(&table);
    if (!tap_ok(fill(&table, RUNS, false), "a table of five"))
        return;
    tap_ok(holds(&table, COMPARE_TEXT, "ms cpu of 1 and 2: ratio 1.333, they differ (") &&
               !holds(&table, COMPARE_TEXT, "ms cpu of 1 and 3:") &&
               holds(&table, COMPARE_TEXT,
                     "ms cpu: 1 pair of rows is not comparable: measured at different times ("),
           "of many rows the pairs without turns are counted");
    table.pairs = true;
    tap_ok(holds(&table, COMPARE_TEXT, "ms cpu of 1 and 3: ratio 1.25, not comparable") &&
               !holds(&table, COMPARE_TEXT, "ms cpu: 1 pair"),
           "--pairs writes them");
    compare_free(&table);
}

/* What a JSON document of many rows took. */
struct written {
    size_t length, held; /* bytes of the document, and of memory while it was written */
    size_t tests;
};

static struct written write_rows(size_t rows, bool pairs)
{
    struct comparison table = {.pairs = pairs};
    struct written written = {0};
    struct text text = {0};
    struct json_document document = {0};
    char *bytes = NULL;
    FILE *stream = open_memstream(&bytes, &written.length);
    for (size_t i = 0; i < rows; i++)
        compare_add_run(&table, runs[i % 3], NULL);
    compare_complete(&table, NULL);
    compare_write(&table, COMPARE_JSON, &text, stream);
    fclose(stream);
    written.held = text.capacity;
    if (json_parse(&document, bytes, written.length, "the comparison", NULL) &&
        json_length(json_member(document.root, "runs")) == rows)
        written.tests = json_length(json_member(document.root, "tests"));
    json_document_free(&document);
    free(bytes);
    text_free(&text);
    compare_free(&table);
    return written;
}

static void test_pairs(void)
{
    const struct written few = write_rows(50, false), many = write_rows(200, false);
    const struct written tested = write_rows(50, true), more = write_rows(200, true);
    tap_ok(few.length > 0 && many.length < 5 * few.length, "JSON grows with the number of rows");
    tap_ok(few.tests == 0 && many.tests == 0, "without a test of each pair");
    /* of the best top-1, and of the times on the one device */
    tap_ok(tested.tests == 50 * 49 && more.tests == 200 * 199, "which --pairs adds");
    tap_ok(more.held < 5 * tested.held && more.held < more.length / 20,
           "and which is never in memory as a whole: %zu of %zu bytes", more.held, more.length);
}

TEST_CASE(compare_test)
{
    bool written = make_home();
    for (size_t i = 0; written && i < RUNS; i++)
        written = (runs[i] = make_run(&made[i]));
    struct made_run alike = made[2];
    alike.ms = made[1].ms * 1.011; /* above the margin, but not beyond the interval */
    written = written && make_turns(&made[1], &made[0], 2) && make_turns(&made[1], &alike, 0);
    if (tap_ok(written, "runs to compare")) {
        test_rows();
        test_relations();
        test_stale_turns();
        test_precisions();
        test_nan();
        test_missing();
        test_order();
        test_published();
        test_formats();
        test_times();
        test_pairs();
    }
    for (size_t i = 0; i < RUNS; i++)
        run_free(runs[i]);
    remove_home();
    return tap_done();
}
