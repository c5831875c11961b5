/* Numbers from files that do not fit an integer must not cause undefined conversions. */
#include "base/number.h"

#include "made_runs.h"
#include "runs/record/run_open.h"

static void test_conversions(void)
{
    static const struct {
        double value;
        uint64_t large;
        int small;
    } cases[] = {{0, 0, 0},
                 {1.9, 1, 1},
                 {-0.9, 0, 0},
                 {-1, 0, -1},
                 {-1e300, 0, INT_MIN},
                 {1e10, 10000000000, INT_MAX},
                 {-1e10, 0, INT_MIN},
                 {0x1p53, (uint64_t)1 << 53, INT_MAX},
                 {0x1p64, UINT64_MAX, INT_MAX},
                 {1e300, UINT64_MAX, INT_MAX},
                 {(double)INFINITY, UINT64_MAX, INT_MAX},
                 {-(double)INFINITY, 0, INT_MIN},
                 {(double)NAN, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_ok(number_to_uint64(cases[i].value) == cases[i].large &&
                   number_to_int(cases[i].value) == cases[i].small,
               "%g becomes %llu and %d", cases[i].value, (unsigned long long)cases[i].large,
               cases[i].small);
}

/* Events of a journal with impossible iterations. */
static void test_journal(void)
{
    static const struct {
        const char *text;
        uint64_t iteration;
    } cases[] = {{"-1", 0}, {"-1e300", 0}, {"1e300", UINT64_MAX}, {"7", 7}};
    const struct made_run made = {.id = "hostile", .network = "lenet", .technique = "none"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        struct run_snapshot snapshot = {0};
        struct run *run = NULL;
        struct error error = {0};
        make_folders(made.id);
        snprintf(text, sizeof text,
                 "{\"event\":\"start\",\"network\":\"lenet\",\"technique\":\"none\","
                 "\"images\":100,\"iterations\":4,\"epochs\":1}\n"
                 "{\"event\":\"checkpoint\",\"iteration\":%s}\n"
                 "{\"event\":\"resume\",\"iteration\":%s}\n",
                 cases[i].text, cases[i].text);
        tap_ok(make_config(&made) && make_file(&made, "journal.jsonl", text) &&
                   (run = run_open(home_path("tinca/runs/hostile"), &error)),
               "reads a run with iteration %s", cases[i].text);
        if (run)
            run_snapshot(run, &snapshot);
        run_free(run);
        tap_ok(snapshot.begun_at == cases[i].iteration &&
                   snapshot.checkpoint.iteration == cases[i].iteration,
               "as %llu (%llu, %llu)", (unsigned long long)cases[i].iteration,
               (unsigned long long)snapshot.begun_at,
               (unsigned long long)snapshot.checkpoint.iteration);
    }
}

TEST_CASE(number_test)
{
    if (!make_home())
        return 99;
    test_conversions();
    test_journal();
    remove_home();
    return tap_done();
}
