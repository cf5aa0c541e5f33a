{
  lib,
  system,
  self,
}:
let
  named =
    name: more:
    derivation {
      inherit name system;
      builder = "/bin/sh";
      args = [
        "-c"
        ": >$out"
      ];
    }
    // {
      meta.mainProgram = name;
    }
    // more;
  callWith =
    set: file: args:
    let
      function = if lib.isFunction file then file else import file;
    in
    function (builtins.intersectAttrs (lib.functionArgs function) set // args);

  build =
    args:
    named "${args.pname}-${args.version}" (
      {
        inherit (args)
          pname
          version
          src
          meta
          ;
      }
      // (args.passthru or { })
    );
  # the Python packages that ours name, of the versions that the locked nixpkgs is said to have
  pythonPackages =
    overrides:
    lib.fix (
      lib.extends overrides (
        final:
        lib.genAttrs [
          "anyio"
          "hatchling"
          "httpx2"
          "hypothesis"
          "jsonschema"
          "msgspec"
          "opentelemetry-api"
          "prometheus-client"
          "pydantic"
          "pydantic-settings"
          "pytest-xdist"
          "pytestCheckHook"
          "python-multipart"
          "pyyaml"
          "rich"
          "sse-starlette"
          "starlette"
          "typer"
          "typing-extensions"
          "typing-inspection"
          "uv-dynamic-versioning"
          "uvicorn"
        ] (name: named name { })
        // {
          inherit lib;
          inherit (pkgs)
            bash
            fetchFromGitHub
            gitMinimal
            perl
            procps
            util-linux
            ;
          callPackage = callWith final;
          buildPythonPackage = build;
          buildPythonApplication = build;
          mcp = named "mcp" { version = "1.29.0"; };
          pyjwt = named "pyjwt" { optional-dependencies.crypto = [ (named "cryptography" { }) ]; };
        }
      )
    );

  pkgs = {
    inherit lib;
    inherit (self) outPath;
    path = self.outPath;
    stdenv = {
      hostPlatform = { inherit system; };
      cc.cc = named "gcc" { };
    };
    callPackage = callWith pkgs;
    fetchFromGitHub = args: named "source" args;
    formats.json = (import ./stand-in-pkgs.nix { inherit lib; }).formats.json;
    mkShellNoCC = args: named "shell" args;
    nixosOptionsDoc =
      args: assert args.warningsAreErrors; { optionsCommonMark = named "options.md" { }; };
    python3.override =
      args: assert args ? self; { pkgs = pythonPackages args.packageOverrides; };
    # the check of the unit compares texts, and must not build what these name
    runCommand =
      name: env: script:
      assert !(env ? actual && builtins.hasContext env.actual);
      named name (env // { inherit script; });
    testers.testVersion = { package }: named "test-version" { inherit package; };
    testers.runNixOSTest =
      module:
      assert lib.all (m: lib.isAttrs m || lib.isFunction m || lib.pathExists m) (
        module.nodes.machine.imports
      );
      assert lib.isString module.testScript;
      named "vm-test-run-${module.name}" { inherit module; };
    writeText = name: text: named name { inherit text; };
  }
  // lib.genAttrs [
    "bash"
    "claude-code"
    "gitMinimal"
    "gnumake"
    "makeWrapper"
    "mypy"
    "nixfmt"
    "nixfmt-tree"
    "perl"
    "procps"
    "ruff"
    "util-linux"
  ] (name: named name { });
in
pkgs
