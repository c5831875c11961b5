# Saved models: read, described, evaluated, predicted with, measured, listed.
noinst_LIBRARIES += libmodels.a
libmodels_a_SOURCES = \
	%D%/list/model_figures.c \
	%D%/list/model_figures.h \
	%D%/list/model_list.c \
	%D%/list/model_list.h \
	%D%/list/model_measure.c \
	%D%/list/model_measure.h \
	%D%/measure/device_meter.c \
	%D%/measure/device_meter.h \
	%D%/measure/energy_meter.c \
	%D%/measure/energy_meter.h \
	%D%/measure/inference_time.c \
	%D%/measure/inference_time.h \
	%D%/measure/measure.c \
	%D%/measure/measurement.c \
	%D%/measure/measurement.h \
	%D%/measure/model_operand.c \
	%D%/measure/model_operand.h \
	%D%/measure/turns.c \
	%D%/measure/turns.h \
	%D%/saved/class_match.c \
	%D%/saved/class_match.h \
	%D%/saved/correct_images.c \
	%D%/saved/correct_images.h \
	%D%/saved/device_batch.c \
	%D%/saved/device_batch.h \
	%D%/saved/error_analysis.c \
	%D%/saved/error_analysis.h \
	%D%/saved/evaluate.c \
	%D%/saved/evaluate.h \
	%D%/saved/evaluator.c \
	%D%/saved/evaluator.h \
	%D%/saved/model_file.c \
	%D%/saved/model_file.h \
	%D%/saved/model_output.c \
	%D%/saved/model_output.h \
	%D%/saved/predict_rows.c \
	%D%/saved/predict_rows.h \
	%D%/saved/predictions_file.c \
	%D%/saved/predictions_file.h \
	%D%/saved/predictor.c \
	%D%/saved/predictor.h \
	%D%/saved/run_preprocessing.c \
	%D%/saved/run_preprocessing.h \
	%D%/saved/samples.c \
	%D%/saved/samples.h \
	%D%/saved/translate.c \
	%D%/saved/translate.h
# What libtinca needs of runs and models: how a saved model is described, the figures of the machine.
noinst_LIBRARIES += libsaved.a
libsaved_a_SOURCES = \
	%D%/saved/internal.h \
	%D%/saved/model_describe.c \
	%D%/saved/ranking.c \
	%D%/saved/ranking.h \
	src/runs/machine/autotune_file.c \
	src/runs/machine/autotune_file.h \
	src/runs/machine/machine_file.c \
	src/runs/machine/machine_file.h
libsaved_a_CFLAGS = $(LIBRARY_CFLAGS)
