/* A rank other than 0 prepares the runs that rank 0 begins, without their folders and samples, and
 * computes its part of each iteration and validation.
 *
 * A rank that cannot continue tells all others with cluster_fail; otherwise the others would wait
 * for its sums. */
#include "base/clock.h"
#include "engine/devices/rank_device.h"
#include "runs/settings/settings.h"
#include "training/ranks/internal.h"
#include "training/ranks/ranks_work.h"

#include <stdio.h>
#include <stdlib.h>

struct service {
    struct cluster *cluster;
    size_t threads; /* as given to this rank; 0: as many as rank 0 */
    const struct run_besides *besides;
    struct run_config config;
    struct preparation prepared;
    struct execution_batch batch;
    struct ranks_meter meter;
    struct ranks_validation validation;
    bool runs; /* a run is prepared */
};

static bool fail(struct service *service, const struct error *error)
{
    cluster_fail(service->cluster, error);
    return false;
}

/* Receives rank 0's configuration; the threads are this rank's. Returns false after a failure. */
static bool take_config(struct service *service)
{
    if (!cluster_broadcast(service->cluster, &service->config, sizeof service->config))
        return false;
    if (service->threads)
        config_put_count(&service->config, KEY(threads), service->threads);
    return true;
}

static bool compare_with_one(struct service *service, struct error *error)
{
    struct scaling unused;
    if (!take_config(service))
        return cluster_check(service->cluster, error);
    ranks_measure_scaling(service->cluster, &service->config, &unused);
    return cluster_check(service->cluster, error);
}

/* Prepares the run that rank 0 begins. If one rank cannot, the run begins on none. */
static bool begin_run(struct service *service, uint64_t first_iteration, struct error *error)
{
    struct cluster *cluster = service->cluster;
    struct run_preprocessing from;
    if (!take_config(service) || !cluster_broadcast(cluster, &from, sizeof from))
        return cluster_check(cluster, error);
    config_put(&service->config, KEY(weights), "", NULL); /* rank 0 reads them */
    char device[DEVICE_NAME_SIZE];
    const bool chosen =
        rank_device_choose(cluster, machine_settings(&service->config).device, device, error);
    if (chosen)
        config_put(&service->config, KEY(device), device, NULL);
    service->prepared = (struct preparation){.besides = service->besides};
    const bool prepared = chosen && prepare(&service->prepared, &service->config, &from,
                                            first_iteration, NULL, cluster, error);
    service->runs = ranks_agree(cluster, &service->config, &service->prepared, prepared, error);
    if (prepared && !service->runs)
        prepare_free(&service->prepared);
    if (service->runs)
        ranks_meter_begin(&service->meter, cluster);
    return cluster_check(cluster, error);
}

static void end_run(struct service *service)
{
    if (service->runs)
        prepare_free(&service->prepared);
    ranks_validation_free(&service->validation);
    service->runs = false;
}

static bool take_state(struct service *service, const struct ranks_command *command,
                       struct error *error)
{
    struct method *method = &service->prepared.method;
    if (!execution_join(method_execution(method), error))
        return cluster_check(service->cluster, error); /* rank 0 ends the run */
    if (!ranks_broadcast_state(service->cluster, &service->prepared))
        return cluster_check(service->cluster, error);
    method_restore(method, &command->counters);
    return true;
}

/* Computes an iteration. Returns false if the loss is not finite. */
static bool iterate(struct service *service, const struct ranks_command *command)
{
    struct preparation *prepared = &service->prepared;
    struct step_losses unused;
    if (command->next)
        prepare_share(prepared, &service->batch);
    prepare_momentum(prepared, command->iteration);
    return method_step(&prepared->method, &service->batch, command->iteration,
                       command->learning_rate, &unused);
}

static bool step(struct service *service, const struct ranks_command *command, struct error *error)
{
    struct preparation *prepared = &service->prepared;
    struct data_batch batch;
    const uint64_t number = command->iteration + 1;
    if (!prepare_groups(prepared, command->iteration, error))
        return fail(service, error);
    if (command->next) {
        const uint64_t began = clock_nanoseconds();
        cluster_set_activity(service->cluster, CLUSTER_READING, number);
        if (!data_loader_next(prepared->loader, &batch, error))
            return fail(service, error);
        ranks_meter_add_data(&service->meter, began);
        service->batch = prepare_batch(prepared, &batch);
    }
    cluster_set_activity(service->cluster, CLUSTER_COMPUTING, number);
    ranks_meter_start(&service->meter);
    const bool finite = iterate(service, command);
    ranks_meter_stop(&service->meter);
    if (!device_check(prepared->device, error))
        return fail(service, error);
    if (command->next && finite)
        prepare_follow(prepared, command->iteration);
    return cluster_check(service->cluster, error);
}

static bool find(struct service *service, uint64_t iteration, struct error *error)
{
    struct bad_layer unused;
    ranks_gather_bad_layers(service->cluster, &service->prepared, iteration, &unused);
    return cluster_check(service->cluster, error);
}

static bool tell_work(struct service *service, struct error *error)
{
    struct cluster_work *all;
    if (!ranks_gather_work(service->cluster, &service->meter.work, &all))
        return cluster_check(service->cluster, error);
    free(all);
    return true;
}

static bool do_command(struct service *service, const struct ranks_command *command,
                       struct error *error)
{
    switch ((enum ranks_order)command->order) {
    case RANKS_COMPARE:
        return compare_with_one(service, error);
    case RANKS_BEGIN:
        return begin_run(service, command->iteration, error);
    case RANKS_STATE:
        return take_state(service, command, error);
    case RANKS_DIVIDE:
        return ranks_take_part(service->cluster, command, &service->prepared, &service->validation,
                               error);
    case RANKS_STEP:
        return step(service, command, error);
    case RANKS_VALIDATE:
        return ranks_validate_part(service->cluster, command, &service->prepared,
                                   &service->validation, error);
    case RANKS_FIND:
        return find(service, command->iteration, error);
    case RANKS_WORK:
        return tell_work(service, error);
    default:
        end_run(service);
        return true;
    }
}

static bool obey(struct service *service, const struct ranks_command *command, struct error *error)
{
    const bool good = do_command(service, command, error);
    cluster_set_activity(service->cluster, CLUSTER_IDLE, 0);
    return good;
}

bool ranks_serve(struct cluster *cluster, size_t threads, const struct run_besides *besides,
                 struct error *error)
{
    struct service service = {.cluster = cluster, .threads = threads, .besides = besides};
    struct ranks_command command;
    bool good;
    do {
        good = cluster_broadcast(cluster, &command, sizeof command)
                   ? obey(&service, &command, error)
                   : cluster_check(cluster, error);
    } while (good && command.order != RANKS_QUIT);
    end_run(&service);
    return good;
}
