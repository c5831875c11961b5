/* A build without protobuf-c refuses an export, and cannot read event files. */
#include "exchange/tensorboard/event_reader.h"
#include "exchange/tensorboard/tensorboard.h"

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
    const char *option = "--format tfevents";
    return error_set(error, ERROR_UNSUPPORTED, option,
                     "leave it out, or install protobuf-c (Debian: apt-get install "
                     "libprotobuf-c-dev protobuf-c-compiler), then configure and build again",
                     "this tinca was built without TensorBoard's event files");
}
