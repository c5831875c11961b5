/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_SCREENS_DEVICES_INTERNAL_H
#define TINCA_UI_SCREENS_DEVICES_INTERNAL_H

#include "base/host/host.h"
#include "engine/graph/machine_model.h"
#include "session/measure/device_meter.h"

/* --- the state of the screen --- */

/* The state of the screen Devices. */

struct devices_model {
    struct device_meter *meter; /* takes the samples; NULL: the screen was not shown yet */
    struct host host;
    struct host_processor processor;
    struct machine_model figures; /* as stored, with all cores; not measured: there are none */
    struct device_sample sample;  /* drawn in the last frame */
    int scroll;                   /* first line shown */
    int furthest;                 /* the greatest `scroll`; 0: everything fits */
};

#endif
