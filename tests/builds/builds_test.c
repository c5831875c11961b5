/* A change of the form builds one network and its plans, and what the form shows is what the run
 * then forecasts with the plans that it computes with. */
#include "session_files.h"

#include "count_builds.h"
#include "training/forecast_make.h"
#include "training/prepare/prepare.h"
#include "training/run_start.h"
#include "ui/shared/form.h"

static struct form form;

static void set(const char *key, const char *text)
{
    for (form.focus = 0; strcmp(form_focused(&form)->key, key) != 0;)
        form_move(&form, 1);
    form_set(&form, text);
}

static void check_form(const char *what, unsigned networks, unsigned plans)
{
    builds_take();
    form_make_forecast(&form);
    const struct builds builds = builds_take();
    tap_ok(form.forecast_known && builds.networks == networks && builds.plans == plans,
           "%s: the form builds %u of %u networks and %u of %u plans", what, builds.networks,
           networks, builds.plans, plans);
}

static void test_form(void)
{
    struct run_config config;
    config_defaults(&config);
    form_begin(&form, &config);
    form_show_all(&form, true);
    set("network", "lenet");
    set("data", "digits,limit=200");
    check_form("a network", 1, 1);
    set("validate", "digits,split=test");
    check_form("with validation", 1, 2);
    set("test", "digits,split=test");
    check_form("and a test", 1, 2);
    set("batch", "32");
    check_form("another batch", 1, 2);
    set("test", "");
    set("network", "pix2pix");
    set("data", "maps,limit=4");
    set("validate", "maps,split=test,limit=2");
    /* the generator, the discriminator's step, its pass with frozen weights, and validations */
    check_form("a generator and a discriminator", 1, 4);
}

/* Compares what a run needs by the first part of prepare with what it needs once its data are
 * open; `again`: how many plans are then built in addition. */
static void check_forecast(const char *network, const char *data, const char *validate,
                           const char *test, unsigned again)
{
    struct error error;
    struct preparation prepared;
    struct run_config config;
    config_defaults(&config);
    config_set(&config, "network", network, NULL);
    config_set(&config, "data", data, NULL);
    config_set(&config, "validate", validate, NULL);
    config_set(&config, "test", test, NULL);
    config_set(&config, "batch", "4", NULL);
    config_set(&config, "epochs", "1", NULL);
    config_set(&config, "threads", "1", NULL);
    const struct run_preprocessing from = run_preprocessing_of(&config, NULL);
    builds_take();
    if (!tap_ok(prepare_plans(&prepared, &config, 0, NULL, NULL, &error), "%s can be planned",
                network))
        return note_error(&error);
    const uint64_t before = forecast_needed(&prepared.forecast);
    const struct builds planned = builds_take();
    if (!tap_ok(prepare(&prepared, &config, &from, 0, NULL, NULL, &error), "and prepared"))
        return note_error(&error);
    const uint64_t after = forecast_needed(&prepared.forecast);
    const struct builds more = builds_take();
    tap_ok(before == after, "%s, %s, %s, %s: %llu bytes are forecast, and %llu by the run", network,
           data, validate, test, (unsigned long long)before, (unsigned long long)after);
    tap_ok(planned.networks == 1 && more.networks == 0 && more.plans == again,
           "  which has built %u more plans", more.plans);
    prepare_free(&prepared);
}

/* The run's figure is that of the whole process, which has threads and open data by then. */
static void test_run(void)
{
    struct error error;
    struct forecast forecast;
    struct run_config config;
    config_defaults(&config);
    config_set(&config, "network", "resnet20", NULL);
    config_set(&config, "data", "shapes,limit=16", NULL);
    config_set(&config, "validate", "shapes,split=test,limit=8", NULL);
    config_set(&config, "batch", "4", NULL);
    config_set(&config, "epochs", "1", NULL);
    config_set(&config, "threads", "1", NULL);
    tap_ok(forecast_make(&config, 0, &forecast, &error), "a run is forecast");
    struct run *run = run_start(&config, NULL, &error);
    if (!tap_ok(run && run_wait(run, -1), "and trained"))
        return note_error(&error);
    const double shown = (double)forecast_peak(&forecast);
    const double said = (double)run_facts(run)->memory_peak;
    tap_ok(shown > 0.9 * said && shown < 1.1 * said,
           "%.1f MB are forecast by the form, and %.1f by the run", shown * 1e-6, said * 1e-6);
    run_free(run);
}

TEST_CASE(builds_test)
{
    if (!tap_ok(make_home(), "the state folder is private"))
        return tap_done();
    test_form();
    check_forecast("lenet", "digits,limit=40", "", "", 0);
    check_forecast("lenet", "digits,limit=40", "digits,split=test,limit=10", "", 0);
    check_forecast("lenet", "digits,limit=40", "digits,split=test", "digits,split=test,limit=10",
                   0);
    check_forecast("lenet", "digits,validate=0.2", "auto", "", 0);
    /* validations are in smaller batches than the test, for which memory is forecast */
    check_forecast("resnet20", "shapes,limit=16", "shapes,split=test,limit=8", "shapes,split=test",
                   1);
    check_forecast("squeezenet", "tench,limit=8", "tench,split=test,limit=4", "", 0);
    check_forecast("pix2pix", "maps,limit=4", "maps,split=test,limit=2", "", 0);
    test_run();
    remove_home();
    return tap_done();
}
