/* A build without protobuf-c refuses a run with the setting, and an export. */
#include "session/config/settings.h"
#include "session/tensorboard/event_reader.h"
#include "session/tensorboard/run_events.h"
#include "session/tensorboard/tensorboard.h"

static bool refuse(const char *what, struct error *error)
{
    return error_set(error, ERROR_UNSUPPORTED, what,
                     "leave it out, or install protobuf-c (Debian: apt-get install "
                     "libprotobuf-c-dev protobuf-c-compiler), then configure and build again",
                     "this tinca was built without TensorBoard's event files");
}

struct event_reader *event_reader_create(struct error *error)
{
    error_set(error, ERROR_UNSUPPORTED, "the event file",
              "give CSV, JSON lines or a log, or install protobuf-c (Debian: apt-get install "
              "libprotobuf-c-dev protobuf-c-compiler), then configure and build again",
              "this tinca was built without TensorBoard's event files");
    return NULL;
}

void event_reader_free(struct event_reader *reader)
{
    (void)reader;
}

bool event_reader_feed(struct event_reader *reader, const char *bytes, size_t count,
                       event_visit *visit, void *context, struct error *error)
{
    (void)reader, (void)bytes, (void)count, (void)visit, (void)context, (void)error;
    return true;
}

size_t event_reader_damaged(const struct event_reader *reader)
{
    (void)reader;
    return 0;
}

bool tensorboard_export(struct run *const *runs, size_t count, const char *folder,
                        struct error *error)
{
    (void)runs, (void)count, (void)folder;
    return refuse("--format tfevents", error);
}

bool run_events_open(struct run_events *events, const struct run_config *config,
                     const struct run_facts *facts, uint64_t done, struct error *error)
{
    *events = (struct run_events){.file.descriptor = -1};
    (void)facts, (void)done;
    return !record_settings(config).tensorboard[0] || refuse(OPTION(tensorboard), error);
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
