{
  lib,
  buildPythonApplication,
  hatchling,
  anyio,
  httpx2,
  mcp,
  msgspec,
  prometheus-client,
  pydantic,
  pydantic-settings,
  pyyaml,
  rich,
  starlette,
  typer,
  uvicorn,
  hive-subagent-testing,
  hypothesis,
  jsonschema,
  pytestCheckHook,
  pytest-xdist,
  gitMinimal,
  perl,
  procps,
  util-linux,
  # of the built package: name -> derivation
  tests ? { },
}:

let
  project = (lib.importTOML ../python/pyproject.toml).project;
in
buildPythonApplication {
  pname = project.name;
  inherit (project) version;
  pyproject = true;

  # the suite lies beside the package, and reads the documentation
  src = lib.fileset.toSource {
    root = ../.;
    fileset = lib.fileset.difference ../. (
      lib.fileset.unions (
        map lib.fileset.maybeMissing [
          ../.cache
          ../.git
          ../.venv
        ]
      )
    );
  };

  postPatch = "cd python";

  build-system = [ hatchling ];

  dependencies = [
    anyio
    httpx2
    mcp
    msgspec
    prometheus-client
    pydantic
    pydantic-settings
    pyyaml
    rich
    starlette
    typer
    uvicorn
  ];

  nativeCheckInputs = [
    gitMinimal
    hive-subagent-testing
    hypothesis
    jsonschema
    perl
    procps
    pytest-xdist
    pytestCheckHook
    util-linux
  ];

  # run as it is, without a wrapper: see the module's interventionSkill
  postInstall = ''
    mkdir -p $out/share/hive-subagent
    cp -r ../docs/skills $out/share/hive-subagent/skills
    install -Dm644 -t $out/share/doc/hive-subagent ../README.md ../CHANGELOG.md ../LICENSE
    cp src/hive_subagent_hook/main.py $out/share/hive-subagent/hook.py
  '';

  # The usual wrapper puts the interpreter's `bin`, ours and those of all dependencies first on
  # PATH, and subagents inherit the daemon's PATH: `python3` would be this bare interpreter to
  # them. So the programs name their packages themselves, and leave the environment as it is.
  # `-s` is the wrapper's PYTHONNOUSERSITE.
  dontWrapPythonPrograms = true;
  postFixup = ''
    buildPythonPath "$out ''${pythonPath[*]-}"
    for program in $out/bin/*; do
      patchPythonScript "$program"
      sed -i '1s/$/ -s/' "$program"
    done
  '';

  # The stub and the daemon are started by name. stdenv names certificates that do not exist,
  # and a client of a server on loopback would read them, too.
  preCheck = ''
    export HOME=$TMPDIR PATH=$out/bin:$PATH
    unset SSL_CERT_FILE NIX_SSL_CERT_FILE
  '';

  pytestFlags = [
    # the tests of a file share a daemon
    "--dist=loadfile"
    # a warning of a newer dependency is for this project's own checks, not for whoever builds it
    "--override-ini=filterwarnings=default"
  ];

  pythonImportsCheck = [ "hive_subagent" ];

  passthru = { inherit tests; };

  # homepage and changelog are those of the Python project, once it names its address
  meta = {
    inherit (project) description;
    maintainers = [ ];
    license = lib.licenses.mit;
    mainProgram = "hive-subagent-daemon";
    platforms = lib.platforms.linux;
  }
  // lib.optionalAttrs (project ? urls.Homepage) { homepage = project.urls.Homepage; }
  // lib.optionalAttrs (project ? urls.Changelog) { changelog = project.urls.Changelog; };
}
