/* An event file begins with a short record that holds the text "brain.Event:". */
#include "exchange/tensorboard/event_reader.h"

#include <string.h>

bool event_reader_is(const char *bytes, size_t count)
{
    static const char version[] = "brain.Event:";
    const size_t length = sizeof version - 1;
    if (count < 12 + length)
        return false;
    for (size_t i = 2; i < 8; i++)
        if (bytes[i])
            return false; /* the first record is shorter than 64 KiB */
    const size_t end = count < EVENT_HEAD ? count : EVENT_HEAD; /* more would not be there always */
    for (size_t at = 12; at + length <= end; at++)
        if (memcmp(bytes + at, version, length) == 0)
            return true;
    return false;
}
