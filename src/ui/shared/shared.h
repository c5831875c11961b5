/* shared.h: the data that several screens show and change: the runs, the form with its
 * configuration, the preferences, the sweep, the running export and the log. No drawing. */
#ifndef TINCA_UI_SHARED_SHARED_H
#define TINCA_UI_SHARED_SHARED_H

#include "session/export/export_job.h"
#include "session/history/run_filter.h"
#include "ui/plot/curves.h"
#include "ui/shared/disk_jobs.h"
#include "ui/shared/form.h"
#include "ui/shared/log_model.h"
#include "ui/shared/preferences.h"
#include "ui/shared/queue_list.h"
#include "ui/shared/run_list.h"
#include "ui/shared/sweep_job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The axes of all plots of curves. */
struct axes {
    enum curve_x x, previous_x; /* previous_x: before the last change of x */
    bool log_x, log_y;
    bool all_values;  /* the y axis shows outliers too */
    size_t smoothing; /* index of smoothing_names */
};

/* A run that the user has asked for. */
struct start_request {
    struct run_config config;
    struct fork_request fork; /* {0}: it is no fork */
};

struct shared {
    struct preferences preferences;       /* in force */
    struct preferences saved_preferences; /* the contents of the configuration file */
    struct axes axes;

    struct form form;
    struct fork_request fork;     /* the form's run is a fork of this one; {0}: it is none */
    bool fork_has[FORK_SOURCES];  /* the sources that the open question about a fork offers */
    struct run_fork fork_place;   /* where it begins, if the settings stay as they were */
    struct start_request request; /* the run that is about to start */
    bool request_open;            /* a thread looks whether it can */
    uint64_t forecast_at;         /* when a stale forecast is made again (clock_nanoseconds) */

    struct run_list runs;          /* the runs of this session */
    struct run_list saved_runs;    /* saved by earlier sessions or by other processes */
    struct queue_list queue;       /* what waits in other processes */
    bool shown_is_saved;           /* the run screen shows one of `saved_runs`, not of `runs` */
    size_t shown;                  /* the index of its run in that list; SIZE_MAX: none */
    bool runs_changed;             /* the run table has to be sorted again */
    size_t deleted_runs;           /* runs in the trash when the runs were last listed */
    struct line_edit runs_search;  /* the filter of the run table as text */
    struct run_filter runs_filter; /* the last valid filter of it: what the table shows */
    char subject[512];             /* the directory of the run that the open dialog is about */

    char votes[512]; /* the file of the screen Study; "": STUDY_FILE */

    struct disk_jobs disk;
    struct sweep_job sweep;
    struct export_job export;
    struct log log;
};

#endif
