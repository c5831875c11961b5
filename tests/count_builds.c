/* Counts the networks and plans that a program builds. The program is linked with --wrap for the
 * functions. When it ends, it writes both numbers into the file that TINCA_BUILDS names. A network
 * that is built to build another one, of a saved model, counts once. */
#include "count_builds.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct device_driver;
struct error;
struct graph;
struct network_request;
struct plan_settings;
struct safetensors;

struct plan *__real_plan_build(const struct graph *graph, const struct device_driver *driver,
                               const struct plan_settings *settings, struct error *error);
struct plan *__wrap_plan_build(const struct graph *graph, const struct device_driver *driver,
                               const struct plan_settings *settings, struct error *error);
struct network *__real_network_build(const struct network_request *request, struct error *error);
struct network *__wrap_network_build(const struct network_request *request, struct error *error);
struct network *__real_network_of_model(const struct safetensors *file, struct error *error);
struct network *__wrap_network_of_model(const struct safetensors *file, struct error *error);

static atomic_uint networks, plans;
static _Thread_local unsigned depth;

struct plan *__wrap_plan_build(const struct graph *graph, const struct device_driver *driver,
                               const struct plan_settings *settings, struct error *error)
{
    plans++;
    return __real_plan_build(graph, driver, settings, error);
}

struct network *__wrap_network_build(const struct network_request *request, struct error *error)
{
    networks += depth++ == 0;
    struct network *network = __real_network_build(request, error);
    depth--;
    return network;
}

struct network *__wrap_network_of_model(const struct safetensors *file, struct error *error)
{
    networks += depth++ == 0;
    struct network *network = __real_network_of_model(file, error);
    depth--;
    return network;
}

struct builds builds_take(void)
{
    return (struct builds){atomic_exchange(&networks, 0), atomic_exchange(&plans, 0)};
}

__attribute__((destructor)) static void write_builds(void)
{
    const char *path = getenv("TINCA_BUILDS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    const struct builds builds = builds_take();
    fprintf(file, "%u networks, %u plans\n", builds.networks, builds.plans);
    fclose(file);
}
