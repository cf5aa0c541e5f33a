# The command line `hive-subagent`, for the agent's account and for root: they alone can open the
# operator socket in /run/hive-subagent, which is one of the places where it looks.
{ config, lib, ... }:
let
  cfg = config.hyperhive.subagent;
in
{
  config = lib.mkIf cfg.enable {
    environment.systemPackages = [ cfg.package ];
  };
}
