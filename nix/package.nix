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
  bash,
  gitMinimal,
  perl,
  procps,
  util-linux,
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

  # tests of hostile processes name their programs in full, as those would
  postPatch = ''
    find tests -name '*.py' -exec sed -i \
      -e 's#/bin/bash#${bash}/bin/bash#g' \
      -e 's#/usr/bin/setsid#${util-linux}/bin/setsid#g' {} +
    cd python
  '';

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
    gitMinimal
    hypothesis
    perl
    procps
    pytestCheckHook
    util-linux
  ];

  # run as it is, without a wrapper: see the module's interventionSkill
  postInstall = ''
    mkdir -p $out/share/hive-subagent
    cp -r ../docs/skills $out/share/hive-subagent/skills
    cp src/hive_subagent_hook/main.py $out/share/hive-subagent/hook.py
  '';

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
