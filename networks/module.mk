# The built-in networks, which network_builtins.c contains as text.
NETWORKS = %D%/mlp.json %D%/lenet.json %D%/alexnet.json %D%/googlenet.json \
	%D%/squeezenet.json %D%/resnet20.json %D%/resnet56.json \
	%D%/resnet110.json %D%/vgg19.json %D%/mobilenet.json \
	%D%/pix2pix.json %D%/perceptron.json
EXTRA_DIST += $(NETWORKS)
CLEANFILES += network_builtins.c
BUILT_SOURCES += network_builtins.c
network_builtins.c: $(NETWORKS) src/base/builtin_texts.sh
	$(AM_V_GEN)cd $(srcdir) && $(SHELL) src/base/builtin_texts.sh engine/network/network.h network_builtin $(NETWORKS) >'$(abs_builddir)/$@.new' && \
	mv '$(abs_builddir)/$@.new' '$(abs_builddir)/$@'
# networks with the layers and names of torchvision's
torchvisiondir = $(pkgdatadir)/%D%/torchvision
dist_torchvision_DATA = %D%/torchvision/alexnet.json %D%/torchvision/googlenet.json \
	%D%/torchvision/squeezenet1_1.json %D%/torchvision/vgg16.json \
	%D%/torchvision/resnet18.json %D%/torchvision/resnet34.json %D%/torchvision/resnet50.json \
	%D%/torchvision/squeezenet1_0.json %D%/torchvision/vgg19.json %D%/torchvision/vgg19_bn.json
