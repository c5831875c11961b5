/* Every built-in network with every technique must have a trajectory to compare with PyTorch, in
 * `make check` or in `make check-long`: one of the goldens must be of it. The trajectory tests
 * check that each golden is of a case and each case is tested. A technique that a network refuses
 * because it changes nothing needs no golden. */
#include "engine/network/network.h"
#include "golden.h"
#include "tap.h"

#include <string.h>

static const char *const files[] = {"trajectories", "trajectories_long", "gan", "gan_long"};
enum { FILES = sizeof files / sizeof *files };

/* Returns the file that has a golden of the network, or NULL. */
static const char *find_file(const struct json_document *goldens, const struct network *network)
{
    for (size_t f = 0; f < FILES; f++)
        for (const struct json *golden = json_first_member(goldens[f].root); golden;
             golden = json_next(golden))
            if (golden_is_of(golden, network))
                return files[f];
    return NULL;
}

static void test_network(const struct network_request *request, const struct json_document *goldens)
{
    char name[128];
    struct error error = {0};
    struct network *network = network_build(request, &error);
    if (!network) {
        tap_ok(strstr(error.why, "changes none of this network's layers"), "%s: %s",
               request->network, error.why);
        return;
    }
    const char *file = find_file(goldens, network);
    network_full_name(network, name, sizeof name);
    /* its losses begin at 0, so they have no relative error; perceptron_test compares the weights
     * of every epoch with those of a loop in numpy, bit for bit */
    if (strcmp(name, "perceptron") == 0)
        tap_ok(true, "%s is compared by perceptron_test", name);
    else if (file)
        tap_ok(true, "%s has a trajectory in %s", name, file);
    else
        tap_ok(false, "%s has no trajectory: give it a case and a golden (docs/HACKING.md)", name);
    network_free(network);
}

static void test_all(const struct json_document *goldens)
{
    static const struct network_request variations[] = {
        {.network = "resnet20-2.5"},
        {.network = "resnet20-2.4_block"},
        {.network = "resnet20-shuffle", .groups = 4},
    };
    for (size_t n = 0; n < network_builtin_count; n++)
        for (size_t t = 0; t < TECHNIQUES; t++)
            test_network(&(struct network_request){.network = network_builtins[n].name,
                                                   .technique = (enum technique)t},
                         goldens);
    for (size_t i = 0; i < sizeof variations / sizeof *variations; i++)
        test_network(&variations[i], goldens);
}

TEST_CASE(coverage_test)
{
    struct error error = {0};
    struct json_document goldens[FILES] = {0};
    bool read = true;
    for (size_t f = 0; f < FILES; f++)
        if (!golden_read(&goldens[f], files[f], &error)) {
            tap_ok(false, "reads the goldens %s: %s", files[f], error.why);
            read = false;
        }
    if (read)
        test_all(goldens);
    for (size_t f = 0; f < FILES; f++)
        json_document_free(&goldens[f]);
    return tap_done();
}
