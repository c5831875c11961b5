/* devices_view.h: what the screen of devices holds. */
#ifndef TINCA_UI_SCREENS_DEVICES_DEVICES_MODEL_H
#define TINCA_UI_SCREENS_DEVICES_DEVICES_MODEL_H

#include "base/host/host.h"
#include "session/measure/device_meter.h"

struct devices_model {
    struct device_meter *meter; /* NULL: the screen was not shown yet */
    struct host host;
    struct host_processor processor;
    struct device_sample sample; /* as of the last frame */
    int scroll;
};

#endif
