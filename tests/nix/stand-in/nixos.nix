# The few NixOS options that the module sets or reads, with the types that NixOS gives them
# (read in nixos/lib/systemd-unit-options.nix and nixos/modules of nixpkgs).
{ lib, ... }:
let
  inherit (lib) mkOption types;
  list = type: mkOption {
    type = types.listOf type;
    default = [ ];
  };
  unitName =
    types.strMatching
      "[a-zA-Z0-9@%:_.\\-]+[.](service|socket|device|mount|automount|swap|target|path|timer|scope|slice)";
  atom = types.oneOf [
    types.bool
    types.int
    types.float
    types.str
    types.path
    types.package
  ];
  section = mkOption {
    type = types.attrsOf (types.either atom (types.listOf atom));
    default = { };
  };
  service = types.submodule {
    options = {
      description = mkOption {
        type = types.singleLineStr;
        default = "";
      };
      wantedBy = list unitName;
      after = list unitName;
      wants = list unitName;
      restartTriggers = list types.unspecified;
      path = list (types.either types.package types.str);
      environment = mkOption {
        type = types.attrsOf (types.nullOr (types.either types.str types.path));
        default = { };
      };
      restartIfChanged = mkOption {
        type = types.bool;
        default = true;
      };
      startLimitIntervalSec = mkOption { type = types.int; };
      startLimitBurst = mkOption { type = types.int; };
      unitConfig = section;
      serviceConfig = section;
    };
  };
  socket = types.submodule {
    options = {
      description = mkOption {
        type = types.singleLineStr;
        default = "";
      };
      wantedBy = list unitName;
      listenStreams = list types.str;
      socketConfig = section;
    };
  };
  # as nixos/modules/config/users-groups.nix has it, as far as the module reads it
  user = types.submodule (
    { config, name, ... }:
    {
      freeformType = types.attrsOf types.anything;
      options = {
        name = mkOption {
          type = types.str;
          default = name;
        };
        isNormalUser = mkOption {
          type = types.bool;
          default = false;
        };
        home = mkOption {
          type = types.str;
          default = if config.isNormalUser then "/home/${config.name}" else "/var/empty";
        };
        createHome = mkOption {
          type = types.bool;
          default = config.isNormalUser;
        };
      };
    }
  );
  anything = mkOption {
    type = types.attrsOf types.anything;
    default = { };
  };
in
{
  options = {
    assertions = list types.unspecified;
    warnings = list types.str;
    nixpkgs.config = mkOption {
      type = types.attrsOf types.raw;
      default = { };
    };
    system.stateVersion = mkOption { type = types.str; };
    networking.hostName = mkOption {
      type = types.str;
      default = "nixos";
    };
    users.users = mkOption {
      type = types.attrsOf user;
      default = { };
    };
    fileSystems = anything;
    systemd.tmpfiles = {
      rules = list types.str;
      settings = anything;
    };
    environment.systemPackages = list types.package;
    environment.etc = mkOption {
      type = types.attrsOf (
        types.submodule {
          options = {
            text = mkOption {
              type = types.nullOr types.lines;
              default = null;
            };
            source = mkOption { type = types.path; };
          };
        }
      );
      default = { };
    };
    systemd.sockets = mkOption {
      type = types.attrsOf socket;
      default = { };
    };
    systemd.services = mkOption {
      type = types.attrsOf service;
      default = { };
    };
  };
}
