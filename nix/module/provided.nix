# Whether a directory exists once the machine is up, as far as its configuration says so.
{ config, lib }:
let
  plain = path: lib.removeSuffix "/" (toString path);

  # types of tmpfiles.d(5) that make what they name, with its parents
  makes = type: builtins.match "[CDFLQbcdfpqv].*" type != null;
  # `d /path 0755 …`, where the path may be quoted
  ofRule =
    rule:
    let
      words = builtins.match "[[:space:]]*([^[:space:]]+)[[:space:]]+\"?([^[:space:]\"]+).*" rule;
    in
    lib.optional (words != null && makes (lib.head words)) (lib.last words);
  ofSettings =
    paths: lib.attrNames (lib.filterAttrs (_: types: lib.any makes (lib.attrNames types)) paths);

  all = map plain (
    # of every NixOS, and of the unit itself
    [
      "/etc"
      "/home"
      "/nix"
      "/root"
      "/run/hive-subagent"
      "/srv"
      "/tmp"
      "/usr"
      "/var/cache"
      "/var/empty"
      "/var/lib/hive-subagent"
      "/var/log"
      "/var/tmp"
    ]
    ++ map (account: account.home) (
      lib.filter (account: account.createHome) (lib.attrValues config.users.users)
    )
    ++ lib.concatMap ofSettings (lib.attrValues config.systemd.tmpfiles.settings)
    ++ lib.concatMap ofRule config.systemd.tmpfiles.rules
    ++ lib.mapAttrsToList (name: mount: mount.mountPoint or name) config.fileSystems
  );
in
directory:
lib.any (path: path == plain directory || lib.hasPrefix "${plain directory}/" path) all
