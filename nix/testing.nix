# The stand-in for claude and the demonstration; tested with the daemon, by nix/package.nix.
{
  lib,
  buildPythonPackage,
  hatchling,
  anyio,
  mcp,
}:

let
  project = (lib.importTOML ../python/testing/pyproject.toml).project;
in
buildPythonPackage {
  pname = project.name;
  inherit (project) version;
  pyproject = true;

  src = ../python/testing;

  build-system = [ hatchling ];

  dependencies = [
    anyio
    mcp
  ];

  # as in package.nix: the stand-in runs as claude does, with the environment of a subagent
  dontWrapPythonPrograms = true;
  postFixup = ''
    buildPythonPath "$out ''${pythonPath[*]-}"
    for program in $out/bin/*; do
      patchPythonScript "$program"
      sed -i '1s/$/ -s/' "$program"
    done
  '';

  pythonImportsCheck = [
    "hive_subagent_demo"
    "hive_subagent_stub"
  ];

  meta = {
    inherit (project) description;
    license = lib.licenses.mit;
    maintainers = [ ];
    mainProgram = "hive-subagent-stub-claude";
    platforms = lib.platforms.linux;
  };
}
