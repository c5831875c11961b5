/* event_message.h: adds a message to the log, for the parts of event_log.c. Internal to this
 * folder. */
#ifndef TINCA_TRAINING_TENSORBOARD_EVENT_MESSAGE_H
#define TINCA_TRAINING_TENSORBOARD_EVENT_MESSAGE_H

#include "training/tensorboard/internal.h"

#include <events.pb-c.h>

enum event_session_status { EVENT_SESSION_START = 1 };
enum event_tensor_type { EVENT_TENSOR_FLOAT = 1, EVENT_TENSOR_STRING = 7 };
enum event_end_status { EVENT_END_SUCCESS = 1, EVENT_END_FAILURE = 2 };

/* Adds an event with one value. */
void event_message_add_value(struct event_log *log, struct event_time time,
                             Tb__SummaryValue *value);

#endif
