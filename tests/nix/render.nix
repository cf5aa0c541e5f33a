# What a machine gets: path below / -> text. The unit is written as NixOS writes it
# (serviceToUnit in nixos/lib/systemd-lib.nix): keys in order, lists as repeated lines.
{ lib }:
let
  evaluate = import ./evaluate.nix { inherit lib; };

  value =
    v:
    if v == true then
      "true"
    else if v == false then
      "false"
    else
      toString v;
  lines =
    attrs:
    lib.concatStrings (
      lib.concatLists (
        lib.mapAttrsToList (name: v: map (x: "${name}=${value x}\n") (lib.toList v)) attrs
      )
    );

  unitText =
    service:
    let
      # NixOS appends these to the path of every service
      base = [
        "coreutils"
        "findutils"
        "gnugrep"
        "gnused"
        "systemd"
      ];
      prefixes =
        map toString service.path
        ++ map (n: "/nix/store/00000000000000000000000000000000-${n}") base;
      environment = service.environment // {
        PATH = lib.concatStringsSep ":" (
          map (p: "${p}/bin") prefixes ++ map (p: "${p}/sbin") prefixes
        );
      };
    in
    ''
      [Unit]
    ''
    + lines (
      service.unitConfig
      // {
        After = toString service.after;
        Description = service.description;
        StartLimitBurst = service.startLimitBurst;
        StartLimitIntervalSec = service.startLimitIntervalSec;
      }
      // lib.optionalAttrs (service.wants != [ ]) { Wants = toString service.wants; }
      // lib.optionalAttrs (service.restartTriggers != [ ]) {
        X-Restart-Triggers = "/nix/store/00000000000000000000000000000000-X-Restart-Triggers-hive-subagent-daemon";
      }
    )
    + ''

      [Service]
    ''
    + lib.concatStrings (
      lib.mapAttrsToList (name: v: "Environment=${builtins.toJSON "${name}=${v}"}\n") environment
    )
    + lib.optionalString (!service.restartIfChanged) "X-RestartIfChanged=false\n"
    + lines service.serviceConfig
    + ''

      [Install]
      WantedBy=${toString service.wantedBy}
    '';

  socketText =
    socket:
    ''
      [Unit]
      Description=${socket.description}

      [Socket]
    ''
    + lines socket.socketConfig
    + ''

      [Install]
      WantedBy=${toString socket.wantedBy}
    '';

  render =
    modules:
    let
      config = evaluate.config modules;
      failed = evaluate.failures config;
    in
    assert lib.assertMsg (failed == [ ]) (lib.concatStringsSep "\n" failed);
    {
      "hive-subagent-daemon.service" = unitText (evaluate.unit config);
      "hive-subagent.json" = config.hyperhive.subagent.configFile.text;
    }
    // lib.optionalAttrs (evaluate.socket config != null) {
      "hive-subagent-daemon.socket" = socketText (evaluate.socket config);
    }
    // lib.mapAttrs' (path: file: lib.nameValuePair (baseNameOf path) file.text) (
      lib.filterAttrs (_: file: file.text != null) config.environment.etc
    )
    // lib.mapAttrs' (
      name: text: lib.nameValuePair "hive-subagent-roles/${name}.md" text
    ) config.hyperhive.subagent.roles;

  agents = lib.mapAttrs' (file: _: lib.nameValuePair (lib.removeSuffix ".nix" file) file) (
    builtins.readDir ./agents
  );
in
lib.mapAttrs (_: file: render [ (./agents + "/${file}") ]) agents
