# Many runs: sweep, compare, advise, the studies' tables, the perceptual study.
noinst_LIBRARIES += libstudies.a
libstudies_a_SOURCES = \
	%D%/compare/advise.c \
	%D%/compare/advise.h \
	%D%/compare/compare.c \
	%D%/compare/compare.h \
	%D%/compare/compare_cells.c \
	%D%/compare/compare_figures.c \
	%D%/compare/compare_figures.h \
	%D%/compare/compare_json.c \
	%D%/compare/compare_significance.c \
	%D%/compare/compare_significance.h \
	%D%/compare/compare_write.c \
	%D%/compare/pareto.c \
	%D%/compare/pareto.h \
	%D%/compare/report.c \
	%D%/compare/report.h \
	%D%/compare/run_reader.c \
	%D%/compare/run_reader.h \
	%D%/models/internal.h \
	%D%/models/means_apply.c \
	%D%/models/means_apply.h \
	%D%/models/means_requirements.c \
	%D%/models/means_techniques.c \
	%D%/models/model_comparison.c \
	%D%/models/model_table.c \
	%D%/models/model_table.h \
	%D%/models/model_table_text.c \
	%D%/models/other_means.c \
	%D%/models/other_means.h \
	%D%/pictures/study.c \
	%D%/pictures/study.h \
	%D%/pictures/study_file.c \
	%D%/pictures/study_file.h \
	%D%/pictures/study_pictures.c \
	%D%/pictures/study_pictures.h \
	%D%/pictures/study_pictures_run.c \
	%D%/sweep/internal.h \
	%D%/sweep/sweep.c \
	%D%/sweep/sweep.h \
	%D%/sweep/sweep_after.c \
	%D%/sweep/sweep_after.h \
	%D%/sweep/sweep_estimate.c \
	%D%/sweep/sweep_estimate.h \
	%D%/sweep/sweep_files.c \
	%D%/sweep/sweep_grid.c \
	%D%/sweep/sweep_grid.h \
	%D%/sweep/sweep_grid_after.c \
	%D%/sweep/sweep_grid_file.c \
	%D%/sweep/sweep_json.c \
	%D%/sweep/sweep_process.c \
	%D%/sweep/sweep_process.h \
	%D%/sweep/sweep_rank.c \
	%D%/sweep/sweep_rank.h \
	%D%/sweep/sweep_step.c \
	%D%/sweep/sweep_step.h \
	%D%/sweep/sweep_table.c \
	%D%/sweep/sweep_table.h \
	%D%/tables/internal.h \
	%D%/tables/tables.c \
	%D%/tables/tables.h \
	%D%/tables/tables_gondim.c \
	%D%/tables/tables_trindade.c \
	%D%/tables/tables_write.c
STUDIES_ARCHIVES = libstudies.a libexchange.a libtraining.a libmodels.a libruns.a
STUDIES_LIBS = $(STUDIES_ARCHIVES) libsaved.a $(ENGINE_LIBS) $(DATA_LIBS) $(BASE_LIBS) $(PROTOBUF_C_LIBS)
