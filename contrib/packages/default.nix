# A recipe for Nix: nix-build contrib/packages. It builds this very tree of sources.
{ pkgs ? import <nixpkgs> { }
, withMpi ? true
}:

pkgs.stdenv.mkDerivation {
  pname = "tinca";
  version = "0.1.0";
  src = pkgs.lib.cleanSource ../..;

  nativeBuildInputs = with pkgs; [ autoreconfHook gettext pkg-config protobufc ];
  buildInputs = with pkgs; [ cairo cjson libjpeg libpng ncurses openblas protobufc zlib ]
    ++ pkgs.lib.optional withMpi pkgs.mpi;

  configureFlags = [
    "--without-cuda"
    "--with-cairo"
    "--with-onnx"
    (if withMpi then "--with-mpi" else "--without-mpi")
  ];
  enableParallelBuilding = true;

  # The whole suite takes half an hour, and trains networks.
  doCheck = true;
  checkTarget = "check-package";

  meta = {
    description = "Terminal workbench for deep-learning experiments";
    license = pkgs.lib.licenses.mit;
    platforms = pkgs.lib.platforms.unix;
    mainProgram = "tinca";
  };
}
