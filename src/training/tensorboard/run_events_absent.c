/* A build without protobuf-c refuses a run with the setting. */
#include "runs/settings/settings.h"
#include "training/tensorboard/run_events.h"

static bool refuse(struct error *error)
{
    return error_set(error, ERROR_UNSUPPORTED, OPTION(tensorboard),
                     "leave it out, or install protobuf-c (Debian: apt-get install "
                     "libprotobuf-c-dev protobuf-c-compiler), then configure and build again",
                     "this tinca was built without TensorBoard's event files");
}

bool run_events_open(struct run_events *events, const struct run_config *config,
                     const struct run_facts *facts, uint64_t done, struct error *error)
{
    *events = (struct run_events){.file.descriptor = -1};
    (void)facts, (void)done;
    return !record_settings(config).tensorboard[0] || refuse(error);
}

void run_events_add_point(struct run_events *events, const struct series_point *point, uint64_t now)
{
    (void)events, (void)point, (void)now;
}

void run_events_add_validation(struct run_events *events,
                               const struct series_validation *validation)
{
    (void)events, (void)validation;
}

void run_events_add_test(struct run_events *events, const struct series_validation *row)
{
    (void)events, (void)row;
}

void run_events_add_batch(struct run_events *events, const struct preparation *prepared,
                          const struct execution_batch *batch)
{
    (void)events, (void)prepared, (void)batch;
}

void run_events_add_generated(struct run_events *events, const char *path)
{
    (void)events, (void)path;
}

void run_events_add_weights(struct run_events *events, const struct preparation *prepared,
                            double run_seconds, bool last)
{
    (void)events, (void)prepared, (void)run_seconds, (void)last;
}

void run_events_flush(struct run_events *events)
{
    (void)events;
}

void run_events_sync(struct run_events *events)
{
    (void)events;
}

bool run_events_check(struct run_events *events, bool last, struct error *error)
{
    (void)events, (void)last, (void)error;
    return true;
}

void run_events_add_end(struct run_events *events, bool success)
{
    (void)events, (void)success;
}

void run_events_close(struct run_events *events)
{
    (void)events;
}
