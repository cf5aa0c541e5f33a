{
  lib,
  buildPythonApplication,
  hatchling,
  anyio,
  mcp,
  pydantic,
  pydantic-settings,
  starlette,
  uvicorn,
  hypothesis,
  pytestCheckHook,
  procps,
}:

let
  project = (lib.importTOML ../python/pyproject.toml).project;
in
buildPythonApplication {
  pname = project.name;
  inherit (project) version;
  pyproject = true;

  # the suite lies beside the package, so both are in the source
  src = lib.fileset.toSource {
    root = ../.;
    fileset = lib.fileset.unions [
      ../python
      (lib.fileset.fileFilter (file: !file.hasExt "nix") ../tests)
    ];
  };
  sourceRoot = "source/python";

  build-system = [ hatchling ];

  dependencies = [
    anyio
    mcp
    pydantic
    pydantic-settings
    starlette
    uvicorn
  ];

  nativeCheckInputs = [
    hypothesis
    procps
    pytestCheckHook
  ];

  # the stub and the daemon are started by name
  preCheck = ''
    export HOME=$TMPDIR PATH=$out/bin:$PATH
  '';

  pythonImportsCheck = [ "hive_subagent" ];

  meta = {
    inherit (project) description;
    license = lib.licenses.mit;
    mainProgram = "hive-subagent-daemon";
    platforms = lib.platforms.linux;
  };
}
