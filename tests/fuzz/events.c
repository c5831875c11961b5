/* A stream of a training: an event file, a table, JSON lines, a log; in pieces of several sizes,
 * after whose first half another file begins. All pieces must give the same log. */
#include "exchange/logs/import_stream.h"

#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t points_of(const uint8_t *data, size_t size, size_t piece, bool halves)
{
    static const struct import_request request = {.path = "train.log"};
    struct error error;
    struct imported_logs logs = {0};
    struct import_stream *stream = import_stream_create(&request, &error);
    bool good = stream;
    size_t points = 0;
    for (size_t at = 0; good && at < size; at += piece) {
        const size_t count = size - at < piece ? size - at : piece;
        good = import_stream_feed(stream, (const char *)data + at, count, (double)NAN, &error);
        if (good && halves && at < size / 2 && at + piece >= size / 2)
            import_stream_begin_file(stream, at & 1, at & 1);
        if (good && halves) {
            good = import_stream_logs(stream, true, 1, &logs, &error);
            import_logs_free(&logs);
        }
    }
    if (good && import_stream_end(stream, &error) &&
        import_stream_logs(stream, false, 0, &logs, &error))
        for (size_t i = 0; i < logs.count; i++)
            points += logs.logs[i].count;
    import_logs_free(&logs);
    import_stream_free(stream);
    return points;
}

void fuzz_events(const uint8_t *data, size_t size)
{
    const size_t whole = points_of(data, size, size + 1, false);
    if (points_of(data, size, 13, false) != whole)
        abort(); /* pieces must not change what is read */
    points_of(data, size, size / 8 + 1, true);
}
