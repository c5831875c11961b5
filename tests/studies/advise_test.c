/* The studies' flowchart, box by box, for run folders that the test writes. */
#include "studies/compare/advise.h"

#include "made_runs.h"

/* The models' sizes in megabytes: 1.091, 0.141, 0.163, 0.0987. */
static const struct made_run plain = {"20260101-000000-resnet20-0001",
                                      "resnet20",
                                      "none",
                                      NULL,
                                      86,
                                      272762,
                                      "cpu",
                                      2.0,
                                      0.1,
                                      false},
                             shift = {"20260102-000000-resnet20-0002",
                                      "resnet20-shift",
                                      "shift",
                                      NULL,
                                      82,
                                      35194,
                                      "cpu",
                                      1.5,
                                      0.1,
                                      false},
                             dsc = {"20260103-000000-resnet20-0003",
                                    "resnet20-dsc",
                                    "dsc",
                                    NULL,
                                    79,
                                    40810,
                                    "cpu",
                                    3.0,
                                    0.1,
                                    false},
                             shuffle = {"20260104-000000-resnet20-0004",
                                        "resnet20-shuffle",
                                        "shuffle",
                                        NULL,
                                        84,
                                        24682,
                                        "cpu",
                                        2.5,
                                        0.1,
                                        false};

enum { MOST = 6 };
static struct run *runs[MOST];
static size_t run_count;
static struct comparison table;
static struct advice advice;

static void clear(void)
{
    compare_free(&table);
    for (size_t i = 0; i < run_count; i++)
        run_free(runs[i]);
    run_count = 0;
    remove_home();
    mkdir(test_home, 0700);
}

/* Replaces all runs by these; NULL-terminated. With `turns`, runs that are measured take turns with
 * the first one. */
static bool have_runs(const struct made_run *const *made, bool turns)
{
    struct error error;
    clear();
    for (size_t i = 0; made[i]; i++) {
        runs[run_count] = make_run(made[i]);
        if (!runs[run_count++] ||
            (turns && i > 0 && made[i]->device && made[0]->device && !made[i]->no_model &&
             !made[0]->no_model && !make_turns(made[i], made[0], 0)))
            return tap_ok(false, "runs for a case");
    }
    for (size_t i = 0; i < run_count; i++)
        if (!compare_add_run(&table, runs[i], &error))
            return tap_ok(false, "rows for a case");
    return true;
}

static bool have(const struct made_run *const *made)
{
    return have_runs(made, true);
}

static struct advise_request want(enum advise_need need, double ms, double mb, const char *device)
{
    return (struct advise_request){
        .device = device, .need = need, .limit_ms = ms, .limit_mb = mb, .accept_loss = 5};
}

static void check(const struct advise_request *request, enum advise_verdict verdict,
                  const char *technique, const char *name)
{
    struct error error;
    bool given = advise(&table, request, &advice, &error);
    if (tap_ok(given && advice.verdict == verdict && strcmp(advice.technique, technique) == 0, "%s",
               name))
        return;
    tap_note("%s %s", advise_verdict_name(advice.verdict), advice.technique);
    for (size_t i = 0; i < advice.step_count; i++)
        tap_note("%s", advice.steps[i]);
}

static bool is_path(const struct advise_decision *forks, size_t count)
{
    bool same = advice.path_count == count;
    for (size_t i = 0; same && i < count; i++) {
        const struct advise_decision *fork = &advice.path[i];
        same = fork->question == forks[i].question && fork->reply == forks[i].reply &&
               fork->assumed == forks[i].assumed &&
               (!forks[i].technique || strcmp(fork->technique, forks[i].technique) == 0);
    }
    return same;
}

/* A missing measurement comes with the command for it. */
static void test_missing(void)
{
    static const struct made_run *const alone[] = {&plain, NULL};
    struct made_run unmeasured = shift;
    unmeasured.device = NULL;
    const struct made_run *const both[] = {&plain, &unmeasured, NULL};
    struct advise_request request = want(ADVISE_FASTER, NAN, NAN, "cpu");
    if (!have(alone))
        return;
    check(&request, ADVISE_TRY, "shift", "shift is next");
    tap_ok(advice.missing_count == 1 && advice.missing[0].training &&
               strcmp(advice.missing[0].technique, "shift") == 0 &&
               advice.missing[0].run == runs[0],
           "it must be trained like the plain run");
    tap_ok(is_path((struct advise_decision[]){{ADVISE_MEETS, NULL, ADVISE_NO, false},
                                              {ADVISE_NEEDS_SPEED, NULL, ADVISE_YES, false},
                                              {ADVISE_POWERFUL, NULL, ADVISE_NO, true},
                                              {ADVISE_SUFFICES, "shift", ADVISE_UNKNOWN, false}},
                   4),
           "assumptions and missing measurements are listed");
    if (!have(both))
        return;
    check(&request, ADVISE_TRY, "shift", "shift is trained, but not measured");
    tap_ok(advice.missing_count == 1 && !advice.missing[0].training &&
               advice.missing[0].run == runs[1] && advice.missing[0].other == runs[0] &&
               advice.missing[0].threads == compare_threads(&table, "cpu"),
           "it must be measured in turns with the other one");
}

static void test_known(void)
{
    static const struct made_run *const all[] = {&plain, &shift, &dsc, &shuffle, NULL};
    struct advise_request request;
    if (!have(all))
        return;
    request = want(ADVISE_FASTER, 2.5, NAN, "cpu");
    check(&request, ADVISE_KEEP, "none", "the plain network is fast enough");
    tap_ok(advice.row_count == 1 && advice.rows[0] == 0 && advice.missing_count == 0,
           "one row was used, nothing is missing");
    tap_ok(is_path((struct advise_decision[]){{ADVISE_MEETS, NULL, ADVISE_YES, false}}, 1),
           "the first question decides");
    request = want(ADVISE_FASTER, 1.7, NAN, "cpu");
    check(&request, ADVISE_USE, "shift", "faster on a weak device: shift");
    tap_ok(advice.row_count == 2 && !advice.assumed, "two rows were used, nothing is assumed");
    tap_ok(is_path((struct advise_decision[]){{ADVISE_MEETS, NULL, ADVISE_NO, false},
                                              {ADVISE_NEEDS_SPEED, NULL, ADVISE_YES, false},
                                              {ADVISE_POWERFUL, NULL, ADVISE_NO, false},
                                              {ADVISE_SUFFICES, "shift", ADVISE_YES, false}},
                   4),
           "the path through the flowchart is listed");
    request = want(ADVISE_FASTER, 1.55, NAN, "cpu");
    check(&request, ADVISE_ELSEWHERE, "none", "an interval that passes the limit does not meet it");
    request = want(ADVISE_FASTER, NAN, NAN, "cpu");
    check(&request, ADVISE_USE, "shift", "faster without a limit: shift, measured to be faster");
    request.accept_loss = 2;
    check(&request, ADVISE_ELSEWHERE, "none", "four points lost where two are accepted");
    request = want(ADVISE_SMALLER, NAN, 2, "cpu");
    check(&request, ADVISE_KEEP, "none", "the plain network is small enough");
    request = want(ADVISE_SMALLER, NAN, NAN, "cpu");
    check(&request, ADVISE_USE, "shift", "smaller: first shift");
    request = want(ADVISE_SMALLER, NAN, 0.12, "cpu");
    check(&request, ADVISE_USE, "shuffle", "smaller still: neither shift nor dsc, but shuffle");
    request = want(ADVISE_SMALLER, NAN, 0.05, "cpu");
    check(&request, ADVISE_ELSEWHERE, "none", "smaller than any");
    request = want(ADVISE_BOTH, NAN, NAN, "weak");
    check(&request, ADVISE_USE, "shift", "both: shift");
    tap_ok(strcmp(advice.device, "cpu") == 0, "weak is the device that was measured");
    request = want(ADVISE_BOTH, 1.7, 0.12, "cpu");
    check(&request, ADVISE_ELSEWHERE, "none", "both: only shift is tried");
    request = want(ADVISE_BOTH, 2.5, 0.15, "cpu");
    check(&request, ADVISE_USE, "shift", "already fast, must be smaller: shift stays fast");
    request = want(ADVISE_FASTER, NAN, NAN, "powerful");
    check(&request, ADVISE_ELSEWHERE, "none", "faster on a powerful device: no technique helps");
    request = want(ADVISE_BOTH, NAN, NAN, "powerful");
    check(&request, ADVISE_ELSEWHERE, "none", "both on a powerful device: no technique helps");
    tap_ok(strstr(advice.steps[advice.step_count - 1], "--need smaller"),
           "but being smaller may be asked for alone");
    request = want(ADVISE_FASTER, 1, NAN, "powerful");
    check(&request, ADVISE_MEASURE, "none", "unless the plain network may meet the limit");
    tap_ok(advice.missing_count == 1 &&
               strcmp(advice.missing[0].command,
                      "tinca measure 20260101-000000-resnet20-0001 --device cuda") == 0,
           "which is to be measured");
}

static void test_unknown(void)
{
    static const struct made_run *const alone[] = {&plain, NULL};
    struct made_run silent = shift, elsewhere = shift, empty = shift;
    silent.device = NULL;
    elsewhere.data = "shapes";
    empty.no_model = true;
    const struct made_run *const unmeasured[] = {&plain, &silent, NULL};
    const struct made_run *const both[] = {&plain, &shift, NULL};
    const struct made_run *const other_data[] = {&elsewhere, &plain, NULL};
    const struct made_run *const no_model[] = {&plain, &empty, NULL};
    const struct made_run *const no_plain[] = {&shift, NULL};
    struct advise_request request = want(ADVISE_FASTER, NAN, NAN, "cpu");
    if (have(alone)) {
        check(&request, ADVISE_TRY, "shift", "shift was not trained: try it");
        tap_ok(advice.assumed, "the answer assumes that it is faster");
        tap_ok(advice.missing_count == 1 &&
                   strcmp(advice.missing[0].command,
                          "tinca train resnet20-shift --data cifar10:/data/cifar --validate "
                          "cifar10:/data/cifar,split=test --batch 32 --epochs 3") == 0,
               "as the plain network was trained: %s", advice.missing[0].command);
        request.device = "cuda";
        check(&request, ADVISE_ELSEWHERE, "none", "on cuda the studies are assumed");
        tap_ok(advice.assumed, "and says so");
        request.device = "cpu";
    }
    if (have(unmeasured)) {
        check(&request, ADVISE_TRY, "shift", "shift was not measured: try it");
        tap_ok(advice.missing_count == 1 &&
                   strcmp(advice.missing[0].command,
                          "tinca compare 20260102-000000-resnet20-0002 "
                          "20260101-000000-resnet20-0001 --measure --device cpu --threads 2") == 0,
               "in turns, with the threads of the plain run: %s", advice.missing[0].command);
    }
    if (have_runs(both, false)) {
        check(&request, ADVISE_TRY, "shift", "times of different moments decide nothing");
        tap_ok(advice.assumed && advice.missing_count == 1 &&
                   strstr(advice.missing[0].command, "--measure") &&
                   strstr(advice.steps[1], "not comparable: measured at different times"),
               "the ratio is named without a verdict: %s", advice.steps[1]);
    }
    if (have(other_data)) {
        check(&request, ADVISE_TRY, "shift", "a run on other data is not used");
        tap_ok(advice.missing_count == 1 && strstr(advice.missing[0].command, "tinca train"),
               "it must be trained on this data");
    }
    if (have(no_model))
        check(&request, ADVISE_TRY, "shift", "nor is a run that saved no model");
    if (have(no_plain)) {
        check(&request, ADVISE_TRY, "shift", "without a plain run nothing is certain");
        tap_ok(advice.missing_count > 0 &&
                   strstr(advice.missing[0].command, "tinca train resnet20 "),
               "it must be trained");
    }
    struct error error;
    const struct made_run *const none[] = {NULL};
    if (have(none)) {
        tap_ok(!advise(&table, &request, &advice, &error), "no runs and no network: %s", error.why);
        request.network = "resnet56-shift";
        tap_ok(!advise(&table, &request, &advice, &error), "a technique in the name: %s",
               error.why);
        request.network = "resnet56";
        check(&request, ADVISE_TRY, "shift", "no runs of the network: the flowchart alone");
        tap_ok(advice.missing_count == 2 && advice.row_count == 0, "both must be measured");
    }
}

/* Measurements on a GPU: one with shift slower, one with shift faster. */
static void test_devices(void)
{
    struct made_run a = plain, b = shift, c = shift;
    struct made_run lenet = plain;
    a.device = b.device = c.device = "cuda:0";
    a.ms = 1.0;
    b.ms = 1.5;
    c.ms = 0.5;
    lenet.network = "lenet";
    lenet.id = "20260109-000000-lenet-0009";
    const struct made_run *const slower[] = {&a, &b, NULL}, *const faster[] = {&a, &c, NULL};
    const struct made_run *const two[] = {&plain, &lenet, NULL};
    struct advise_request request = want(ADVISE_FASTER, NAN, NAN, "cuda");
    struct error error;
    if (have(slower)) {
        check(&request, ADVISE_ELSEWHERE, "none",
              "shift measured to be slower: no technique helps");
        tap_ok(!advice.assumed && advice.row_count == 2, "read off the rows");
    }
    if (have(faster))
        check(&request, ADVISE_USE, "shift", "a measurement overrides an assumption");
    if (have(two)) {
        tap_ok(!advise(&table, &request, &advice, &error) && error.kind == ERROR_USAGE,
               "of two networks one must be named: %s", error.why);
        request = want(ADVISE_FASTER, NAN, NAN, "cpu");
        request.network = "lenet";
        check(&request, ADVISE_TRY, "shift", "the named network is used");
        tap_ok(strcmp(advice.network, "lenet") == 0 &&
                   strstr(advice.missing[0].command, "train lenet-shift"),
               "and no other network");
        struct json *root = advise_to_json(&table, &request, &advice);
        const char *technique = json_string(json_member(root, "technique"));
        tap_ok(technique && strcmp(technique, "shift") == 0 &&
                   json_length(json_member(root, "not_known")) == 1,
               "as JSON");
        json_free(root);
    }
}

TEST_CASE(advise_test)
{
    if (!tap_ok(make_home(), "a home for the tests"))
        return tap_done();
    test_known();
    test_missing();
    test_unknown();
    test_devices();
    clear();
    rmdir(test_home);
    return tap_done();
}
