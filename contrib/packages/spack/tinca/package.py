# A recipe for Spack (https://spack.io). Put the folder tinca into packages/ of a repository of recipes
# (spack repo create), beside the tarball of make dist, and name that tarball's folder below.
import os

from spack.package import *


class Tinca(AutotoolsPackage, CudaPackage):
    """A terminal workbench for deep-learning experiments: trains neural networks, over SSH too,
    with an engine of its own, and shows, stores, compares and exports the runs."""

    # The project publishes no tarballs yet: TINCA_TARBALLS is the folder that make dist wrote to.
    url = "file://{0}/tinca-0.1.0.tar.gz".format(os.environ.get("TINCA_TARBALLS", "."))

    license("MIT")

    version("0.1.0", expand=True)

    variant("mpi", default=True, description="Train by several processes")
    variant("cairo", default=True, description="Charts as PNG, SVG and PDF")
    variant("onnx", default=True, description="ONNX models and TensorBoard's event files")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("gettext", type=("build", "link"))
    depends_on("pkgconfig", type="build")
    depends_on("cjson")
    depends_on("libjpeg-turbo")
    depends_on("libpng@1.6:")
    depends_on("ncurses@6:")
    depends_on("openblas threads=none,pthreads")
    depends_on("zlib-api")
    depends_on("cairo@1.16: +pdf+svg", when="+cairo")
    depends_on("mpi", when="+mpi")
    depends_on("protobuf-c@1.3:", when="+onnx")
    depends_on("cuda@12:", when="+cuda")

    def configure_args(self):
        spec = self.spec
        args = self.with_or_without("mpi") + self.with_or_without("cairo")
        args += self.with_or_without("onnx") + self.with_or_without("tensorboard", variant="onnx")
        if spec.satisfies("+mpi"):
            args.append("MPICC={0}".format(spec["mpi"].mpicc))
        if spec.satisfies("+cuda"):
            args.append("--with-cuda={0}".format(spec["cuda"].prefix))
            architectures = [a for a in spec.variants["cuda_arch"].value if a != "none"]
            if architectures:
                args.append("--with-cuda-arch={0}".format(",".join("sm_" + a for a in architectures)))
        else:
            args.append("--without-cuda")
        return args

    def check(self):
        make("check-package")
