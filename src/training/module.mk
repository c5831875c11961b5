# Prepares, forecasts and trains: methods, observers, resume, fork, ranks; techniques that train again.
noinst_LIBRARIES += libtraining.a
libtraining_a_SOURCES = \
	%D%/average.c \
	%D%/bench/bench.c \
	%D%/bench/bench.h \
	%D%/bench/bench_pass.c \
	%D%/bench/bench_pass.h \
	%D%/bench/scaling.c \
	%D%/bench/scaling.h \
	%D%/check/internal.h \
	%D%/check/run_check.c \
	%D%/check/run_check.h \
	%D%/check/run_check_consistency.c \
	%D%/check/run_check_folder.c \
	%D%/check/run_check_journal.c \
	%D%/check/run_check_json.c \
	%D%/check/run_check_models.c \
	%D%/check/run_check_report.c \
	%D%/check/run_check_summary.c \
	%D%/checkpoint.c \
	%D%/checkpoint.h \
	%D%/compress/factorize_model.c \
	%D%/compress/factorize_model.h \
	%D%/compress/fine_tune.c \
	%D%/compress/fine_tune.h \
	%D%/compress/internal.h \
	%D%/compress/prune.c \
	%D%/compress/prune.h \
	%D%/compress/prune_magnitude.c \
	%D%/compress/prune_state.c \
	%D%/compress/quantize_model.c \
	%D%/compress/quantize_model.h \
	%D%/compress/quantize_sample.c \
	%D%/compress/technique.c \
	%D%/compress/technique.h \
	%D%/compress/technique_apply.c \
	%D%/compress/techniques.inc \
	%D%/energy.c \
	%D%/experiment.c \
	%D%/find_rate.c \
	%D%/find_rate.h \
	%D%/findings.c \
	%D%/forecast_make.c \
	%D%/forecast_make.h \
	%D%/fork.c \
	%D%/fork.h \
	%D%/inspect/preview.c \
	%D%/inspect/preview.h \
	%D%/inspect/probe.c \
	%D%/inspect/probe.h \
	%D%/inspect_weights.c \
	%D%/inspect_weights.h \
	%D%/inspector.c \
	%D%/internal.h \
	%D%/journal.c \
	%D%/loop.c \
	%D%/methods/adversarial.c \
	%D%/methods/distilled.c \
	%D%/methods/internal.h \
	%D%/methods/method.c \
	%D%/methods/method.h \
	%D%/methods/supervised.c \
	%D%/models.c \
	%D%/observer.h \
	%D%/observers.c \
	%D%/observers.inc \
	%D%/prepare/batches.c \
	%D%/prepare/data_fingerprint.c \
	%D%/prepare/data_fingerprint.h \
	%D%/prepare/forecast.c \
	%D%/prepare/forecast.h \
	%D%/prepare/internal.h \
	%D%/prepare/plans.c \
	%D%/prepare/prepare.c \
	%D%/prepare/prepare.h \
	%D%/prepare/prepare_validation.c \
	%D%/ranks/internal.h \
	%D%/ranks/ranks.c \
	%D%/ranks/ranks.h \
	%D%/ranks/ranks_serve.c \
	%D%/ranks/ranks_validation.c \
	%D%/ranks/ranks_work.c \
	%D%/ranks/ranks_work.h \
	%D%/ranks_record.c \
	%D%/resume_work.c \
	%D%/run_start.c \
	%D%/run_start.h \
	%D%/samples.c \
	%D%/stopping.c \
	%D%/tensorboard/event_file.h \
	%D%/tensorboard/internal.h \
	%D%/trainer.c \
	%D%/utilisation.c \
	%D%/worker.c
libtraining_a_CPPFLAGS = $(AM_CPPFLAGS) $(PROTOBUF_C_CFLAGS)
# TensorBoard's event files: protoc-c writes events.pb-c.c and events.pb-c.h
nodist_libtraining_a_SOURCES =
EXTRA_DIST += %D%/tensorboard/events.proto
if TENSORBOARD
libtraining_a_SOURCES += \
	%D%/tensorboard.c \
	%D%/tensorboard/event_file.c \
	%D%/tensorboard/event_log.c \
	%D%/tensorboard/run_records.c
nodist_libtraining_a_SOURCES += events.pb-c.c events.pb-c.h
CLEANFILES += events.pb-c.c events.pb-c.h
BUILT_SOURCES += events.pb-c.h
events.pb-c.h: $(srcdir)/%D%/tensorboard/events.proto
	$(AM_V_GEN)$(PROTOC_C) -I$(srcdir)/%D%/tensorboard --c_out=. events.proto
events.pb-c.c: events.pb-c.h
	@test -f $@ || $(PROTOC_C) -I$(srcdir)/%D%/tensorboard --c_out=. events.proto
else
libtraining_a_SOURCES += %D%/tensorboard_absent.c
endif
