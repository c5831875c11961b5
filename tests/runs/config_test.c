/* The table of configuration fields: parsing, printing, JSON; presets in any order of options. */
#include "runs/settings/config_data.h"
#include "runs/settings/config_differences.h"
#include "runs/settings/train_command.h"
#include "training/forecast_make.h"

#include "session_files.h"

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static bool is(const struct run_config *config, const char *key, const char *expected)
{
    char text[512];
    bool equal = strcmp(config_get(config, key, text, sizeof text), expected) == 0;
    if (!equal)
        tap_note("%s is \"%s\", not \"%s\"", key, text, expected);
    return equal;
}

static void test_table(void)
{
    bool unique = true, complete = true;
    for (size_t i = 0; i < config_field_count; i++) {
        const struct config_field *field = &config_fields[i];
        unique &= config_find(field->key) == field;
        complete &= field->label[0] && field->argument[0] && field->help[0];
        complete &= field->kind != CONFIG_CHOICE || field->choices;
    }
    tap_ok(unique && !config_find("nosuch"), "every key is found, and only once");
    tap_ok(complete, "every field has a label and a help text");
}

static void test_round_trip(void)
{
    struct run_config config, copy;
    char text[512];
    bool same = true;
    config_defaults(&config);
    config_defaults(&copy);
    for (size_t i = 0; i < config_field_count; i++) {
        config_get(&config, config_fields[i].key, text, sizeof text);
        same &= config_set(&copy, config_fields[i].key, text, NULL) &&
                is(&copy, config_fields[i].key, text);
    }
    tap_ok(same, "config_set reads what config_get prints");
    config_set(&copy, "lr", "0.1", NULL);
    tap_ok(is(&copy, "lr", "0.1") && copy.learning_rate == 0.1,
           "numbers are printed as they were typed");
}

static void test_refusals(void)
{
    static const struct {
        const char *key, *value, *words;
    } cases[] = {
        {"batch", "0", "1 to 65536"},       {"batch", "-3", "--batch -3"},
        {"batch", "3x", "whole number"},    {"batch", "", "nothing was given"},
        {"epochs", "1.5", "whole number"},  {"lr", "fast", "a number"},
        {"lr", "nan", "a number"},          {"lr", "-1", "0 to"},
        {"momentum", "1", "0 to 0.99"},     {"solver", "sdg", "sgd, nesterov, adam"},
        {"augment", "maybe", "yes or no"},  {"normalise", "nosuch", "one of auto"},
        {"preset", "nosuch", "overfit"},    {"tolerance", "256", "0 to 255"},
        {"nosuch", "1", "no such setting"}, {"seed", "18446744073709551616", "whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run_config config, before;
        struct error error = {0};
        char text[1100] = "";
        config_defaults(&config);
        before = config;
        bool set = config_set(&config, cases[i].key, cases[i].value, &error);
        error_format(&error, text, sizeof text);
        tap_ok(!set && strstr(text, cases[i].words) && memcmp(&before, &config, sizeof config) == 0,
               "--%s \"%s\" is refused and changes nothing (%s)", cases[i].key, cases[i].value,
               text);
    }
    char longer[600];
    struct run_config config;
    config_defaults(&config);
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    tap_ok(!config_set(&config, "data", longer, NULL), "a text that is too long is refused");
}

static void test_presets(void)
{
    const char *const orders[2][5] = {
        {"network=alexnet", "preset=overfit", "batch=8", "data=folder:x", NULL},
        {"batch=8", "data=folder:x", "preset=overfit", "network=alexnet", NULL}};
    for (size_t i = 0; i < 2; i++) {
        struct run_config config = configure(orders[i]);
        tap_ok(is(&config, "batch", "8") && is(&config, "epochs", "10") &&
                   is(&config, "weight-decay", "0.0005") && is(&config, "average-loss", "1") &&
                   is(&config, "network", "alexnet") && is(&config, "data", "folder:x") &&
                   is(&config, "augment", "yes"),
               "overfit fills in the settings that were not given, order %zu", i + 1);
    }
    struct run_config config = configure(SETTINGS("preset=overfit", "network=googlenet"));
    tap_ok(is(&config, "weight-decay", "0.0002") && is(&config, "average-loss", "40"),
           "it has different settings for GoogLeNet");
    config = configure(SETTINGS("network=resnet20", "data=cifar10:x", "preset=cifar"));
    tap_ok(is(&config, "batch", "128") && is(&config, "lr", "0.1") &&
               is(&config, "momentum", "0.9") && is(&config, "weight-decay", "0.0001") &&
               is(&config, "schedule", "plateau") && is(&config, "augment", "yes") &&
               is(&config, "epochs", "200"),
           "cifar is Gondim's protocol");
    config = configure(SETTINGS("preset=pix2pix"));
    tap_ok(strcmp(config.network, "pix2pix") == 0 && strcmp(config.data, "maps") == 0 &&
               config.batch == 1 && config.epochs == 200 && config.solver == SOLVER_ADAM &&
               config.learning_rate == 0.0002 && config.momentum == 0.5 &&
               config.schedule == LR_SCHEDULE_LINEAR && config.l1_weight == 100 &&
               strcmp(config.augment, "yes") == 0,
           "the preset pix2pix");
    config = configure(SETTINGS("network=pix2pix-shift", "lr=0.001"));
    tap_ok(config.solver == SOLVER_ADAM && config.momentum == 0.5 && config.batch == 1 &&
               config.learning_rate == 0.001 && config.epochs == 10,
           "without a preset pix2pix has adam's small steps");
    config_set(&config, "network", "lenet", NULL);
    tap_ok(config.solver == SOLVER_SGD && config.momentum == 0.9 && config.batch == 64 &&
               config.learning_rate == 0.001,
           "and for another network");
    config = configure(SETTINGS("preset=digits"));
    tap_ok(is(&config, "network", "lenet") && is(&config, "batch", "64") &&
               is(&config, "lr", "0.01") && is(&config, "weight-decay", "0.0005"),
           "digits is Caffe's LeNet example");
    config = configure(SETTINGS("preset=overfit"));
    tap_ok(is(&config, "network", "alexnet") && is(&config, "data", "tench"),
           "alone, a preset brings network and data");
    config_apply_preset(&config, "cifar", NULL);
    tap_ok(is(&config, "network", "resnet20") && is(&config, "data", "shapes"),
           "and the next preset its settings");
    config = configure(SETTINGS("preset=overfit", "iterations=40"));
    tap_ok(config.has_iterations && config.iterations == 40 && config_check(&config, NULL),
           "iterations replace the preset's epochs");
    config = configure(SETTINGS("epochs=3", "iterations=40"));
    tap_ok(!config_check(&config, NULL), "epochs and iterations together are a contradiction");
    config_set(&config, "iterations", "", NULL);
    tap_ok(!config.has_iterations && config_check(&config, NULL), "taken back, they are not");
}

/* Returns the SPECs of validation and test, with a bar between them. */
static const char *sets_of(const struct run_config *config)
{
    static char text[2 * CONFIG_SPEC + 1];
    char validation[CONFIG_SPEC], test[CONFIG_SPEC];
    snprintf(text, sizeof text, "%s|%s", config_validation_spec(config, validation),
             config_test_spec(config, test));
    return text;
}

/* Which images validate and test: as they are given, and as a preset says. */
static void test_sets(void)
{
    static const struct {
        const char *settings[5], *sets;
    } cases[] = {
        {{"data=digits"}, "|"},
        {{"data=digits,validate=0.2,limit=9", "test=auto", "seed=3"},
         "digits,limit=9,share=0.2,draw=3|digits,split=test"},
        {{"data=npz:\"a,b\",labels=\"x,y\",sample=3,split=train", "test=auto"},
         "|npz:\"a,b\",labels=\"x,y\",split=test"},
        {{"data=folder:d,only=cat,share=0.5,draw=2", "test=auto"}, "|folder:d,only=cat,split=test"},
        {{"test=shapes", "data=digits"}, "|shapes"},
        {{"preset=digits"}, "digits,share=0.1,draw=1|digits,split=test"},
        {{"preset=digits", "data=idx:d"}, "idx:d,share=0.1,draw=1|idx:d,split=test"},
        {{"preset=digits", "data=folder:d"}, "folder:d,share=0.1,draw=1|"},
        {{"preset=digits", "data=digits,rest=0.2"}, "|digits,split=test"},
        {{"preset=digits", "data=digits,split=test"}, "digits,split=test,share=0.1,draw=1|"},
        {{"preset=digits", "validate=", "test="}, "|"},
        {{"preset=digits", "preset=overfit"}, "|"},
        {{"preset=cifar"}, "|"},
        {{"preset=pix2pix"}, "|maps,split=test"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run_config config = configure(cases[i].settings);
        tap_ok(strcmp(sets_of(&config), cases[i].sets) == 0 && config_check(&config, NULL),
               "case %zu validates and tests on %s (%s)", i + 1, cases[i].sets, sets_of(&config));
    }
    struct run_config config = configure(SETTINGS("preset=digits", "validate=", "data=digits"));
    struct text text = {0};
    train_command_append(&text, &config, NULL, NULL);
    tap_ok(strstr(text.data, " --validate=") && !strstr(text.data, "--test"),
           "a command line says that the preset's share is not held out (%s)", text.data);
    text_free(&text);
}

/* A run of an earlier version had no test set, whatever its preset says now. */
static void test_older_json(void)
{
    static const char older[] = "{\"preset\":\"digits\",\"network\":\"lenet\",\"data\":\"digits\","
                                "\"validate\":\"\",\"batch\":64}";
    struct run_config config;
    struct json_document document;
    const bool read = json_parse(&document, older, strlen(older), "test", NULL) &&
                      config_from_json(&config, &document, document.root, NULL);
    tap_ok(read && !config.test[0] && !config.validate[0], "an older run is not tested");
    json_document_free(&document);
}

static void test_json(void)
{
    struct run_config config = configure(
        SETTINGS("network=resnet20", "preset=cifar", "lr=0.123456789012345", "iterations=77",
                 "validate=shapes,limit=10", "seed=999999999999999", "augment=no"));
    struct run_config again;
    struct json *tree = json_new_object();
    struct json_document document;
    struct error error;
    bool written = config_to_json(&config, tree);
    char *text = json_print(tree, true, NULL);
    bool read = written && json_parse(&document, text, strlen(text), "test", NULL) &&
                config_from_json(&again, &document, document.root, &error);
    bool same = read;
    for (size_t i = 0; read && i < config_field_count; i++) {
        char value[512];
        config_get(&config, config_fields[i].key, value, sizeof value);
        same &= is(&again, config_fields[i].key, value);
    }
    tap_ok(same && config_check(&again, NULL), "a configuration survives JSON");
    json_document_free(&document);
    free(text);
    json_free(tree);
    const char *wrong = "{\"batch\": 4,\n \"learning\": 0.1}";
    json_parse(&document, wrong, strlen(wrong), "wrong.json", NULL);
    tap_ok(!config_from_json(&again, &document, document.root, &error) &&
               strstr(error.why, "line 2") && strstr(error.why, "learning"),
           "an unknown key is named with its line");
    json_document_free(&document);
    wrong = "{\"batch\": \"4\"}";
    json_parse(&document, wrong, strlen(wrong), "wrong.json", NULL);
    tap_ok(!config_from_json(&again, &document, document.root, &error), "a wrong type is refused");
    json_document_free(&document);
}

static void test_suggestions(void)
{
    tap_ok(config_suggestion("network", 0) && strcmp(config_suggestion("batch", 9), "512") == 0 &&
               !config_suggestion("batch", 10) && !config_suggestion("seed", 0),
           "suggestions come and end");
    bool accepted = true;
    for (size_t i = 0; i < config_field_count; i++)
        for (size_t n = 0; config_suggestion(config_fields[i].key, n); n++) {
            struct run_config config;
            config_defaults(&config);
            accepted &= config_set(&config, config_fields[i].key,
                                   config_suggestion(config_fields[i].key, n), NULL);
        }
    tap_ok(accepted, "each of them is accepted");
}

static void test_forecast(void)
{
    struct run_config config = configure(SETTINGS("network=lenet", "batch=64"));
    struct forecast forecast, larger;
    struct error error;
    tap_ok(forecast_make(&config, 0, &forecast, &error) && forecast.parameters == 431080 &&
               forecast.classes == 10 && forecast.fits && forecast.memory.total > 0,
           "a forecast knows parameters, classes and memory");
    config_set(&config, "batch", "128", NULL);
    tap_ok(forecast_make(&config, 0, &larger, &error) &&
               larger.memory.activations > forecast.memory.activations &&
               larger.memory.weights == forecast.memory.weights,
           "a larger batch takes more, its weights do not");
    config_set(&config, "ema", "0.9", NULL);
    tap_ok(forecast_make(&config, 0, &forecast, &error) &&
               forecast.other_bytes == larger.other_bytes + larger.memory.weights,
           "averaged weights take as much as the weights: %llu and %llu more",
           (unsigned long long)larger.memory.weights,
           (unsigned long long)(forecast.other_bytes - larger.other_bytes));
    config = configure(SETTINGS("network=alexnet", "data=tench"));
    tap_ok(forecast_make(&config, 0, &forecast, &error) && forecast.parameters == 60965224,
           "alexnet on tench has 60965224 parameters");
    config = configure(SETTINGS("network=alexnet", "data=folder:/nowhere,classes=10"));
    tap_ok(forecast_make(&config, 0, &forecast, &error) && forecast.classes == 10,
           "the option classes= is known without the folder");
    config = configure(SETTINGS("network=lenet", "data=shapes"));
    tap_ok(!forecast_make(&config, 0, &forecast, &error) && error.kind == ERROR_INPUT,
           "images of the wrong shape are refused");
}

static void test_differences(void)
{
    struct run_config a = configure(SETTINGS("network=lenet", "lr=0.1", "epochs=3"));
    struct run_config b = configure(SETTINGS("network=lenet", "lr=0.03", "iterations=40"));
    struct run_config c = configure(SETTINGS("network=lenet", "technique=dsc", "lr=0.03"));
    const struct config_field *fields[CONFIG_MAX_FIELDS];
    char text[512];
    tap_ok(config_differences((const struct run_config *[]){&a}, 1, fields) == 0,
           "one run differs from nothing");
    size_t count = config_differences((const struct run_config *[]){&a, &b}, 2, fields);
    config_difference_label(&b, fields, count, text, sizeof text);
    tap_ok(count == 3 && strcmp(text, "epochs none, iterations 40, lr 0.03") == 0,
           "fields that differ, with iterations in place of epochs: %s", text);
    count = config_differences((const struct run_config *[]){&b, &c}, 2, fields);
    config_difference_label(&c, fields, count, text, sizeof text);
    tap_ok(strncmp(text, "dsc, ", 5) == 0, "a technique needs no key before it: %s", text);
    config_difference_label(&b, fields, count, text, sizeof text);
    tap_ok(strncmp(text, "technique none, ", 16) == 0, "but none does: %s", text);
    char small[8];
    config_difference_label(&b, fields, count, small, sizeof small);
    tap_ok(strcmp(small, "techniq") == 0, "a short buffer ends the label");
}

static void test_short_labels(void)
{
    struct run_config a = configure(SETTINGS("network=lenet", "lr=0.1", "data=digits,limit=500",
                                             "validate=digits,split=test", "seed=1"));
    struct run_config b = configure(SETTINGS("network=/nets/mine.json", "lr=0.1", "data=digits"));
    struct run_config c = a;
    config_set(&c, "seed", "2", NULL);
    const struct run_config *configs[] = {&a, &b, &c};
    const struct config_field *fields[CONFIG_MAX_FIELDS];
    char text[512];
    size_t count = config_differences(configs, 3, fields);
    tap_ok(config_differences_shorten(configs, 3, fields, count, 500) == count,
           "labels that are short enough keep all fields");
    count = config_differences_shorten(configs, 3, fields, count, 16);
    config_difference_label(&c, fields, count, text, sizeof text);
    tap_ok(strcmp(text, "lenet, seed 2") == 0, "others lose what tells nothing more: %s", text);
    config_difference_label(&b, fields, count, text, sizeof text);
    tap_ok(strncmp(text, "mine, ", 6) == 0, "a network file is called by its name: %s", text);
}

static void test_technique_in_label(void)
{
    struct run_config a = configure(SETTINGS("network=lenet", "technique=dsc"));
    struct run_config b = configure(SETTINGS("network=mlp"));
    const struct config_field *network = config_find("network"),
                              *technique = config_find("technique");
    char text[64];
    config_difference_label(&a, &network, 1, text, sizeof text);
    tap_ok(strcmp(text, "lenet-dsc") == 0, "a network has its technique in its name: %s", text);
    config_difference_label(&b, &network, 1, text, sizeof text);
    tap_ok(strcmp(text, "mlp") == 0, "unless it has none: %s", text);
    config_difference_label(&a, (const struct config_field *[]){network, technique}, 2, text,
                            sizeof text);
    tap_ok(strcmp(text, "lenet, dsc") == 0, "or the label has it apart: %s", text);
}

static void test_distinct_labels(void)
{
    struct run_config a = configure(SETTINGS("network=mlp", "batch=32", "lr=0.1", "seed=1"));
    struct run_config b = configure(SETTINGS("network=mlp", "batch=64", "lr=0.1", "seed=1"));
    struct run_config c = configure(SETTINGS("network=mlp", "batch=64", "lr=50", "seed=2"));
    struct run_config d = configure(SETTINGS("network=lenet", "batch=64", "lr=0.1", "seed=2"));
    const struct run_config *configs[] = {&a, &b, &c, &d};
    const struct config_field *fields[CONFIG_MAX_FIELDS];
    char labels[4][64];
    const size_t count = config_differences(configs, 4, fields);
    for (size_t i = 0; i < 4; i++)
        config_distinct_label(configs, 4, i, fields, count, 16, labels[i], sizeof labels[i]);
    tap_ok(strcmp(labels[0], "mlp, batch 32") == 0, "a label has what is unique: %s", labels[0]);
    tap_ok(strcmp(labels[1], "batch 64, seed 1") == 0, "or unique together: %s", labels[1]);
    tap_ok(strcmp(labels[2], "mlp, lr 50") == 0, "what is told first comes first: %s", labels[2]);
    tap_ok(strcmp(labels[3], "lenet, lr 0.1") == 0, "and more where it fits: %s", labels[3]);
    config_distinct_label(configs, 4, 1, fields, count, 12, labels[1], sizeof labels[1]);
    tap_ok(strcmp(labels[1], "batch 64, 1") == 0, "keys give way to values: %s", labels[1]);
    config_distinct_label(configs, 4, 0, fields, count, 4, labels[0], sizeof labels[0]);
    tap_ok(strcmp(labels[0], "batch 32") == 0, "but not of a single value: %s", labels[0]);
    config_distinct_label(configs, 4, 0, fields, count, 64, labels[0], sizeof labels[0]);
    tap_ok(strcmp(labels[0], "mlp, batch 32, lr 0.1, seed 1") == 0,
           "a label that fits has all differences: %s", labels[0]);
}

/* Every row has one class, and what a task takes leaves other settings alone. */
static void test_classes(void)
{
    static const char *const from_options[] = {"preset=overfit", "network=mlp", "ema=0.9",
                                               "weights=w",      "device=cuda", "iterations=7",
                                               "seeds=3",        "tolerance=5", NULL};
    struct run_config from = configure(from_options), to = configure(SETTINGS("network=lenet"));
    bool single = true;
    for (size_t i = 0; i < config_field_count; i++) {
        const unsigned class = config_fields[i].class;
        single &= class && !(class & (class - 1)) && (class & SETTINGS_ALL);
    }
    tap_ok(single, "every setting has one class");
    config_take(&to, &from, TASK_FINE_TUNE);
    tap_ok(is(&to, "ema", "0.9") && is(&to, "iterations", "7") && is(&to, "device", "cuda") &&
               config_is_given(&to, "ema"),
           "the settings of a task are taken, with what was given");
    tap_ok(is(&to, "batch", "32") && !config_is_given(&to, "batch"), "and with a preset's values");
    tap_ok(is(&to, "weights", "") && !config_is_given(&to, "weights"),
           "without what has no meaning in the task");
    tap_ok(is(&to, "tolerance", "5"), "of all classes that it has");
    tap_ok(is(&to, "network", "lenet") && is(&to, "seeds", "1"), "and other settings stay");
}

TEST_CASE(config_test)
{
    test_classes();
    test_differences();
    test_short_labels();
    test_technique_in_label();
    test_distinct_labels();
    test_table();
    test_round_trip();
    test_refusals();
    test_presets();
    test_sets();
    test_older_json();
    test_json();
    test_suggestions();
    test_forecast();
    return tap_done();
}
